//! An algorithm by name and parameters, as quinn's `ControllerFactory`.

use bentpipe_cc::registry::{self, Entry, Error, Value};
use bentpipe_cc::{Controller, Start};

/// An algorithm of the registry with its parameters, checked. quinn builds a
/// controller from it for each path.
///
/// ```
/// use bentpipe_quic::Algorithm;
///
/// let star = Algorithm::new("star", &[]).expect("registered");
/// let mut transport = quinn_proto::TransportConfig::default();
/// transport.congestion_controller_factory(std::sync::Arc::new(star));
/// assert!(Algorithm::new("rono", &[]).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Algorithm {
    entry: &'static Entry,
    given: Vec<(String, Value)>,
    initial_window: f64,
}

impl Algorithm {
    /// The algorithm `id` of [`registry`] with the given parameters; those not given take their
    /// defaults, or what [`registry::on_real_hosts`] has instead. The initial window is ten
    /// datagrams (RFC 9002 section 7.2).
    ///
    /// # Errors
    /// As for [`registry::build`].
    pub fn new(id: &str, given: &[(String, Value)]) -> Result<Self, Error> {
        let entry = registry::find(id).ok_or_else(|| Error::UnknownAlgorithm { id: id.to_owned() })?;
        let given = registry::with(given, registry::on_real_hosts(id));
        let new = Self { entry, given, initial_window: 10.0 };
        registry::build(id, &new.given, new.start(1200))?;
        Ok(new)
    }

    /// The same with another initial window, in datagrams; at least one.
    #[must_use]
    pub fn initial_window(self, datagrams: f64) -> Self {
        Self { initial_window: datagrams.max(1.0), ..self }
    }

    /// Its entry in the registry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// How a connection with datagrams of `mtu` bytes starts.
    pub(crate) fn start(&self, mtu: u16) -> Start {
        Start {
            mss: u32::from(mtu.max(1)),
            initial_window: self.initial_window,
            initial_ssthresh: f64::INFINITY,
        }
    }

    /// A fresh controller.
    pub(crate) fn controller(&self, start: Start) -> Box<dyn Controller> {
        registry::build(self.entry.id, &self.given, start).expect("`new` has built it before")
    }
}
