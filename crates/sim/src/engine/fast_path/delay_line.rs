//! Delay lines: runs of directions at which no packet waits.
//!
//! A transmitter spaces packets by at least the time it takes to send one. A faster direction behind it
//! therefore finds its own transmitter free each time. The same holds for the directions behind it,
//! those of the acknowledgements included. They promise a constant time in transit for packets of a given
//! size. A packet passes a whole run of them in one step and is counted once.

use bentpipe_cc::Span;

use super::routes::{END, Feeder, Hop, Role};
use crate::link::direction::{Direction, Promises};

/// A run of constant directions on a route.
#[derive(Debug)]
pub(super) struct DelayLine {
    /// Time in transit, ns.
    pub(super) time: u64,
    /// Packets that have passed.
    pub(super) count: u64,
    /// Its first and last hop.
    first: u32,
    pub(super) last: u32,
    /// The direction at the last hop, and its role.
    pub(super) direction: u32,
    pub(super) role: Role,
    /// Only packets of this size pass it in one step.
    pub(super) size: u16,
    /// No packet of another size is ever offered to it.
    pub(super) one_size: bool,
}

impl DelayLine {
    /// The directions that deliver its packets ahead of time, and how long after entry each of them delivers.
    pub(super) fn delivers(&self, hops: &[Hop], directions: &[Direction]) -> Vec<(usize, Span)> {
        let ahead = self.hops(hops).iter().take_while(|hop| hop.role != Role::Holds);
        let mut time = Span::ZERO;
        let passed = ahead.map(|hop| {
            let i = hop.direction as usize;
            time += directions[i].promises(self.size).constant.unwrap_or(Span::ZERO);
            (i, time)
        });
        passed.collect()
    }

    /// Enters the packets that have passed into the books of the directions.
    pub(super) fn book(&mut self, hops: &[Hop], directions: &mut [Direction]) {
        let count = std::mem::take(&mut self.count);
        for hop in self.hops(hops) {
            // A packet that the last direction holds is delivered when it arrives.
            directions[hop.direction as usize].book_constant(self.size, count, hop.role != Role::Holds);
        }
    }

    fn hops<'a>(&self, hops: &'a [Hop]) -> &'a [Hop] {
        &hops[self.first as usize..=self.last as usize]
    }
}

/// The directions that delay all packets of these `sizes` that feed them by a constant time.
pub(super) fn constants(
    directions: &[Direction],
    feeders: &[Option<Feeder>],
    sizes: &[Vec<u16>],
) -> Vec<bool> {
    let mut known = vec![None; directions.len()];
    (0..directions.len()).map(|i| flow_through(i, directions, feeders, sizes, &mut known).constant).collect()
}

/// Bounds on the packets that leave a direction.
#[derive(Clone, Copy)]
struct Through {
    constant: bool,
    /// The least time between two of them.
    gap: Span,
}

fn flow_through(
    i: usize,
    directions: &[Direction],
    feeders: &[Option<Feeder>],
    sizes: &[Vec<u16>],
    known: &mut [Option<Through>],
) -> Through {
    if let Some(through) = known[i] {
        return through;
    }
    let gap = match feeders[i] {
        Some(Feeder::Direction(from) | Feeder::ReceiversOf(from)) => {
            flow_through(from as usize, directions, feeders, sizes, known).gap
        }
        Some(Feeder::Many) | None => Span::ZERO,
    };
    let promises = || sizes[i].iter().map(|&size| directions[i].promises(size));
    let gaps = || promises().map(|p: Promises| p.least_gap);
    let (least, most) = (gaps().min().unwrap_or(Span::ZERO), gaps().max().unwrap_or(Span::ZERO));
    let constant = promises().all(|p| p.constant.is_some()) && (most == Span::ZERO || most <= gap);
    // A packet that takes longer leaves closer to the packet behind it.
    let behind = if constant { Span(gap.0 - (most.0 - least.0)).max(least) } else { least };
    let through = Through { constant, gap: behind };
    known[i] = Some(through);
    through
}

/// Finds the delay lines on the route that begins at `first` for packets of `size`. `sizes`: those of the
/// packets that may be offered to each direction.
pub(super) fn find(
    hops: &mut [Hop],
    (first, size): (u32, u16),
    sizes: &[Vec<u16>],
    directions: &[Direction],
    constants: &[bool],
    lines: &mut Vec<DelayLine>,
) {
    let mut at = first as usize;
    while hops[at].direction != END {
        let (begin, mut time) = (at, 0);
        while hops[at].direction != END
            && constants[hops[at].direction as usize]
            && let Some(more) = directions[hops[at].direction as usize].promises(size).constant
        {
            time += more.0;
            at += 1;
            if hops[at - 1].role != Role::HandsOn {
                break;
            }
        }
        if at == begin {
            at += 1;
            continue;
        }
        hops[begin].delay_line = lines.len() as u32;
        let Hop { direction, role, .. } = hops[at - 1];
        let one_size = sizes[hops[begin].direction as usize] == [size];
        lines.push(DelayLine {
            time,
            count: 0,
            first: begin as u32,
            last: at as u32 - 1,
            direction,
            role,
            size,
            one_size,
        });
    }
}
