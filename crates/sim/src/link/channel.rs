//! The channel behind a transmitter: losses on it, and repeats of lost packets.

use bentpipe_cc::Time;

use crate::link::arq::ArqSender;
use crate::link::time_line::TimeLine;
use crate::loss::LossModel;

/// The channel of one direction; `None` if nothing is lost on it.
#[derive(Debug, Default)]
pub(super) struct Channel(Option<Box<Lossy>>);

#[derive(Debug)]
struct Lossy {
    losses: Vec<LossModel>,
    rates: Option<LossRates>,
    arq: Option<ArqSender>,
}

/// The rate of the last loss model over time.
#[derive(Debug)]
struct LossRates {
    line: TimeLine,
    step: usize,
}

impl Channel {
    /// A channel with these losses; `line` is the time line that sets the rate of the last one, if one does.
    pub(super) fn new(losses: Vec<LossModel>, line: Option<TimeLine>, arq: Option<ArqSender>) -> Self {
        let rates = line.map(|line| LossRates { line, step: 0 });
        let needed = !losses.is_empty() || arq.is_some();
        Self(needed.then(|| Box::new(Lossy { losses, rates, arq })))
    }

    /// Is nothing ever lost on it?
    pub(super) fn is_clear(&self) -> bool {
        self.0.is_none()
    }

    /// The sender of repeats, if lost packets are sent again.
    pub(super) fn arq(&self) -> Option<&ArqSender> {
        self.0.as_ref()?.arq.as_ref()
    }

    /// The same, mutable.
    pub(super) fn arq_mut(&mut self) -> Option<&mut ArqSender> {
        self.0.as_mut()?.arq.as_mut()
    }

    /// Is a packet whose transmission ends at `sent` lost? Each loss model sees it.
    #[inline(always)]
    pub(super) fn strikes(&mut self, sent: u64, size: u16) -> bool {
        let Some(lossy) = &mut self.0 else { return false };
        if let Some(rates) = &mut lossy.rates {
            rates.set(sent, lossy.losses.last_mut());
        }
        let mut struck = false;
        for loss in &mut lossy.losses {
            struck |= loss.strikes(Time(sent), size);
        }
        struck
    }
}

impl LossRates {
    /// Gives the model the rate at `sent`.
    #[inline(never)]
    fn set(&mut self, sent: u64, model: Option<&mut LossModel>) {
        self.line.go_to(&mut self.step, sent);
        let rate = self.line.steps()[self.step].loss_rate;
        model.into_iter().for_each(|model| model.set_rate(rate));
    }
}
