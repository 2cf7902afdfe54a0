//! Adaptive video: a player that fetches segments. The player at work is in `player.rs`.

use std::sync::Arc;

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{BitRate, Duration, Size};
use crate::workload::application::ApplicationPlan;
use crate::workload::client::{ClientPlan, HTTP_REQUEST};
use crate::workload::context::TrafficContext;
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::player::VideoPlan;

/// Most segments that a player keeps.
const MOST_SEGMENTS: u64 = 1_000_000;

/// The bitrates that Netflix had before 2015, in kbit/s ("Per-Title Encode Optimization", Netflix technology
/// blog, 2015; from knowledge).
const LADDER_KBPS: [u64; 10] = [235, 375, 560, 750, 1_050, 1_750, 2_350, 3_000, 4_300, 5_800];

keys! {
    /// A player of adaptive video that chooses the bitrate of each segment by the level of its buffer
    /// (BBA-0). It is silent while the buffer is full. `path` is that of the video. The result has a row for
    /// each way, NAME/requests and NAME/responses; the transfers of the latter are the segments, and its
    /// columns `video_...` say how the video was seen.
    pub struct Video {
        /// The bitrates. Default: 235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300 and 5800 kbit/s.
        #[schemars(extend("examples" = [["1 Mbit/s", "3 Mbit/s", "8 Mbit/s"]]))]
        pub ladder?: Vec<BitRate>,
        /// How much video a segment holds. Default "4 s".
        pub segment?: Duration,
        /// Most video that is kept. Default "240 s".
        pub buffer?: Duration,
        /// The level up to which the least bitrate is chosen. Default: 3/8 of the buffer.
        pub reservoir?: Duration,
        /// How far above that the largest one is chosen, with a straight line between.
        /// Default: 21/40 of the buffer.
        pub cushion?: Duration,
        /// The level from which it plays, at first and after a stall. Default: one segment.
        pub startup?: Duration,
        /// How much video there is, rounded up to whole segments. Default: no end.
        pub length?: Duration,
        /// Payload of a request, rounded up to whole segments if it needs several. Default "350 bytes".
        pub request?: Size,
    }
}

impl TrafficKeys for Video {
    const CARRIAGE: Carriage = Carriage::Dialogue;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        let request = context.request(self.request, HTTP_REQUEST)?;
        let clients = vec![ClientPlan::Player(Arc::new(self.video(context)?))];
        let server = ApplicationPlan::Server { sizes: None, what: "segment" };
        Ok(TrafficPlan::Dialogue { request, clients, server })
    }
}

impl Video {
    /// The parts of the buffer are those of BBA-0: of 240 s, 90 s are the reservoir and 126 s the cushion.
    fn video(&self, context: &TrafficContext<'_>) -> Result<VideoPlan, Error> {
        let ladder: Vec<u64> = match &self.ladder {
            None => LADDER_KBPS.map(|kbps| 1_000 * kbps).into(),
            Some(rates) => rates.iter().map(|BitRate(rate)| *rate).collect(),
        };
        if ladder.is_empty() || ladder[0] == 0 || ladder.windows(2).any(|pair| pair[0] >= pair[1]) {
            let message = "needs bitrates above zero, each larger than the one before; write e.g. [\"1 Mbit/s\", \"3 Mbit/s\"]";
            return Err(context.error("ladder", message));
        }
        for (i, rate) in ladder.iter().enumerate() {
            BitRate(*rate).of_link().map_err(|message| context.error_at("ladder", i, message))?;
        }
        let segment = self.segment.map_or(Span::from_secs(4.0), |d| d.0);
        if segment == Span::ZERO {
            return Err(context.error("segment", "must be longer than zero; write e.g. \"4 s\""));
        }
        let buffer = self.buffer.map_or(Span::from_secs(240.0), |d| d.0);
        Duration(buffer).of_delay().map_err(|message| context.error("buffer", message))?;
        if buffer < segment || buffer.0 / segment.0 > MOST_SEGMENTS {
            let message = format!(
                "{} must have room for one segment of {} and for at most {MOST_SEGMENTS}",
                Duration(buffer),
                Duration(segment)
            );
            return Err(context.error("buffer", message));
        }
        let startup = self.startup.map_or(segment, |d| d.0);
        if startup > buffer {
            let message = format!("must be at most buffer = {}", Duration(buffer));
            return Err(context.error("startup", message));
        }
        let part = |given: Option<Duration>, of_40: u64| given.map_or(Span(buffer.0 / 40 * of_40), |d| d.0);
        Ok(VideoPlan {
            segment,
            ladder: ladder.into(),
            buffer,
            reservoir: part(self.reservoir, 15),
            cushion: part(self.cushion, 21),
            startup,
            segments: self.length.map_or(u64::MAX, |d| d.0.0.div_ceil(segment.0).max(1)),
        })
    }
}
