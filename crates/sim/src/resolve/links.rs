//! Links: propagation delays, rates, queues and losses.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};

use crate::orbit::geostationary::{Station, geo_look};
use crate::orbit::stations;
use crate::queue::{Context, Discipline, Queue, QueueLimit};
use crate::resolve::link_layer::{LinkLayerKeys, Surroundings};
use crate::resolve::path::PathPlan;
use crate::resolve::plan::{DirectionId, DirectionPlan, LinkLayerPlan, LinkPlan, LossPlan};
use crate::resolve::time_lines::Course;
use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key, quoted, quoted_name, suggestion};
use crate::scenario::units::{BitRate, Duration};
use crate::scenario::{Link, Loss, Satellite, Varying, file};

/// Largest trace file of losses, in bytes.
const MAX_TRACE: u64 = 256 << 20;
/// Packet size of a bandwidth-delay product on a link without flows, bytes.
const DEFAULT_WIRE: u32 = 1_500;

/// The numbers that make a bandwidth-delay product.
struct Share {
    /// Longest base round-trip time.
    rtt: Span,
    /// Largest packet, bytes.
    wire: u32,
    /// Some rate or delay of the paths changes, and nothing says which is nominal.
    guessed: bool,
}

impl Work<'_> {
    /// The delay of a link's forward direction as its keys give it; `None` if only a time line does.
    pub(super) fn delay(
        &mut self,
        name: &str,
        link: &Link,
        in_file: bool,
        key: &Key,
    ) -> Result<Option<Varying<Duration>>, Error> {
        match (&link.delay, &link.satellite) {
            (Some(delay), None) => {
                if let Some((end, _)) =
                    [("from", &link.from), ("to", &link.to)].iter().find(|(_, s)| s.is_some())
                {
                    let message = "a station has no use next to delay; leave it out, or write \
                        satellite instead of delay";
                    return Err(self.error(&key.with(end), message));
                }
                Ok(Some(delay.clone()))
            }
            (None, Some(satellite)) => {
                Ok(Some(Varying::Constant(Duration(self.hops(name, link, satellite, key)?))))
            }
            (Some(_), Some(_)) => {
                let message = "the satellite already gives the delay; leave out one of delay and satellite";
                Err(self.error(&key.with("delay"), message))
            }
            (None, None) if link.from.is_some() || link.to.is_some() => {
                let message = "is missing; stations need e.g. satellite = { geo = \"100E\" }";
                Err(self.error(&key.with("satellite"), message))
            }
            (None, None) if in_file => Ok(None),
            (None, None) => {
                let message = "is missing; add e.g. delay = \"250 ms\", or a timeline, or from, to and \
                    satellite = { geo = \"100E\" }";
                Err(self.error(&key.with("delay"), message))
            }
        }
    }

    /// Delay from station to satellite to station, or of one of the two hops.
    fn hops(&mut self, name: &str, link: &Link, satellite: &Satellite, key: &Key) -> Result<Span, Error> {
        if link.from.is_none() && link.to.is_none() {
            let message = "is missing; a satellite's link goes from a station, to a station, or \
                both: add e.g. from = \"beijing\"";
            return Err(self.error(&key.with("from"), message));
        }
        let lowest = satellite.min_elevation.unwrap_or(0.0);
        let mut total = Span::ZERO;
        for (end, station) in [("from", &link.from), ("to", &link.to)] {
            let Some(station) = station else { continue };
            let position = self.station(station, &key.with(end))?;
            let look = geo_look(&position, satellite.geo);
            let sees = format!(
                "station {station} sees the satellite at {} only at an elevation of {:.1} degrees",
                satellite.geo, look.elevation_deg
            );
            if look.elevation_deg < lowest {
                let message = match look.elevation_deg < 0.0 {
                    true => format!(
                        "{sees}, below the horizon; move one of them, or set \
                            satellite.min_elevation = {:.0} to go on with \
                         the straight-line delay",
                        libm::floor(look.elevation_deg)
                    ),
                    false => format!(
                        "{sees}, and satellite.min_elevation is {lowest}; move one of them or lower it"
                    ),
                };
                return Err(self.error(&key.with(end), message));
            }
            if look.elevation_deg < 0.0 {
                self.warnings.push(format!(
                    "link {name}: {sees}, below the horizon; its delay is that of a straight line \
                        through the Earth"
                ));
            }
            total += look.delay();
        }
        Ok(total)
    }

    fn station(&self, name: &str, key: &Key) -> Result<Station, Error> {
        let own = self.scenario.station.get(name).copied();
        own.or_else(|| stations::find(name).copied()).ok_or_else(|| {
            let names = self.scenario.station.keys().map(String::as_str);
            let names = names.chain(stations::STATIONS.iter().map(|(name, _)| *name));
            let message = format!("no station is called {}; {}", quoted(name), suggestion(name, names));
            self.error(key, format!("{message} (or define it: [station.{name}] with lat and lon)"))
        })
    }

    pub(super) fn links(&mut self, courses: &[Course], paths: &[PathPlan]) -> Result<Vec<LinkPlan>, Error> {
        let scenario = self.scenario;
        let mut links = Vec::with_capacity(scenario.link.len());
        for (index, (name, link)) in scenario.link.iter().enumerate() {
            let key = Key::of(["link", name]);
            let crossing: Vec<&PathPlan> =
                paths.iter().flat_map(PathPlan::parts).filter(|p| p.crosses(index)).collect();
            if crossing.is_empty() {
                self.warnings.push(format!("link {name}: no flow crosses it"));
            }
            let there_and_back = [DirectionId::forward(index), DirectionId::forward(index).opposite()];
            let [course, course_back] = there_and_back.map(|direction| &courses[direction.index()]);
            let guessed = |direction: &DirectionId| courses[direction.index()].guessed;
            let mut crossed = crossing.iter().flat_map(|path| path.there.iter().chain(&path.back));
            let share = Share {
                rtt: crossing.iter().map(|p| p.base_rtt).max().unwrap_or(course.delay + course_back.delay),
                wire: crossing.iter().map(|p| p.wire).max().unwrap_or(DEFAULT_WIRE),
                guessed: crossed.any(guessed) || there_and_back.iter().any(guessed),
            };
            let there = link.queue.as_ref();
            let queue_key = key.with("queue");
            let (queue, discipline) = self.queue(name, there, course.rate, &share, &queue_key)?;
            let round_trip = course.delay + course_back.delay;
            let keys = LinkLayerKeys {
                access: link.access.as_ref(),
                opportunities: link.opportunities.as_deref(),
                arq: link.arq,
                ack_thinning: link.ack_thinning,
            };
            let mut forward = self.direction(course, queue, discipline, &link.loss, &key)?;
            self.add_link_layer(&mut forward, &keys, &Surroundings { link: name, round_trip, key: &key })?;
            let back = link.reverse.clone().unwrap_or_default();
            let key = key.with("reverse");
            let queue_key = if back.queue.is_some() { key.with("queue") } else { queue_key };
            let name_back = format!("{name}, reverse");
            let queue = back.queue.as_ref().or(there);
            let (queue, discipline) = self.queue(&name_back, queue, course_back.rate, &share, &queue_key)?;
            let keys = LinkLayerKeys {
                access: back.access.as_ref(),
                opportunities: back.opportunities.as_deref(),
                arq: back.arq,
                ack_thinning: back.ack_thinning,
            };
            let mut reverse = self.direction(course_back, queue, discipline, &back.loss, &key)?;
            self.add_link_layer(
                &mut reverse,
                &keys,
                &Surroundings { link: &name_back, round_trip, key: &key },
            )?;
            for (name, direction) in [(name, &forward), (&name_back, &reverse)] {
                let packets =
                    direction.loss.iter().any(|l| matches!(l, LossPlan::PacketError { rate } if *rate > 0.0));
                let bits =
                    direction.loss.iter().any(|l| matches!(l, LossPlan::BitError { rate } if *rate > 0.0));
                if packets && bits {
                    let text = "it has both bit errors and packet errors, and they add up; leave one out if they are the same losses";
                    self.warnings.push(format!("link {name}: {text}"));
                }
            }
            links.push(LinkPlan { name: name.clone(), forward, reverse });
        }
        Ok(links)
    }

    /// A direction of this course, with this queue; `key` is its place in the scenario.
    fn direction(
        &self,
        course: &Course,
        queue: QueueLimit,
        discipline: Discipline,
        losses: &[Loss],
        key: &Key,
    ) -> Result<DirectionPlan, Error> {
        let (rate_bps, delay, line) = (course.rate.0, course.delay, course.line.clone());
        let key = key.with("loss");
        let mut loss = self.losses(losses, &key)?;
        if let Some(line) = line.as_ref().filter(|line| line.sets_loss) {
            let now = line.steps()[0].loss_rate;
            match &mut loss[..] {
                [] => loss.push(LossPlan::PacketError { rate: now }),
                [LossPlan::PacketError { rate } | LossPlan::BitError { rate }] => *rate = now,
                _ => {
                    let message = "the time line sets a loss rate, which is that of one packet-error or bit-error; \
                        leave out other losses, or the column loss_rate";
                    return Err(self.error(&key, message));
                }
            }
        }
        let link_layer = LinkLayerPlan::default();
        Ok(DirectionPlan { rate_bps, delay, queue, discipline, loss, line, link_layer })
    }

    /// The room and the discipline of the queue of one direction called `link`; `key` is its place in the scenario.
    fn queue(
        &mut self,
        link: &str,
        queue: Option<&Queue>,
        rate: BitRate,
        share: &Share,
        key: &Key,
    ) -> Result<(QueueLimit, Discipline), Error> {
        let Share { rtt, wire, guessed } = *share;
        let (duration, origin) = (self.scenario.duration.0, &self.scenario.origin);
        let warnings = &mut self.warnings;
        let mut context = Context { link, rate, rtt, wire, guessed, duration, key, origin, warnings };
        queue.unwrap_or(&Queue::default()).resolve(&mut context)
    }

    fn losses(&self, losses: &[Loss], key: &Key) -> Result<Vec<LossPlan>, Error> {
        let numbered = losses.iter().enumerate();
        numbered
            .map(|(i, loss)| {
                // A single table stands at the key itself, items of a list below it.
                let item = key.with(i);
                let listed = losses.len() > 1 || self.scenario.origin.lines.contains_key(&item);
                self.loss(loss, if listed { &item } else { key })
            })
            .collect()
    }

    fn loss(&self, loss: &Loss, key: &Key) -> Result<LossPlan, Error> {
        match *loss {
            Loss::PacketError { rate } => Ok(LossPlan::PacketError { rate }),
            Loss::BitError { rate } => Ok(LossPlan::BitError { rate }),
            Loss::GilbertElliott { p, r, good_loss, bad_loss } => {
                Ok(LossPlan::GilbertElliott { p, r, good_loss, bad_loss })
            }
            Loss::Outage { from, to, every, length, first } => {
                let given = [from, to, every, length, first].map(|d| d.map(|d| d.0));
                outage(given).map_err(|(name, message)| self.error(&key.with(name), message))
            }
            Loss::Trace { ref file } => {
                let lost = trace(file).map_err(|message| self.error(&key.with("file"), message))?;
                Ok(LossPlan::Trace { lost })
            }
        }
    }
}

fn outage(given: [Option<Span>; 5]) -> Result<LossPlan, (&'static str, String)> {
    let wrong = |key, message: &str| Err((key, message.to_owned()));
    match given {
        [Some(from), Some(to), None, None, None] if from < to => {
            Ok(LossPlan::Outage { first: Time(from.0), length: Span(to.0 - from.0), every: None })
        }
        [Some(from), Some(_), None, None, None] => {
            wrong("to", &format!("an outage ends after it starts; it must be later than {}", Duration(from)))
        }
        [None, None, Some(every), Some(length), first] => {
            if length == Span::ZERO {
                return wrong("length", "an outage takes longer than zero; write e.g. \"2 s\"");
            }
            if length >= every {
                return wrong(
                    "length",
                    &format!("an outage must be shorter than every = {}", Duration(every)),
                );
            }
            let first = first.unwrap_or(every);
            Ok(LossPlan::Outage { first: Time(first.0), length, every: Some(every) })
        }
        [None, None, None, None, None] => {
            wrong("from", "is missing; an outage needs from and to, or every and length")
        }
        [Some(_), None, None, None, None] => wrong("to", "is missing; add e.g. to = \"12 s\""),
        [None, Some(_), None, None, None] => wrong("from", "is missing; add e.g. from = \"10 s\""),
        [None, None, Some(_), None, _] => wrong("length", "is missing; add e.g. length = \"2 s\""),
        [None, None, None, _, _] => {
            wrong("every", "is missing; add e.g. every = \"60 s\", or write from and to instead")
        }
        _ => wrong(
            "from",
            "an outage is either from and to, or every, length and first; leave out one or the other",
        ),
    }
}

/// Reads a trace file of lost packets. No message repeats a line: the file may be another than was meant.
fn trace(file: &str) -> Result<Arc<[u64]>, String> {
    let in_file = |message: String| format!("trace file {}: {message}", quoted_name(file));
    let text = file::text(file.as_ref(), MAX_TRACE).map_err(in_file)?;
    let mut lost = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if !number.is_empty() {
            let wrong = |_| in_file(format!("line {} is not a packet number from 0", i + 1));
            lost.push(number.parse().map_err(wrong)?);
        }
    }
    lost.sort_unstable();
    lost.dedup();
    Ok(lost.into())
}
