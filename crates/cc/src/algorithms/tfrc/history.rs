//! The loss event rate (RFC 5348 section 5): the mean of the last loss intervals, weighted by age. Packets.

/// Loss intervals that are averaged, n of section 5.4.
const N: usize = 8;
/// Section 5.4: 1 for the newer half, then falling to 0.
const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Section 5.5: old intervals keep at least this much of their weight.
const LEAST_DISCOUNT: f64 = 0.25;

/// A loss interval that a loss event has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Interval {
    packets: f64,
    /// DF_i of section 5.5.
    discount: f64,
}

/// The last loss intervals, and where the open one began.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossHistory {
    discounting: bool,
    /// I_1, I_2, ...; the first `known` of them are known.
    closed: [Interval; N],
    known: usize,
    /// Packets sent whose fate was known when the last loss event began.
    began: f64,
}

impl LossHistory {
    pub(super) fn new(discounting: bool) -> Self {
        Self { discounting, closed: [Interval::default(); N], known: 0, began: 0.0 }
    }

    /// Has there been no loss event yet?
    pub(super) fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// The first loss event, at `position`, with an interval that slow start did not measure (section 6.3.1).
    pub(super) fn begin(&mut self, interval: f64, position: f64) {
        self.push(interval, 1.0, position);
    }

    /// A loss event begins at `position`: the open interval is closed.
    pub(super) fn close(&mut self, position: f64) {
        let open = self.open(position);
        self.push(open, self.discount(open), position);
    }

    /// The open interval begins at `position` instead: packets counted since the event do not count.
    pub(super) fn reopen(&mut self, position: f64) {
        self.began = position;
    }

    fn push(&mut self, packets: f64, discount: f64, position: f64) {
        for old in &mut self.closed {
            old.discount *= discount;
        }
        self.closed.rotate_right(1);
        self.closed[0] = Interval { packets: packets.max(1.0), discount: 1.0 };
        self.known = (self.known + 1).min(N);
        self.began = position;
    }

    fn open(&self, position: f64) -> f64 {
        (position - self.began).max(0.0)
    }

    /// I_tot1 and W_tot1: the closed intervals alone.
    fn closed_sums(&self) -> (f64, f64) {
        let known = self.closed.iter().zip(WEIGHTS).take(self.known);
        known.fold((0.0, 0.0), |(sum, all), (i, w)| (sum + i.packets * w * i.discount, all + w * i.discount))
    }

    /// DF of section 5.5: the weight that the closed intervals keep beside an open one of this length.
    fn discount(&self, open: f64) -> f64 {
        let (sum, all) = self.closed_sums();
        let twice = 2.0 * sum / all;
        if self.discounting && open > twice { (twice / open).max(LEAST_DISCOUNT) } else { 1.0 }
    }

    /// p at `position`, 0 before the first loss event. The open interval counts only if that makes
    /// p smaller (section 5.4).
    pub(super) fn rate(&self, position: f64) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let (sum, all) = self.closed_sums();
        let open = self.open(position);
        let discount = self.discount(open);
        let older = self.closed.iter().zip(&WEIGHTS[1..]).take(self.known - 1);
        let (sum_open, all_open) = older.fold((open * WEIGHTS[0], WEIGHTS[0]), |(sum, all), (i, w)| {
            let weight = w * i.discount * discount;
            (sum + i.packets * weight, all + weight)
        });
        (all / sum.max(1.0)).min(all_open / sum_open.max(1.0)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::LossHistory;
    use crate::rig::near;

    /// A history with these closed intervals, oldest first, whose last event was at position 1000.
    fn history(discounting: bool, intervals: &[f64]) -> LossHistory {
        let mut history = LossHistory::new(discounting);
        let mut position = 1000.0 - intervals.iter().skip(1).sum::<f64>();
        history.begin(intervals[0], position);
        for interval in &intervals[1..] {
            position += interval;
            history.close(position);
        }
        history
    }

    /// By hand, section 5.4: (80 + 70 + 60 + 50 + .8 x 40 + .6 x 30 + .4 x 20 + .2 x 10) / 6 = 53.333.
    #[test]
    fn eight_intervals_are_weighted_by_age() {
        let known = history(false, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
        near(1.0 / known.rate(1000.0), 53.333_333, 1e-6);
        // The ninth pushes the first out:
        // (8 + 80 + 70 + 60 + .8 x 50 + .6 x 40 + .4 x 30 + .2 x 20) / 6 = 49.667.
        let mut next = known;
        next.close(1008.0);
        near(1.0 / next.rate(1008.0), 49.666_667, 1e-6);
    }

    /// By hand: with the open interval I_0 the sum is
    /// I_0 + 80 + 70 + 60 + .8 x 50 + .6 x 40 + .4 x 30 + .2 x 20 = I_0 + 290, which exceeds 320 from
    /// I_0 = 30 on. (Half of the newest weight is made up for by the eighth falling out.)
    #[test]
    fn the_open_interval_counts_only_if_it_raises_the_mean() {
        let known = history(false, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
        near(1.0 / known.rate(1029.0), 320.0 / 6.0, 1e-9);
        near(1.0 / known.rate(1060.0), 350.0 / 6.0, 1e-9);
        near(1.0 / known.rate(2000.0), 1290.0 / 6.0, 1e-9);
    }

    /// Only existing intervals have weights: (60 + 30) / 2, and with an open one of 100: (100 + 60) / 2.
    #[test]
    fn a_young_history_has_fewer_weights() {
        let known = history(false, &[30.0, 60.0]);
        near(1.0 / known.rate(1000.0), 45.0, 1e-9);
        near(1.0 / known.rate(1100.0), 80.0, 1e-9);
    }

    /// Section 5.5, by hand for intervals of 100. Up to 200 packets without a loss nothing changes. At 400,
    /// DF = 200 / 400 = 1/2: (400 + 1/2 x 500) / (1 + 1/2 x 5) = 185.7, against (400 + 500) / 6 = 150. From
    /// 800 on DF stays 1/4: (1600 + 125) / 2.25 = 766.7.
    #[test]
    fn a_long_open_interval_discounts_the_older_ones() {
        let (with, without) = (history(true, &[100.0; 8]), history(false, &[100.0; 8]));
        near(with.rate(1200.0), without.rate(1200.0), 1e-12);
        near(1.0 / with.rate(1400.0), 650.0 / 3.5, 1e-9);
        near(1.0 / without.rate(1400.0), 150.0, 1e-9);
        near(1.0 / with.rate(2600.0), 1725.0 / 2.25, 1e-9);
    }

    /// And the discount stays with them: closed at 400, the intervals are 400 with weight 1 and 100 with 1/2:
    /// (400 + 1/2 x (3 + .8 + .6 + .4 + .2) x 100) / (1 + 1/2 x 5) = 185.7.
    #[test]
    fn what_was_discounted_stays_so() {
        let mut known = history(true, &[100.0; 8]);
        known.close(1400.0);
        near(1.0 / known.rate(1400.0), 650.0 / 3.5, 1e-9);
    }
}
