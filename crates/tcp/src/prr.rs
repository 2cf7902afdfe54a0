//! Proportional rate reduction (RFC 9937, obsoleting RFC 6937): how much each ACK of a recovery lets the
//! sender send.
//!
//! The text of RFC 9937 was not available. The rules were compared with Linux's `tcp_cwnd_reduction` and with
//! ns-3's `tcp-prr-recovery.cc`, which cites sections 6.1 and 6.2 of RFC 9937. All agree except on an ACK
//! that delivers nothing. Linux and ns-3 then leave the window; here it is computed anew, so that losses
//! found without an ACK count at once.

/// The state of one recovery, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    ssthresh: u64,
    recover_fs: u64,
    delivered: u64,
    out: u64,
    /// The window.
    pub(crate) cwnd: u64,
}

impl Prr {
    /// A recovery begins with `flight` segments outstanding (RecoverFS) and is to end at `ssthresh`.
    pub(crate) fn start(ssthresh: u64, flight: u64) -> Self {
        Self { ssthresh, recover_fs: flight.max(1), delivered: 0, out: 0, cwnd: 0 }
    }

    /// An ACK delivered `delivered` segments and left `pipe` in flight; `safe` means that it advanced the
    /// cumulative acknowledgement without revealing further losses.
    pub(crate) fn on_ack(&mut self, delivered: u64, pipe: u64, safe: bool) {
        self.delivered += delivered;
        let mut count = if pipe > self.ssthresh {
            // Proportional part: out / delivered tends to ssthresh / RecoverFS.
            (self.delivered * self.ssthresh).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            // SSRB: catch up with ssthresh, by one more than was delivered when that is safe.
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + u64::from(safe);
            limit.min(self.ssthresh - pipe)
        };
        if self.out == 0 {
            count = count.max(1); // force the fast retransmit upon entering recovery
        }
        self.cwnd = pipe + count;
    }

    /// A segment was sent.
    pub(crate) fn on_sent(&mut self) {
        self.out += 1;
    }
}
