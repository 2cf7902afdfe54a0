//! An exact echo of marks: by the sender's count of what each acknowledgement covers it knows how many bytes were marked.
//!
//! RFC 8257 section 3.2. The state DCTCP.CE is that of the last segment. When it changes, an acknowledgement leaves at once. One that was
//! delayed covers segments of the old state and goes first, with the old echo, as Linux does (`dctcp_ece_ack_update`).

use bentpipe_cc::Time;

use super::Receiver;
use crate::options::{EcnEcho, Options};
use crate::segment::{AckSegment, Data};

/// What a receiver with an exact echo keeps.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The second of two acknowledgements of one instant.
    held: Option<AckSegment>,
}

impl Marks {
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        (options.ecn && options.echo == EcnEcho::Dctcp).then(Box::default)
    }
}

impl Receiver {
    /// A data segment for which there is room arrives at a receiver that tells exactly what was marked. `echo` is DCTCP.CE.
    pub(super) fn take_with_marks(&mut self, now: Time, data: &Data) -> Option<AckSegment> {
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
