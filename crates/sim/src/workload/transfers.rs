//! Transfers: what an application has sent as one piece, a burst, a response or a whole
//! connection, and how long each took.

use bentpipe_cc::Time;
use bentpipe_tcp::Sender;

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// When it was asked for.
    pub(crate) start: Time,
    /// Payload bytes.
    pub(crate) bytes: u64,
    /// When it was complete, if it is.
    pub(crate) end: Option<Time>,
}

/// Sums up transfers: how many there are, how many are complete, and how long those took.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) transfers: u64,
    pub(crate) completed: u64,
    /// Seconds from start to end of those that are complete, in order.
    times: Vec<f64>,
}

impl Transfer {
    /// Seconds from start to end.
    pub(crate) fn completion_s(&self) -> Option<f64> {
        self.end.map(|end| end.since(self.start).secs())
    }
}

impl Summary {
    /// The summary of these transfers.
    pub(crate) fn new(transfers: &[Transfer]) -> Self {
        let mut times: Vec<f64> = transfers.iter().filter_map(Transfer::completion_s).collect();
        times.sort_by(f64::total_cmp);
        Self { transfers: transfers.len() as u64, completed: times.len() as u64, times }
    }

    /// The mean in seconds.
    pub(crate) fn mean_s(&self) -> Option<f64> {
        (self.completed > 0).then(|| self.times.iter().sum::<f64>() / self.completed as f64)
    }

    /// The time in seconds that a share of them do not exceed, by a straight line between two of them
    /// (Hyndman and Fan 1996, type 7).
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let place = share * (self.times.len().checked_sub(1)?) as f64;
        let below = self.times[place as usize];
        let above = self.times[(place as usize + 1).min(self.times.len() - 1)];
        Some(below + (above - below) * (place - libm::floor(place)))
    }
}

/// Writes `bytes` bytes, or a little more. Returns the number of segments that they make.
pub(super) fn write(bytes: u64, sender: &mut Sender) -> u64 {
    let mss = sender.options().mss;
    let segments = segments(bytes, mss);
    let written = sender.write(segments * u64::from(mss));
    debug_assert!(written.is_ok(), "every segment is full");
    sender.push();
    segments
}

/// The number of segments of a message of `bytes` bytes.
pub(crate) fn segments(bytes: u64, mss: u32) -> u64 {
    bytes.div_ceil(u64::from(mss.max(1))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1, 2, 3, 4 and 5 s the 95th percentile is 4.8 s, as R's and NumPy's default has it.
    #[test]
    fn times_are_summed_up() {
        let transfer = |ms: u64| Transfer {
            start: Time(7_000_000_000),
            bytes: 1,
            end: Some(Time(7_000_000_000 + ms * 1_000_000)),
        };
        let mut all: Vec<Transfer> = [3_000, 1_000, 5_000, 2_000, 4_000].map(transfer).into();
        all.push(Transfer { end: None, ..all[0] });
        let summary = Summary::new(&all);
        assert_eq!((summary.transfers, summary.completed), (6, 5));
        assert_eq!(summary.mean_s(), Some(3.0));
        assert_eq!(summary.quantile_s(0.5), Some(3.0));
        assert!((summary.quantile_s(0.95).unwrap() - 4.8).abs() < 1e-12);
        assert_eq!(summary.quantile_s(1.0), Some(5.0));
        assert_eq!(Summary::new(&[]).quantile_s(0.5), None);
        assert_eq!(Summary::new(&all[5..]).mean_s(), None);
    }
}
