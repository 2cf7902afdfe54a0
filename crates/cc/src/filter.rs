//! Windowed minimum of a measured time.

use crate::time::{Span, Time};

/// The smallest value of the last `window`, exact to half a window. Two halves are stored, and the older one
/// is dropped when it is over. A window of `Span::MAX` never forgets.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMin {
    window: Span,
    began: Time,
    older: Option<Span>,
    newer: Option<Span>,
}

impl WindowedMin {
    /// A filter over `window`.
    pub fn new(window: Span) -> Self {
        Self { window, began: Time::default(), older: None, newer: None }
    }

    /// Takes a value measured at `now`.
    pub fn add(&mut self, now: Time, value: Span) {
        if self.newer.is_none() && self.older.is_none() {
            self.began = now;
        } else if self.window != Span::MAX {
            let age = now.since(self.began);
            if age >= self.window {
                (self.older, self.newer, self.began) = (None, None, now);
            } else if age.0 >= self.window.0 / 2 {
                (self.older, self.newer, self.began) = (self.newer, None, now);
            }
        }
        self.newer = Some(self.newer.map_or(value, |old| old.min(value)));
    }

    /// The minimum; `None` before the first value.
    pub fn get(&self) -> Option<Span> {
        match (self.older, self.newer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Forgets every value.
    pub fn clear(&mut self) {
        *self = Self::new(self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::WindowedMin;
    use crate::time::{Span, Time};

    #[test]
    fn forgets_between_half_a_window_and_a_window_later() {
        let mut min = WindowedMin::new(Span(100));
        assert_eq!(min.get(), None);
        for (now, value, expected) in [
            (0, 10, 10),
            (40, 20, 10),
            (60, 30, 10), // the 10 is in the older half now
            (90, 30, 10),
            (115, 30, 30), // and here it is gone
            (300, 50, 50), // a gap of more than a window forgets everything
        ] {
            min.add(Time(now), Span(value));
            assert_eq!(min.get(), Some(Span(expected)), "at {now}");
        }
    }

    #[test]
    fn an_endless_window_never_forgets() {
        let mut min = WindowedMin::new(Span::MAX);
        min.add(Time(0), Span(10));
        min.add(Time(u64::MAX), Span(20));
        assert_eq!(min.get(), Some(Span(10)));
        min.clear();
        assert_eq!(min.get(), None);
    }
}
