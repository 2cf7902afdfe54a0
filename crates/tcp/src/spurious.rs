//! Was a retransmission timeout spurious? F-RTO (RFC 5682) and Eifel (RFC 3522). Was a fast
//! recovery? D-SACK (RFC 3708).

use bentpipe_cc::Decision;

use crate::options::{Options, SpuriousTimeout};
use crate::scoreboard::Scoreboard;
use crate::segment::Block;

/// What an acknowledgement says about the last timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// No verdict yet, or none any more.
    Open,
    /// Data was lost: go on with conventional recovery.
    Genuine,
    /// Data was lost, and F-RTO's new segments fill the window. The next retransmission goes out in spite of
    /// it, as the window of three segments in RFC 5682 section 2.1 step 3a allows.
    Resume,
    /// Nothing was lost: restore the state before the timeout.
    Spurious(Before),
}

/// The state before a timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Before {
    /// The controller's decision.
    pub(crate) decision: Decision,
    /// Bytes declared lost.
    pub(crate) lost: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    /// The timer expired, the first segment is going out again.
    First,
    /// F-RTO: the first ACK advanced; up to `left` new segments go out instead of retransmissions.
    New {
        left: u8,
    },
    /// F-RTO: the new segments are out, the second ACK decides.
    Second,
}

/// The detector of one sender.
#[derive(Debug)]
pub(crate) struct Suspicion {
    how: SpuriousTimeout,
    state: State,
    before: Option<Box<Before>>,
    /// Timestamp of the first retransmission after the timeout.
    resent: Option<u32>,
}

impl Suspicion {
    pub(crate) fn new(options: &Options) -> Self {
        let eifel_blind = options.spurious == SpuriousTimeout::Eifel && !options.timestamps;
        let how = if eifel_blind { SpuriousTimeout::Off } else { options.spurious };
        Self { how, state: State::Idle, before: None, resent: None }
    }

    /// A timeout; `before` is `None` if it is not the first in a row (RFC 5682 section 2.1
    /// step 1 forbids repeated use).
    pub(crate) fn on_timeout(&mut self, before: Option<Before>) {
        self.before = before.filter(|_| self.how != SpuriousTimeout::Off).map(Box::new);
        self.resent = None;
        self.state = if self.before.is_some() { State::First } else { State::Idle };
    }

    /// A fast recovery begins: the timeout before was genuine.
    pub(crate) fn forget(&mut self) {
        self.state = State::Idle;
    }

    pub(crate) fn on_retransmit(&mut self, tsval: u32) {
        if self.state == State::First && self.resent.is_none() {
            self.resent = Some(tsval);
        }
    }

    /// Is it still undecided whether the last timeout was spurious?
    pub(crate) fn is_open(&self) -> bool {
        self.state != State::Idle
    }

    /// F-RTO wants new data sent instead of retransmissions.
    pub(crate) fn wants_new(&self) -> bool {
        matches!(self.state, State::New { .. })
    }

    /// F-RTO has sent what it may and waits for the second ACK.
    pub(crate) fn waits(&self) -> bool {
        self.state == State::Second
    }

    /// Nothing new may be sent: without a single new segment F-RTO cannot tell
    /// (RFC 5682 section 2.1 step 2b).
    pub(crate) fn no_new(&mut self) {
        self.state = if self.state == (State::New { left: 1 }) { State::Second } else { State::Idle };
    }

    pub(crate) fn on_new_sent(&mut self) {
        if let State::New { left } = self.state {
            self.state = if left > 1 { State::New { left: left - 1 } } else { State::Second };
        }
    }

    /// An acknowledgement after a timeout: did it advance, does it cover all that was outstanding at the
    /// timeout, and which timestamp does it echo?
    pub(crate) fn on_ack(&mut self, advanced: bool, covers_all: bool, tsecr: u32) -> Verdict {
        let verdict = match (self.state, self.how) {
            (State::Idle, _) => return Verdict::Open,
            // Eifel waits for the first ACK that advances; earlier duplicates are still on their way (RFC
            // 3522 section 3.2 step 4).
            (State::First, SpuriousTimeout::Eifel) if !advanced => return Verdict::Open,
            (State::First, SpuriousTimeout::Eifel) => match self.resent {
                // RFC 3522 section 3.2: the ACK was sent before the retransmission could arrive.
                Some(resent) if (tsecr.wrapping_sub(resent) as i32) < 0 => self.spurious(),
                _ => Verdict::Genuine,
            },
            // RFC 5682 section 2.1 step 2: a duplicate ACK or one for everything decides nothing.
            (State::First, _) if !advanced || covers_all => Verdict::Genuine,
            (State::First, _) => {
                self.state = State::New { left: 2 };
                return Verdict::Open;
            }
            // Step 3: the second ACK advances too, though nothing but the first segment was sent again.
            (State::New { .. } | State::Second, _) if advanced => self.spurious(),
            (State::New { .. } | State::Second, _) => Verdict::Resume,
        };
        self.state = State::Idle;
        verdict
    }

    fn spurious(&mut self) -> Verdict {
        self.before.take().map_or(Verdict::Genuine, |before| Verdict::Spurious(*before))
    }
}

/// The segments that a fast recovery sent again. If all of them arrive twice, nothing had been lost (RFC 3708
/// section 3; Linux does the same).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repairs {
    /// The controller's decision before the recovery, if the recovery has cut the window.
    pub(crate) before: Option<Decision>,
    /// The segments outstanding when it began.
    from: u64,
    to: u64,
    sent: u64,
    /// Of these, how many had been declared lost.
    pub(crate) lost: u64,
    duplicates: u64,
}

impl Repairs {
    pub(crate) fn new(before: Option<Decision>, board: &Scoreboard) -> Self {
        Self { before, from: board.una(), to: board.next(), sent: 0, lost: 0, duplicates: 0 }
    }

    pub(crate) fn on_retransmit(&mut self, lost: bool) {
        self.sent += 1;
        self.lost += u64::from(lost);
    }

    /// A D-SACK reports `block`. Returns true if no further report is missing.
    pub(crate) fn on_duplicate(&mut self, block: Block) -> bool {
        if block.start < self.from || block.end > self.to || self.sent == 0 {
            return false;
        }
        self.duplicates += block.end - block.start;
        self.duplicates >= self.sent
    }
}
