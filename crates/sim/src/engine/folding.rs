//! Links that need no event of their own.

use super::END;

/// Which links hand all their packets on to one other link that is fed by nobody else.
pub(super) fn chained(routes: &[u32], links: usize) -> Vec<bool> {
    // Behind and before each link: nothing seen yet, always the same link, or several (or an end of a route).
    let several = END - 1;
    let (mut behind, mut before) = (vec![END; links], vec![END; links]);
    let meet = |side: &mut Vec<u32>, link: u32, other: u32| {
        let known = &mut side[link as usize];
        *known = if *known == END || *known == other { other } else { several };
    };
    for route in routes.split(|&hop| hop == END) {
        for (i, &link) in route.iter().enumerate() {
            meet(&mut before, link, if i == 0 { several } else { route[i - 1] });
            meet(&mut behind, link, route.get(i + 1).copied().unwrap_or(several));
        }
    }
    let hands_on = |i: usize| behind[i] < several && before[behind[i] as usize] == i as u32;
    (0..links).map(hands_on).collect()
}
