//! The keys of traffic: what an application sends and when, with sizes of transfers and lengths of time, fixed or random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::order::in_order;
use crate::scenario::units::{BitRate, Duration, Size};

/// What a flow sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = in_order::<Traffic>)]
pub enum Traffic {
    /// A transfer that always has data to send: without end, or `size` of it.
    Bulk {
        /// Payload to transfer; without it, there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Size>,
    },
    /// Unresponsive traffic at a constant bit rate, without TCP.
    Cbr {
        /// Bits per second on the wire while on.
        #[schemars(extend("examples" = ["1 Mbit/s"]))]
        rate: BitRate,
        /// Size of each packet on the wire. Default "1000 bytes".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packet: Option<Size>,
        /// Length of a period of sending; without it, there is no pause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<Duration>,
        /// Length of the pause after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        off: Option<Duration>,
    },
    /// A new connection for each transfer, at the instants of a Poisson process. The result has one row for all.
    ShortFlows {
        /// Connections a second on average. Either this or `load`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1e-6, max = 1e9), extend("examples" = [2.0]))]
        per_second: Option<f64>,
        /// Payload offered, as a part of the rate of the slowest link of the path (at the start, if it changes). Either this or
        /// `per_second`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1e-6, max = 100.0), extend("examples" = [0.3]))]
        load: Option<f64>,
        /// Payload of each connection.
        #[schemars(extend("x-hint" = "add e.g. size = \"100 kB\" or size = { kind = \"exponential\", mean = \"100 kB\" }"))]
        size: TransferSize,
    },
    /// One connection on which an application sends, is silent, and so on.
    OnOff {
        /// For how long it sends as much as TCP carries. Either this or `size`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<Length>,
        /// How much it sends at once, rounded up to whole segments. It is silent from the last acknowledgement on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<TransferSize>,
        /// For how long it is silent.
        #[schemars(extend("x-hint" = "add e.g. off = \"5 s\" or off = { kind = \"exponential\", mean = \"5 s\" }"))]
        off: Length,
    },
    /// One connection on which a client asks and a server answers, one request at a time. `path` is that of the responses; requests
    /// take the way of acknowledgements. The result has a row for each way, NAME/requests and NAME/responses.
    Requests {
        /// Payload of a request, rounded up to whole segments if it needs several. Default "100 bytes".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Size>,
        /// Payload of a response. Several segments are all full ones.
        #[schemars(extend("x-hint" = "add e.g. response = \"10 kB\" or response = { kind = \"exponential\", mean = \"10 kB\" }"))]
        response: TransferSize,
        /// From the end of a response to the next request. Either this or `every`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        think: Option<Length>,
        /// From one request to the next; a request waits for the response before. Either this or `think`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Duration>,
    },
    /// A browser that loads page after page: a main object and, when that is parsed, its embedded objects. Without keys it is the
    /// model of 3GPP2 C.R1002. `path` is that of the responses. The result has a row for each way, NAME/requests and NAME/responses;
    /// the transfers of the latter are the pages.
    Web {
        /// Payload of a main object. Default: log-normal, median "4230 bytes", sigma 1.37, from "100 bytes" to "2 MB".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        main: Option<TransferSize>,
        /// Number of embedded objects. Default: pareto-count, least 2, shape 1.1, most 55: 5.6 on average.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        objects: Option<ObjectCount>,
        /// Payload of an embedded object. Default: log-normal, median "478 bytes", sigma 2.36, from "50 bytes" to "2 MB".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        embedded: Option<TransferSize>,
        /// From the end of the main object to the requests for the others. Default: exponential, mean "130 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parsing: Option<Length>,
        /// From the end of a page to the request for the next one. Default: exponential, mean "30 s".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<Length>,
        /// Most connections. With 1, the default, all embedded objects are asked for at once on the one connection (HTTP/2). With
        /// more, each carries one object at a time, and they stay open (HTTP/1.1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 32), extend("examples" = [6]))]
        connections: Option<u32>,
        /// Payload of a request, rounded up to whole segments if it needs several. Default "350 bytes".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Size>,
    },
    /// A player of adaptive video that chooses the bitrate of each segment by the level of its buffer (BBA-0). It is silent while
    /// the buffer is full. `path` is that of the video. The result has a row for each way, NAME/requests and NAME/responses; the
    /// transfers of the latter are the segments, and its columns `video_...` say how the video was seen.
    Video {
        /// The bitrates. Default: 235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300 and 5800 kbit/s.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = [["1 Mbit/s", "3 Mbit/s", "8 Mbit/s"]]))]
        ladder: Option<Vec<BitRate>>,
        /// How much video a segment holds. Default "4 s".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment: Option<Duration>,
        /// Most video that is kept. Default "240 s".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer: Option<Duration>,
        /// The level up to which the least bitrate is chosen. Default: 3/8 of the buffer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reservoir: Option<Duration>,
        /// How far above that the largest one is chosen, with a straight line between. Default: 21/40 of the buffer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cushion: Option<Duration>,
        /// The level from which it plays, at first and after a stall. Default: one segment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        startup: Option<Duration>,
        /// How much video there is, rounded up to whole segments. Default: no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<Duration>,
        /// Payload of a request, rounded up to whole segments if it needs several. Default "350 bytes".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Size>,
    },
}

/// How many objects a page has: one number, or a law by which it is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ObjectCount {
    /// Always so many.
    Fixed(u64),
    /// Random.
    Drawn(CountLaw),
}

/// A law of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = in_order::<CountLaw>)]
pub enum CountLaw {
    /// A Pareto law less its smallest value, so the smallest number is 0. All above the bound counts as the bound.
    ParetoCount {
        /// The smallest value of the law.
        #[schemars(range(min = 0.001, max = 1e6), extend("examples" = [2.0]))]
        least: f64,
        /// Tail index.
        #[schemars(range(min = 0.1, max = 100.0), extend("examples" = [1.1]))]
        shape: f64,
        /// The bound.
        #[schemars(range(min = 0.001, max = 1e6), extend("examples" = [55.0]))]
        most: f64,
    },
}

/// Payload of transfers: one size, or a law by which each is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum TransferSize {
    /// All alike.
    Fixed(Size),
    /// Random.
    Drawn(SizeLaw),
}

/// A law of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = in_order::<SizeLaw>)]
pub enum SizeLaw {
    /// Sizes of an exponential law.
    Exponential {
        /// Mean.
        #[schemars(extend("examples" = ["100 kB"]))]
        mean: Size,
    },
    /// Sizes of a Pareto law: many small ones, and few that hold most of the bytes.
    Pareto {
        /// The smallest size.
        #[schemars(extend("examples" = ["10 kB"]))]
        least: Size,
        /// Tail index. Below 2 the variance has no bound, and up to 1 nor has the mean, which is `least` * `shape` / (`shape` - 1) above.
        #[schemars(range(min = 0.1, max = 100.0), extend("examples" = [1.2]))]
        shape: f64,
        /// The largest size: a bounded Pareto law. Default: no bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Size>,
    },
    /// Sizes whose natural logarithm is normal.
    LogNormal {
        /// Median.
        #[schemars(extend("examples" = ["10 kB"]))]
        median: Size,
        /// Standard deviation of the natural logarithm.
        #[schemars(range(min = 0.0, max = 10.0), extend("examples" = [1.5]))]
        sigma: f64,
        /// The smallest size: what is drawn below is drawn again. Default: no bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        least: Option<Size>,
        /// The largest size: what is drawn above is drawn again. Default: no bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Size>,
    },
    /// One of these sizes, drawn in proportion to its weight.
    List {
        /// The sizes.
        #[schemars(extend("examples" = [["1 kB", "10 kB", "1 MB"]]))]
        sizes: Vec<Size>,
        /// How often each is drawn, in proportion. Default: equally often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
    },
    /// One of the sizes in a file, all equally often.
    File {
        /// Text file with one number of bytes per line; empty lines and what follows `#` are skipped. A relative name starts from the
        /// directory of the scenario file.
        file: String,
    },
}

/// Lengths of time: one, or a law by which each is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Length {
    /// All alike.
    Fixed(Duration),
    /// Random.
    Drawn(LengthLaw),
}

/// A law of lengths of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = in_order::<LengthLaw>)]
pub enum LengthLaw {
    /// Lengths of time of an exponential law.
    Exponential {
        /// Mean.
        #[schemars(extend("examples" = ["5 s"]))]
        mean: Duration,
    },
}

impl TransferSize {
    /// The name of the file with the sizes, to be changed.
    pub(crate) fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            TransferSize::Drawn(SizeLaw::File { file }) => Some(file),
            _ => None,
        }
    }
}

impl Traffic {
    /// The names of the files with the sizes of its transfers, to be changed.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let sizes = match self {
            Traffic::ShortFlows { size, .. }
            | Traffic::OnOff { size: Some(size), .. }
            | Traffic::Requests { response: size, .. } => [Some(size), None],
            Traffic::Web { main, embedded, .. } => [main.as_mut(), embedded.as_mut()],
            Traffic::OnOff { size: None, .. }
            | Traffic::Bulk { .. }
            | Traffic::Cbr { .. }
            | Traffic::Video { .. } => [None, None],
        };
        sizes.into_iter().flatten().filter_map(TransferSize::file_mut)
    }
}
