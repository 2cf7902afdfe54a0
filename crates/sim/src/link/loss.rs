//! Loss models: which packets a direction loses.

use bentpipe_cc::Time;

use crate::link::random::Stream;
use crate::resolve::plan::LossPlan;

/// One loss model at work on one direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct LossModel {
    model: LossKind,
    random: Stream,
}

#[derive(Clone, Debug)]
enum LossKind {
    /// `left` packets pass before the next is lost.
    Packets {
        rate: f64,
        left: u64,
    },
    /// `left` bits pass before the next bit in error: exact for packets of any size.
    Bits {
        rate: f64,
        left: u64,
    },
    GilbertElliott {
        p: f64,
        r: f64,
        good_loss: f64,
        bad_loss: f64,
        bad: bool,
    },
    Outage {
        first: u64,
        length: u64,
        every: Option<u64>,
    },
    Trace {
        lost: std::sync::Arc<[u64]>,
        seen: u64,
        next: usize,
    },
}

impl LossModel {
    /// The model of `plan`, drawing from `random`.
    pub(crate) fn new(plan: &LossPlan, mut random: Stream) -> Self {
        let model = match *plan {
            LossPlan::PacketError { rate } => LossKind::Packets { rate, left: random.run_length(rate) },
            LossPlan::BitError { rate } => LossKind::Bits { rate, left: random.run_length(rate) },
            LossPlan::GilbertElliott { p, r, good_loss, bad_loss } => {
                // Start in the stationary state: bad with probability p / (p + r).
                let bad = p > 0.0 && random.uniform() <= p / (p + r);
                LossKind::GilbertElliott { p, r, good_loss, bad_loss, bad }
            }
            LossPlan::Outage { first, length, every } => {
                LossKind::Outage { first: first.0, length: length.0, every: every.map(|e| e.0) }
            }
            LossPlan::Trace { ref lost } => LossKind::Trace { lost: lost.clone(), seen: 0, next: 0 },
        };
        Self { model, random }
    }

    /// Sets the rate of a model that has one rate. If that changes, the next gap is drawn anew: the gaps have no memory.
    pub(crate) fn set_rate(&mut self, new: f64) {
        if let LossKind::Packets { rate, left } | LossKind::Bits { rate, left } = &mut self.model
            && *rate != new
        {
            *rate = new;
            *left = self.random.run_length(new);
        }
    }

    /// Is the next packet, of `size` bytes and fully sent at `sent`, lost? Call once for each packet, in order.
    pub(crate) fn strikes(&mut self, sent: Time, size: u16) -> bool {
        match &mut self.model {
            LossKind::Packets { rate, left } => {
                if *left > 0 {
                    *left -= 1;
                    return false;
                }
                *left = self.random.run_length(*rate);
                true
            }
            LossKind::Bits { rate, left } => {
                let bits = u64::from(size) * 8;
                if *left >= bits {
                    *left -= bits;
                    return false;
                }
                *left = self.random.run_length(*rate);
                true
            }
            LossKind::GilbertElliott { p, r, good_loss, bad_loss, bad } => {
                let rate = if *bad { *bad_loss } else { *good_loss };
                let struck = rate > 0.0 && self.random.uniform() <= rate;
                let leave = if *bad { *r } else { *p };
                if leave > 0.0 && self.random.uniform() <= leave {
                    *bad = !*bad;
                }
                struck
            }
            LossKind::Outage { first, length, every } => sent.0.checked_sub(*first).is_some_and(|since| {
                let into = match every {
                    Some(period) if *period > 0 => since % *period,
                    _ => since,
                };
                into < *length
            }),
            LossKind::Trace { lost, seen, next } => {
                let index = *seen;
                *seen += 1;
                let struck = lost.get(*next) == Some(&index);
                *next += usize::from(struck);
                struck
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::Span;

    use super::*;

    fn count(plan: &LossPlan, n: u32, size: u16) -> f64 {
        let mut loss = LossModel::new(plan, Stream::new(3, "loss"));
        f64::from((0..n).map(|i| u32::from(loss.strikes(Time(u64::from(i)), size))).sum::<u32>())
    }

    #[test]
    fn bit_errors_give_the_packet_error_rate_of_the_closed_form() {
        // PER = 1 - (1 - BER)^bits: 1500 bytes at 1e-6 give 1.1928e-2.
        let n = 1_000_000;
        let lost = count(&LossPlan::BitError { rate: 1e-6 }, n, 1500);
        let expected = 1.1928e-2 * f64::from(n);
        assert!((lost - expected).abs() < 4.0 * expected.sqrt(), "{lost} against {expected}");
    }

    #[test]
    fn packet_errors_come_at_their_rate_whatever_the_size() {
        for size in [40, 1500] {
            let lost = count(&LossPlan::PacketError { rate: 0.05 }, 200_000, size);
            assert!((lost - 10_000.0).abs() < 4.0 * 100.0, "{lost}");
        }
        assert_eq!(count(&LossPlan::PacketError { rate: 1.0 }, 100, 40), 100.0);
        assert_eq!(count(&LossPlan::PacketError { rate: 0.0 }, 100, 40), 0.0);
    }

    #[test]
    fn a_rate_that_changes_holds_from_then_on() {
        let mut loss = LossModel::new(&LossPlan::PacketError { rate: 0.0 }, Stream::new(3, "loss"));
        let mut lost = |rate: f64| {
            let struck = |i| {
                loss.set_rate(rate);
                u32::from(loss.strikes(Time(i), 1500))
            };
            f64::from((0..100_000).map(struck).sum::<u32>())
        };
        // Four standard errors: 4 sqrt(n p (1 - p)).
        assert_eq!(lost(0.0), 0.0);
        assert!((lost(0.2) - 20_000.0).abs() < 506.0);
        assert!((lost(0.01) - 1_000.0).abs() < 126.0);
        assert_eq!((lost(1.0), lost(0.0)), (100_000.0, 0.0));
    }

    #[test]
    fn gilbert_elliott_has_its_stationary_rate_and_mean_burst() {
        let plan = LossPlan::GilbertElliott { p: 0.01, r: 0.25, good_loss: 0.0, bad_loss: 1.0 };
        let mut loss = LossModel::new(&plan, Stream::new(3, "loss"));
        let struck: Vec<bool> = (0..400_000).map(|i| loss.strikes(Time(i), 1500)).collect();
        let lost = struck.iter().filter(|&&s| s).count() as f64;
        let bursts = struck.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // Stationary loss p / (p + r) = 0.03846; mean burst 1 / r = 4.
        assert!((lost / 400_000.0 - 0.03846).abs() < 0.002, "{}", lost / 400_000.0);
        assert!((lost / bursts - 4.0).abs() < 0.15, "{}", lost / bursts);
    }

    #[test]
    fn outages_and_traces_strike_where_they_say() {
        let outage = LossPlan::Outage { first: Time(10), length: Span(5), every: Some(Span(20)) };
        let mut loss = LossModel::new(&outage, Stream::new(1, "x"));
        let struck: Vec<u64> = (0..60).filter(|&t| loss.strikes(Time(t), 40)).collect();
        assert_eq!(struck, [10, 11, 12, 13, 14, 30, 31, 32, 33, 34, 50, 51, 52, 53, 54]);
        let mut loss = LossModel::new(&LossPlan::Trace { lost: [2, 3, 7].into() }, Stream::new(1, "x"));
        let struck: Vec<u64> = (0..10).filter(|&t| loss.strikes(Time(t), 40)).collect();
        assert_eq!(struck, [2, 3, 7]);
    }
}
