//! What a receiver has counted over real time, and how it tells the sender.

use std::time::{Duration, Instant};

/// Real time since a start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "the program measures a real transfer")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since then.
    pub(crate) fn passed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Bytes over time, as the receiver's application read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Nanoseconds since the connection was accepted, and bytes read until then; in order, and not more often
    /// than each [`Tally::INTERVAL`].
    rows: Vec<(u64, u64)>,
}

impl Tally {
    /// How fine the count is over time.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(20);
    /// Bytes of a row as it is sent.
    const ROW: usize = 16;
    /// The longest message: a day of rows.
    pub(crate) const LONGEST: usize = Self::ROW * 50 * 86_400;

    /// `bytes` bytes have been read by the time `since` after the acceptance.
    pub(crate) fn add(&mut self, since: Duration, bytes: u64) {
        let at = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let step = Self::INTERVAL.as_nanos() as u64;
        // The last row covers everything that came within the interval of the row before it.
        if let [.., before, last] = &mut self.rows[..]
            && at.saturating_sub(before.0) < step
        {
            *last = (at, bytes);
        } else {
            self.rows.push((at, bytes));
        }
    }

    /// All bytes, and when the last came.
    pub(crate) fn total(&self) -> (Duration, u64) {
        self.rows.last().map_or((Duration::ZERO, 0), |(at, bytes)| (Duration::from_nanos(*at), *bytes))
    }

    /// The bytes at an instant, between two rows in proportion.
    pub(crate) fn at(&self, since: Duration) -> u64 {
        let at = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let later = self.rows.partition_point(|row| row.0 <= at);
        let before = later.checked_sub(1).map_or((0, 0), |i| self.rows[i]);
        let Some(after) = self.rows.get(later) else { return before.1 };
        let share = (at - before.0) as f64 / (after.0 - before.0) as f64;
        before.1 + ((after.1 - before.1) as f64 * share) as u64
    }

    /// As a message.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.rows.iter().flat_map(|(at, bytes)| [at.to_be_bytes(), bytes.to_be_bytes()].concat()).collect()
    }

    /// From a message; `None` if it is none.
    pub(crate) fn from_bytes(message: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| Some(u64::from_be_bytes(bytes.try_into().ok()?));
        let row = |row: &[u8]| Some((number(row.get(..8)?)?, number(row.get(8..)?)?));
        let rows: Vec<(u64, u64)> = message.chunks(Self::ROW).map(row).collect::<Option<_>>()?;
        rows.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1).then_some(Self { rows })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Tally;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn counts_go_over_the_wire_and_are_found_between() {
        let mut tally = Tally::default();
        for i in 1..=1000 {
            tally.add(ms(i), 10 * i);
        }
        let got = Tally::from_bytes(&tally.to_bytes()).expect("a message");
        assert_eq!(got, tally);
        assert_eq!(got.total(), (ms(1000), 10_000));
        assert!(got.to_bytes().len() <= 16 * 102, "{}", got.to_bytes().len());
        for at in [1, 7, 20, 333, 999] {
            assert!(got.at(ms(at)).abs_diff(10 * at) <= 10, "{at}: {}", got.at(ms(at)));
        }
        assert_eq!((got.at(ms(0)), got.at(ms(5000))), (0, 10_000));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert_eq!(Tally::from_bytes(&[]), Some(Tally::default()));
        assert_eq!(Tally::from_bytes(&[0; 17]), None);
        let row = |at: u64, bytes: u64| [at.to_be_bytes(), bytes.to_be_bytes()].concat();
        assert!(Tally::from_bytes(&[row(1, 5), row(2, 5)].concat()).is_some());
        assert_eq!(Tally::from_bytes(&[row(2, 5), row(1, 5)].concat()), None);
        assert_eq!(Tally::from_bytes(&[row(1, 5), row(2, 4)].concat()), None);
    }
}
