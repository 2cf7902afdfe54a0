//! The constellation of a scenario, and its ports.

use std::sync::Arc;

use bentpipe_cc::Span;
use serde_json::json;

use crate::constellation::{Constellation, NetworkPlan, Rules, constellation};
use crate::keys::error::{Error, Key};
use crate::keys::units::{BitRate, QueueRoom, QueueSize};
use crate::queue::{Context, DropTail, Queue};
use crate::resolve::links::DEFAULT_WIRE;
use crate::resolve::path::PathPlan;
use crate::resolve::plan::DirectionPlan;
use crate::resolve::work::Work;
use crate::scenario::{NetworkKeys, PortKeys};

/// The queue of a port that is given none (Hypatia).
const PACKETS: u64 = 100;

/// The constellation of the scenario, if it has one.
pub(super) fn of_scenario(work: &mut Work<'_>) -> Result<Option<Arc<Constellation>>, Error> {
    let scenario = work.scenario;
    let Some(network) = &scenario.network else { return Ok(None) };
    let key = Key::of(["network"]);
    let given = [
        ("shell", !network.shell.is_empty()),
        ("tle", !network.tle.is_empty()),
        ("hypatia", network.hypatia.is_some()),
    ];
    let mut given = given.into_iter().filter(|(_, given)| *given);
    match (given.next(), given.next()) {
        (None, _) => {
            let message = "there are no satellites; add e.g. shell = \"starlink-s1\", or tle = \"FILE\"";
            return Err(work.error(&key, message));
        }
        (Some((one, _)), Some((other, _))) => {
            let message = format!("{one} already gives the satellites; leave out one of {one} and {other}");
            return Err(work.error(&key.with(other), message));
        }
        (Some(_), None) => {}
    }
    if network.update.is_some_and(|update| update.0 == Span::ZERO) {
        return Err(work.error(&key.with("update"), "must be longer than zero; write e.g. \"1 s\""));
    }
    if scenario.record.as_ref().is_some_and(|record| record.segments) {
        let message = "segments are not recorded in a constellation; leave this out";
        return Err(work.error(&Key::of(["record", "segments"]), message));
    }
    let duration = scenario.duration.0;
    // Rates and queues change nothing of what orbits give: runs that differ in them share it.
    let mut keys = serde_json::to_value(network).unwrap_or_default();
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, _| !matches!(key.as_str(), "gsl" | "down" | "decide" | "handover"));
        keys.insert("isl".to_owned(), network.isl.is_some().into());
    }
    let request = json!({
        "network": keys,
        "station": scenario.station,
        "duration_s": duration.secs(),
    });
    let made =
        constellation(&request.to_string(), duration.0).map_err(|message| work.error(&key, message))?;
    work.warnings.extend(made.warnings.iter().cloned());
    Ok(Some(made))
}

/// The ports of a constellation that these paths cross.
pub(super) fn plan(
    work: &mut Work<'_>,
    constellation: Arc<Constellation>,
    paths: &[PathPlan],
) -> Result<Arc<NetworkPlan>, Error> {
    let crossing = || paths.iter().filter(|path| path.pairs.is_some());
    let around = Around {
        rtt: crossing().map(|path| path.base_rtt).max().unwrap_or(Span::ZERO),
        wire: crossing().map(|path| path.wire).max().unwrap_or(DEFAULT_WIRE),
    };
    let [laser, up, down] = match &work.scenario.network {
        Some(NetworkKeys { isl, gsl, down, .. }) => {
            let down = down.as_ref().map_or(("gsl", gsl), |down| ("down", down));
            let lasers = isl.as_ref().map_or(("gsl", gsl), |isl| ("isl", isl)); // without `isl` there are no lasers
            [lasers, ("gsl", gsl), down].map(|(name, keys)| port(work, keys, name, &around))
        }
        None => return Err(work.error(&Key::of(["network"]), "is missing")),
    };
    Ok(Arc::new(NetworkPlan::new(constellation, [laser?, up?, down?], rules(work))))
}

/// What becomes of packets where tables change.
fn rules(work: &Work<'_>) -> Rules {
    let keys = work.scenario.network.as_ref();
    let handover = keys.and_then(|keys| keys.handover).unwrap_or_default();
    Rules {
        in_flight: handover.in_flight,
        queue: handover.queue,
        outage: handover.outage.map_or(Span::ZERO, |outage| outage.0),
        decide: keys.and_then(|keys| keys.decide).unwrap_or_default(),
    }
}

/// The numbers by which the queue of a port is resolved.
struct Around {
    /// Longest base round-trip time of the flows.
    rtt: Span,
    /// Their largest packet, bytes.
    wire: u32,
}

fn port(work: &mut Work<'_>, keys: &PortKeys, name: &str, around: &Around) -> Result<DirectionPlan, Error> {
    let key = Key::of(["network", name]);
    let rate = work.rate(keys.rate, &key.with("rate"))?;
    let loss = work.losses(&keys.loss, &key.with("loss"))?;
    let default = Queue::DropTail(DropTail { limit: QueueRoom::Size(QueueSize::Packets(PACKETS)) });
    let queue_key = key.with("queue");
    let mut context = Context {
        link: name,
        rate: BitRate(rate),
        nominal: BitRate(rate),
        line: None,
        rtt: around.rtt,
        wire: around.wire,
        guessed: false,
        duration: work.scenario.duration.0,
        key: &queue_key,
        origin: &work.scenario.origin,
        warnings: &mut work.warnings,
    };
    let (limit, discipline) = keys.queue.as_ref().unwrap_or(&default).resolve(&mut context)?;
    Ok(DirectionPlan { discipline, loss, ..DirectionPlan::plain(rate, Span::ZERO, limit) })
}
