//! A player of adaptive video: the choice of bitrates by the level of its buffer.
//!
//! BBA-0 of Huang, Johari, McKeown, Trunnell and Watson, "A Buffer-Based Approach to Rate Adaptation:
//! Evidence from a Large Video Streaming Service", SIGCOMM 2014, section 4.1 and algorithm 1, from knowledge
//! of the paper. Segments hold a fixed time of video and have exactly their bitrate. One is fetched at a
//! time, and none while the buffer has no room for it: then the connection is silent.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};
use serde::Serialize;

/// A video and its player.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoPlan {
    /// How much video a segment holds.
    pub segment: Span,
    /// Bitrates in bits per second, least first; at least one.
    pub ladder: Arc<[u64]>,
    /// Most video that is kept.
    pub buffer: Span,
    /// At this level or below it the least bitrate is chosen.
    pub reservoir: Span,
    /// From the reservoir up, the length of the way to the largest bitrate.
    pub cushion: Span,
    /// The level from which it plays, at first and after a stall.
    pub startup: Span,
    /// Segments of the video; [`u64::MAX`] if it has no end.
    pub segments: u64,
}

impl VideoPlan {
    /// The rung of the ladder for the next segment: BBA-0, algorithm 1. `before` is that of the last one,
    /// `level` that of the buffer.
    pub(crate) fn choose(&self, before: usize, level: Span) -> usize {
        let last = self.ladder.len() - 1;
        if level <= self.reservoir {
            return 0;
        }
        if level >= self.reservoir + self.cushion {
            return last;
        }
        let (least, most) = (self.ladder[0] as f64, self.ladder[last] as f64);
        // The map from the level to a rate: a straight line over the cushion.
        let rate = least + (most - least) * (level.0 - self.reservoir.0) as f64 / self.cushion.0 as f64;
        let (above, below) = (self.ladder[last.min(before + 1)], self.ladder[before.saturating_sub(1)]);
        if rate >= above as f64 {
            self.ladder.iter().rposition(|&rung| (rung as f64) < rate).unwrap_or(0)
        } else if rate <= below as f64 {
            self.ladder.iter().position(|&rung| rung as f64 > rate).unwrap_or(last)
        } else {
            before
        }
    }

    /// Payload bytes of a segment.
    pub(crate) fn bytes(&self, rung: usize) -> u64 {
        (u128::from(self.ladder[rung]) * u128::from(self.segment.0)).div_ceil(8_000_000_000).max(1) as u64
    }
}

/// How a video was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Playback {
    /// Mean bitrate of the segments received, bits per second.
    pub bitrate_bps: Option<f64>,
    /// Seconds from the first request until it played.
    pub startup_s: Option<f64>,
    /// Seconds of video played.
    pub played_s: f64,
    /// How often the buffer ran empty.
    pub stalls: u64,
    /// Seconds that it stood still after it had begun to play.
    pub stalled_s: f64,
    /// How often the bitrate differs from that of the segment before.
    pub switches: u64,
}

/// A player that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    plan: Arc<VideoPlan>,
    /// The rungs of the segments asked for.
    asked: Vec<u32>,
    received: u64,
    /// Video in the buffer at `at`.
    level: Span,
    at: Time,
    /// When the first segment was asked for, and when it first played.
    begun: Option<Time>,
    started: Option<Time>,
    plays: bool,
    stalls: u64,
    stalled: Span,
    played: Span,
    /// When the viewer leaves.
    left: Option<Time>,
}

impl Player {
    /// The player of this video.
    pub(crate) fn new(plan: &Arc<VideoPlan>) -> Self {
        Self {
            plan: plan.clone(),
            asked: Vec::new(),
            received: 0,
            level: Span::ZERO,
            at: Time(0),
            begun: None,
            started: None,
            plays: false,
            stalls: 0,
            stalled: Span::ZERO,
            played: Span::ZERO,
            left: None,
        }
    }

    /// It asks for its first segment at `now`. Gives its bytes.
    pub(crate) fn begin(&mut self, now: Time) -> u64 {
        (self.begun, self.at) = (Some(now), now);
        self.ask(0)
    }

    /// A segment is complete at `now`. Gives the time of the next request and the bytes that it asks
    /// for, if the video goes on.
    pub(crate) fn on_segment(&mut self, now: Time) -> Option<(Time, u64)> {
        self.play_until(now);
        self.received += 1;
        self.level += self.plan.segment;
        if !self.plays && (self.level >= self.plan.startup || self.has_all()) {
            self.plays = true;
            self.started = self.started.or(Some(now));
        }
        if self.has_all() {
            return None;
        }
        // It waits until there is room, and then has so much less.
        let full = self.level + self.plan.segment;
        let wait = Span(full.0.saturating_sub(self.plan.buffer.0));
        let before = self.asked.last().map_or(0, |rung| *rung as usize);
        let rung = self.plan.choose(before, Span(self.level.0.saturating_sub(wait.0)));
        Some((now + wait, self.ask(rung)))
    }

    /// The viewer leaves at `now`.
    pub(crate) fn leave(&mut self, now: Time) {
        self.left = self.left.or(Some(now));
    }

    /// How it was seen until `end`, or until the viewer left.
    pub(crate) fn playback(&self, end: Time) -> Playback {
        let mut seen = self.clone();
        seen.play_until(self.left.map_or(end, |left| left.min(end)));
        let received = &self.asked[..self.asked.len().min(self.received as usize)];
        let sum: f64 = received.iter().map(|&rung| self.plan.ladder[rung as usize] as f64).sum();
        Playback {
            bitrate_bps: (!received.is_empty()).then(|| sum / received.len() as f64),
            startup_s: self.started.zip(self.begun).map(|(started, begun)| started.since(begun).secs()),
            played_s: seen.played.secs(),
            stalls: seen.stalls,
            stalled_s: seen.stalled.secs(),
            switches: received.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64,
        }
    }

    fn ask(&mut self, rung: usize) -> u64 {
        self.asked.push(rung as u32);
        self.plan.bytes(rung)
    }

    fn has_all(&self) -> bool {
        self.received >= self.plan.segments
    }

    /// Lets the time pass until `now`, or until the viewer left.
    fn play_until(&mut self, now: Time) {
        let now = self.left.map_or(now, |left| left.min(now)).max(self.at);
        let passed = now.since(self.at);
        self.at = now;
        if !self.plays {
            if self.started.is_some() {
                self.stalled += passed;
            }
            return;
        }
        let plays = passed.min(self.level);
        self.level = Span(self.level.0 - plays.0);
        self.played += plays;
        if passed > plays {
            self.plays = false;
            let rest = Span(passed.0 - plays.0);
            if self.has_all() {
                // The end of the video is no stall.
                self.left = Some(Time(now.0 - rest.0));
            } else {
                self.stalls += 1;
                self.stalled += rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn plan() -> VideoPlan {
        VideoPlan {
            segment: Span(4 * S),
            ladder: [1_000_000, 2_000_000, 3_000_000, 5_000_000].into(),
            buffer: Span(240 * S),
            reservoir: Span(90 * S),
            cushion: Span(126 * S),
            startup: Span(4 * S),
            segments: u64::MAX,
        }
    }

    /// By hand: the line goes from 1 Mbit/s at 90 s to 5 Mbit/s at 216 s, 1/31.5 Mbit/s a second. It is at
    /// 2 Mbit/s from 121.5 s on, and at 3 Mbit/s from 153 s on.
    #[test]
    fn the_bitrate_follows_the_buffer_as_algorithm_1_says() {
        let plan = plan();
        let chosen = |before, at: f64| plan.choose(before, Span((at * 1e9) as u64));
        assert_eq!((chosen(3, 90.0), chosen(0, 216.0)), (0, 3));
        // Up only when the line has come to the next rung, and then below the line.
        assert_eq!((chosen(0, 121.0), chosen(0, 122.0), chosen(0, 160.0)), (0, 1, 2));
        // Down only when the line has come to the rung below, and then above the line.
        assert_eq!((chosen(2, 122.0), chosen(2, 121.0), chosen(3, 100.0)), (2, 1, 1));
        assert_eq!((plan.bytes(0), plan.bytes(3)), (500_000, 2_500_000));
    }

    /// Segments of 4 s come at 1, 3 and 12 s. The video plays from 1 s to 9 s and stalls for 3 s. The viewer
    /// leaves at 14 s.
    #[test]
    fn stalls_are_counted_and_timed() {
        let mut player = Player::new(&Arc::new(plan()));
        assert_eq!(player.begin(Time(0)), 500_000);
        for at in [1, 3, 12] {
            assert_eq!(player.on_segment(Time(at * S)), Some((Time(at * S), 500_000)));
        }
        player.leave(Time(14 * S));
        let seen = player.playback(Time(100 * S));
        let wanted = Playback {
            bitrate_bps: Some(1e6),
            startup_s: Some(1.0),
            played_s: 10.0,
            stalls: 1,
            stalled_s: 3.0,
            switches: 0,
        };
        assert_eq!(seen, wanted);
    }

    /// With room for three segments the fourth waits until 4 s have played. The end of the video is no stall.
    #[test]
    fn a_full_buffer_is_a_pause() {
        let short = VideoPlan { buffer: Span(12 * S), segments: 4, ..plan() };
        let mut player = Player::new(&Arc::new(short));
        player.begin(Time(0));
        let mut next = Vec::new();
        for tenths in [1, 2, 3] {
            next.push(player.on_segment(Time(tenths * S / 10)).map(|(at, _)| at.0));
        }
        // At 0.3 s it has 12 s less the 0.2 s that it has played.
        assert_eq!(next, [Some(S / 10), Some(S / 5), Some(S / 10 + 4 * S)]);
        assert_eq!(player.on_segment(Time(5 * S)), None);
        let seen = player.playback(Time(60 * S));
        assert_eq!((seen.played_s, seen.stalls, seen.stalled_s), (16.0, 0, 0.0));
    }
}
