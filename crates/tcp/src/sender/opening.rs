//! The sender's part in the handshake and the teardown.

use bentpipe_cc::Time;

use super::{Path, Sender};
use crate::handshake::{Active, Opened};
use crate::rto;

impl Sender {
    /// The handshake is done. `opened` has the first RTT sample (RFC 6298 section 2.2).
    pub fn on_opened(&mut self, now: Time, opened: &Opened) {
        self.path = Path::Slow;
        self.flow.now = now;
        if let Some(rtt) = opened.rtt {
            self.rto.sample(rtt, 0, 0);
            rto::follow(&mut self.flow.rtt, rtt, rtt);
        }
        if opened.repeats > 0 {
            self.rto.begin_data();
        }
        if opened.repeats > 1 {
            // RFC 5681 section 3.1: an initial window of one segment, but not for a single repeated SYN (RFC 6928 section 2).
            self.recovery.clamp = Some(1);
        }
    }

    /// The application closes the connection: `end` sends a FIN, repeated by this sender's timeout.
    pub fn close(&self, end: &mut Active) {
        end.close(&self.rto);
    }
}
