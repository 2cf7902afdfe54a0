//! What a receiver reports about marks beyond RFC 3168.
//!
//! DCTCP, RFC 8257 section 3.2: an exact echo. The sender counts what each acknowledgement covers, and so
//! knows how many bytes were marked. The state DCTCP.CE is that of the last segment. When it changes, an
//! acknowledgement leaves at once. A delayed acknowledgement covers segments of the old state and goes first,
//! with the old echo, as in Linux (`dctcp_ece_ack_update`).
//!
//! AccECN, RFC 9768: counters of what has arrived (section 3.2), which each acknowledgement carries. An
//! acknowledgement leaves at once where a marked segment follows an unmarked one, and when two marks have
//! come since the last acknowledgement (section 3.2.2.5.1). The rules were read in
//! draft-ietf-tcpm-accurate-ecn-34, which became the RFC.

use bentpipe_cc::Time;

use super::Receiver;
use crate::options::{EcnEcho, Options};
use crate::segment::{AckSegment, Data, MarkCounts};

/// The state of a receiver that reports more about marks than RFC 3168 requires.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The second of two acknowledgements of one instant (DCTCP).
    held: Option<AckSegment>,
    /// AccECN, and whether the last segment was marked.
    accurate: Option<(MarkCounts, bool)>,
    /// Marks since the last acknowledgement.
    since: u32,
}

/// This many marks are acknowledged at once (RFC 9768 section 3.2.2.5.1, increment-triggered ACKs: n).
const MOST_UNTOLD: u32 = 2;

impl Marks {
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        match options.echo {
            EcnEcho::Dctcp if options.ecn => Some(Box::default()),
            EcnEcho::AccEcn if options.ecn => {
                Some(Box::new(Self { accurate: Some(Default::default()), ..Self::default() }))
            }
            _ => None,
        }
    }

    /// An acknowledgement leaves.
    pub(super) fn tell(&mut self) {
        self.since = 0;
    }

    /// The second of two acknowledgements of one instant, if it has not left.
    pub(super) fn take_held(&mut self) -> Option<AckSegment> {
        self.held.take()
    }
}

impl Receiver {
    /// The counters of marks on an acknowledgement sent now; `None` without AccECN.
    pub fn mark_counts(&self) -> Option<MarkCounts> {
        self.marks.as_ref()?.accurate.map(|(counts, _)| counts)
    }

    /// A data segment for which there is room arrives at a receiver that reports marks exactly. `echo` is
    /// DCTCP.CE.
    pub(super) fn take_with_marks(&mut self, now: Time, data: &Data) -> Option<AckSegment> {
        if let Some(marks) = &mut self.marks
            && let Some((counts, before)) = &mut marks.accurate
        {
            counts.add(data);
            let changes = data.ce && !std::mem::replace(before, data.ce);
            marks.since += u32::from(data.ce);
            let due = changes || marks.since >= MOST_UNTOLD;
            let answer = self.take_data(now, data);
            return answer.or_else(|| due.then(|| self.acknowledge(None)));
        }
        if self.echo == data.ce || data.probe {
            return self.take_data(now, data);
        }
        let delayed = (self.next > self.last_ack).then(|| self.acknowledge(None));
        self.echo = data.ce;
        let answer = self.take_data(now, data).unwrap_or_else(|| self.acknowledge(None));
        let Some(delayed) = delayed else { return Some(answer) };
        self.deadline = Some(now);
        self.marks.iter_mut().for_each(|marks| marks.held = Some(answer));
        Some(delayed)
    }

    /// The second of two acknowledgements of one instant, if it is due.
    pub(super) fn held(&mut self, now: Time) -> Option<AckSegment> {
        self.deadline.filter(|&due| due <= now)?;
        let held = self.marks.as_mut()?.held.take()?;
        self.deadline = None;
        Some(held)
    }
}
