//! The path of a flow while its plan is made.

use bentpipe_cc::{Span, Time};

use crate::keys::error::{Error, Key, quoted, suggestion};
use crate::loss::Per;
use crate::resolve::pairs::Pair;
use crate::resolve::plan::{DirectionId, LinkPlan};
use crate::resolve::time_lines::Course;
use crate::resolve::work::Work;
use crate::scenario::mender::is_added;

/// The directions that a flow of the scenario crosses, and the numbers that it contributes to a
/// bandwidth-delay product.
#[derive(Debug)]
pub(crate) struct PathPlan {
    pub(crate) there: Vec<DirectionId>,
    pub(crate) back: Vec<DirectionId>,
    /// Nominal propagation there and back, access delays included.
    pub(crate) base_rtt: Span,
    /// Bytes on the wire of its largest packet.
    pub(crate) wire: u32,
    /// The paths of the two halves, if a relay splits the flow.
    pub(crate) halves: Option<Box<[PathPlan; 2]>>,
    /// The paths of all subflows, if there are several; the first is this path.
    pub(crate) branches: Vec<PathPlan>,
    /// The pairs of stations between which it leads through the constellation; it then crosses no link.
    pub(crate) pairs: Option<Vec<Pair>>,
}

impl PathPlan {
    /// A path with an access delay of `extra`, one way, whose largest packet has `wire` bytes.
    pub(super) fn new(
        there: Vec<DirectionId>,
        back: Vec<DirectionId>,
        extra: Span,
        wire: u32,
        courses: &[Course],
    ) -> Self {
        let crossed = there.iter().chain(&back).map(|direction| courses[direction.index()].nominal.1.0);
        let base_rtt = Span(crossed.fold(2 * extra.0, u64::saturating_add));
        Self { there, back, base_rtt, wire, halves: None, branches: Vec::new(), pairs: None }
    }

    /// How many flows it stands for.
    pub(super) fn count(&self) -> u64 {
        self.pairs.as_ref().map_or(1, |pairs| pairs.len() as u64)
    }

    /// Its halves, its branches, or itself.
    pub(super) fn parts(&self) -> &[PathPlan] {
        match (&self.halves, &self.branches[..]) {
            (Some(halves), _) => &halves[..],
            (None, []) => std::slice::from_ref(self),
            (None, branches) => branches,
        }
    }

    /// The bit error rate of its data direction at the start; `None` if it has neither bit errors nor packet
    /// errors, or all at rate 0.
    pub(super) fn bit_error_rate(&self, links: &[LinkPlan]) -> Option<f64> {
        let rate = bit_error_rate(&self.there, self.wire, links, Time(0));
        (rate > 0.0).then_some(rate)
    }

    pub(super) fn crosses(&self, link: usize) -> bool {
        self.there.iter().chain(&self.back).any(|direction| direction.link() == link)
    }
}

/// The bit error rate of these directions at an instant, for packets of `wire` bytes.
///
/// A packet error rate counts as the bit error rate with the same effect: 1 - (1 - PER)^(1 / bits). Losses that
/// depend on each other, such as bursts and outages, are no property of single bits and do not count.
pub(super) fn bit_error_rate(there: &[DirectionId], wire: u32, links: &[LinkPlan], at: Time) -> f64 {
    let bits = 8.0 * f64::from(wire);
    let mut log_intact = 0.0;
    for direction in there.iter().map(|direction| direction.of(links)) {
        let set = direction.line.as_ref().filter(|line| line.sets_loss).map(|line| line.loss_rate_at(at));
        for (i, loss) in direction.loss.iter().enumerate() {
            let Some((per, planned)) = loss.independent() else { continue };
            let rate = set.filter(|_| i + 1 == direction.loss.len()).unwrap_or(planned);
            log_intact += match per {
                Per::Bit => libm::log1p(-rate),
                Per::Packet => libm::log1p(-rate) / bits,
            };
        }
    }
    (-libm::expm1(log_intact)).clamp(0.0, 1.0)
}

/// The directions with these names: "sat" and "sat/forward" are one direction of a link, "sat/reverse" is the
/// other.
pub(super) fn directions(work: &Work<'_>, names: &[String], key: &Key) -> Result<Vec<DirectionId>, Error> {
    let known: Vec<&str> = work.scenario.link.keys().map(String::as_str).collect();
    let own = || known.iter().copied().filter(|link| !is_added(link));
    if names.is_empty() {
        let example = own().next().unwrap_or("sat");
        return Err(
            work.error(key, format!("a path crosses at least one link; write e.g. path = [{example:?}]"))
        );
    }
    let link = |name: &str| known.iter().position(|k| *k == name).map(DirectionId::forward);
    let mut path: Vec<DirectionId> = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let key = key.with(i);
        let direction = link(name).or_else(|| match name.rsplit_once('/')? {
            (name, "forward") => link(name),
            (name, "reverse") => Some(link(name)?.opposite()),
            _ => None,
        });
        let Some(direction) = direction else {
            let near = match name.rsplit_once('/') {
                Some((stem, _)) if own().any(|link| link == stem) => {
                    format!(
                        "the directions of {} are \"{stem}/forward\" and \"{stem}/reverse\"",
                        quoted(stem)
                    )
                }
                _ => suggestion(name, own()),
            };
            return Err(work.error(&key, format!("no link is called {}; {near}", quoted(name))));
        };
        if path.iter().any(|before| before.link() == direction.link()) {
            return Err(
                work.error(&key, format!("a path crosses a link once; {} is in it twice", quoted(name)))
            );
        }
        path.push(direction);
    }
    Ok(path)
}
