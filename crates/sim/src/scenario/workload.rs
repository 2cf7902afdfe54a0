//! The keys of traffic: what an application sends and when, with sizes of transfers and lengths of time, fixed or random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::units::{BitRate, Duration, Size};

/// What a flow sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// As much as TCP carries.
    Bulk {
        /// Payload to transfer; without it, there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Size>,
    },
    /// Packets at a constant rate, without TCP, that answer to nothing.
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
    /// take the way of acknowledgements.
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
pub enum SizeLaw {
    /// Exponential.
    Exponential {
        /// Mean.
        #[schemars(extend("examples" = ["100 kB"]))]
        mean: Size,
    },
    /// Pareto: many small ones, and few that hold most of the bytes.
    Pareto {
        /// The smallest size.
        #[schemars(extend("examples" = ["10 kB"]))]
        least: Size,
        /// Tail index. Below 2 the variance has no bound, and up to 1 nor has the mean.
        #[schemars(range(min = 0.1, max = 100.0), extend("examples" = [1.2]))]
        shape: f64,
        /// The largest size: a bounded Pareto law. Default: no bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Size>,
    },
    /// Log-normal: the logarithm is normal.
    LogNormal {
        /// Median.
        #[schemars(extend("examples" = ["10 kB"]))]
        median: Size,
        /// Standard deviation of the natural logarithm.
        #[schemars(range(min = 0.0, max = 10.0), extend("examples" = [1.5]))]
        sigma: f64,
    },
    /// One of these sizes.
    List {
        /// The sizes.
        #[schemars(extend("examples" = [["1 kB", "10 kB", "1 MB"]]))]
        sizes: Vec<Size>,
        /// How often each is drawn, in proportion. Default: equally often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
    },
    /// One of the sizes in a file, equally often.
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
pub enum LengthLaw {
    /// Exponential.
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
    /// The name of the file with the sizes of its transfers, to be changed.
    pub(crate) fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            Traffic::ShortFlows { size, .. }
            | Traffic::OnOff { size: Some(size), .. }
            | Traffic::Requests { response: size, .. } => size.file_mut(),
            Traffic::OnOff { size: None, .. } | Traffic::Bulk { .. } | Traffic::Cbr { .. } => None,
        }
    }
}
