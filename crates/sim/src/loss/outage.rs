//! Outages: all packets whose transmission ends in an interval are lost.

use bentpipe_cc::{Span, Time};

use crate::keys::table::keys;
use crate::keys::units::Duration;
use crate::link::random::Stream;
use crate::loss::kind::{LossKeys, LossRule, PlannedLoss, Wrong};

keys! {
    /// All packets sent in an interval are lost: once (`from`, `to`), or again and again (`every`, `length`).
    #[derive(Copy)]
    pub struct Outage {
        /// Start of a single outage.
        pub from?: Duration,
        /// End of a single outage.
        pub to?: Duration,
        /// Time from the start of one outage to the start of the next.
        pub every?: Duration,
        /// Length of each repeated outage.
        pub length?: Duration,
        /// Start of the first repeated outage; by default one period after the start of the run.
        pub first?: Duration,
    }
}

/// Everything sent in [first, first + length) is lost, and again every `every` if given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutagePlan {
    /// Start of the first outage.
    pub first: Time,
    /// How long one lasts.
    pub length: Span,
    /// Period, above zero; `None` for a single outage.
    pub every: Option<Span>,
}

impl LossKeys for Outage {
    type Plan = OutagePlan;

    fn resolve(&self) -> Result<OutagePlan, Wrong> {
        let Outage { from, to, every, length, first } = *self;
        let wrong = |key, message: &str| Err((key, message.to_owned()));
        match [from, to, every, length, first].map(|given| given.map(|given| given.0)) {
            [Some(from), Some(to), None, None, None] if from < to => {
                Ok(OutagePlan { first: Time(from.0), length: Span(to.0 - from.0), every: None })
            }
            [Some(from), Some(_), None, None, None] => wrong(
                "to",
                &format!("an outage ends after it starts; it must be later than {}", Duration(from)),
            ),
            [None, None, Some(_), Some(Span::ZERO), _] => {
                wrong("length", "an outage takes longer than zero; write e.g. \"2 s\"")
            }
            [None, None, Some(every), Some(length), _] if length >= every => {
                wrong("length", &format!("an outage must be shorter than every = {}", Duration(every)))
            }
            [None, None, Some(every), Some(length), first] => {
                Ok(OutagePlan { first: Time(first.unwrap_or(every).0), length, every: Some(every) })
            }
            [None, None, None, None, None] => {
                wrong("from", "is missing; an outage needs from and to, or every and length")
            }
            [Some(_), None, None, None, None] => wrong("to", "is missing; add e.g. to = \"12 s\""),
            [None, Some(_), None, None, None] => wrong("from", "is missing; add e.g. from = \"10 s\""),
            [None, None, Some(_), None, _] => wrong("length", "is missing; add e.g. length = \"2 s\""),
            [None, None, None, _, _] => {
                wrong("every", "is missing; add e.g. every = \"60 s\", or write from and to instead")
            }
            _ => wrong(
                "from",
                "an outage is either from and to, or every, length and first; leave out one or the other",
            ),
        }
    }
}

impl PlannedLoss for OutagePlan {
    fn start(&self, _: &mut Stream) -> Box<dyn LossRule> {
        Box::new(*self)
    }
}

impl LossRule for OutagePlan {
    fn strikes(&mut self, sent: Time, _: u16, _: &mut Stream) -> bool {
        sent.0.checked_sub(self.first.0).is_some_and(|since| {
            let into = self.every.and_then(|every| since.checked_rem(every.0)).unwrap_or(since);
            into < self.length.0
        })
    }
}
