//! The path of a flow in the making.

use bentpipe_cc::Span;

use crate::resolve::plan::DirectionId;
use crate::resolve::time_lines::Course;

/// The directions that a flow of the scenario crosses, and the numbers for its share of a bandwidth-delay product.
#[derive(Debug)]
pub(crate) struct PathPlan {
    pub(crate) there: Vec<DirectionId>,
    pub(crate) back: Vec<DirectionId>,
    /// Propagation there and back, access delays included.
    pub(crate) base_rtt: Span,
    /// Bytes on the wire of its largest packet.
    pub(crate) wire: u32,
    /// The paths of the two halves that a relay makes of it.
    pub(crate) halves: Option<Box<[PathPlan; 2]>>,
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
        let crossed = there.iter().chain(&back).map(|direction| courses[direction.index()].delay.0);
        let base_rtt = Span(crossed.fold(2 * extra.0, u64::saturating_add));
        Self { there, back, base_rtt, wire, halves: None }
    }

    /// Its halves, or itself.
    pub(super) fn parts(&self) -> &[PathPlan] {
        self.halves.as_ref().map_or(std::slice::from_ref(self), |halves| &halves[..])
    }

    pub(super) fn crosses(&self, link: usize) -> bool {
        self.there.iter().chain(&self.back).any(|direction| direction.link() == link)
    }
}
