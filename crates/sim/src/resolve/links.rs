//! Links: propagation delays, rates, queues and losses.

use bentpipe_cc::{Span, Time};

use crate::drawn::DrawnTimeline;
use crate::keys::error::{Error, Key, quoted, suggestion};
use crate::keys::units::Duration;
use crate::loss::{Loss, OutagePlan, PacketError, Per};
use crate::orbit::geostationary::{Station, geo_look};
use crate::orbit::stations;
use crate::queue::{Context, Discipline, Queue, QueueLimit};
use crate::resolve::link_layer::Surroundings;
use crate::resolve::path::PathPlan;
use crate::resolve::plan::{DirectionId, DirectionPlan, LinkLayerPlan, LinkPlan, LossPlan};
use crate::resolve::time_lines::Course;
use crate::resolve::work::Work;
use crate::scenario::{Link, Reverse, Satellite, Timeline, Varying};

/// The packet size of a bandwidth-delay product on a link without flows, bytes.
pub(super) const DEFAULT_WIRE: u32 = 1_500;

/// The numbers from which a bandwidth-delay product is computed.
struct Share {
    /// Longest base round-trip time.
    rtt: Span,
    /// Largest packet, bytes.
    wire: u32,
    /// True if a rate or delay of the paths changes, and nothing says which value is nominal.
    guessed: bool,
}

impl Work<'_> {
    /// The delay of a link's forward direction as its keys give it; `None` if only a time line gives it.
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

    /// The delay from station to satellite to station, or of one of these two hops.
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
                rtt: crossing
                    .iter()
                    .map(|p| p.base_rtt)
                    .max()
                    .unwrap_or(course.nominal.1 + course_back.nominal.1),
                wire: crossing.iter().map(|p| p.wire).max().unwrap_or(DEFAULT_WIRE),
                guessed: crossed.any(guessed) || there_and_back.iter().any(guessed),
            };
            let there = Reverse {
                queue: link.queue.clone(),
                loss: link.loss.clone(),
                access: link.access.clone(),
                opportunities: link.opportunities.clone(),
                arq: link.arq,
                ack_thinning: link.ack_thinning,
                ..Reverse::default()
            };
            let round_trip = course.delay + course_back.delay;
            let around = Surroundings { link: name, round_trip, key: &key };
            let mut forward = self.one_way(&there, course, &share, &key.with("queue"), &around)?;
            let mut back = link.reverse.clone().unwrap_or_default();
            let key_back = key.with("reverse");
            let given_at = if back.queue.is_some() { &key_back } else { &key };
            let queue_key = given_at.with("queue");
            back.queue = back.queue.or(there.queue);
            let name_back = format!("{name}, reverse");
            let around = Surroundings { link: &name_back, round_trip, key: &key_back };
            let mut reverse = self.one_way(&back, course_back, &share, &queue_key, &around)?;
            // An outage of a line that is drawn strikes both directions, also one that has no such line.
            let lines = [&link.timeline, &back.timeline].map(|line| line.as_ref().and_then(Timeline::drawn));
            forward.loss.extend(self.drawn_outages(lines[0].or(lines[1])));
            reverse.loss.extend(self.drawn_outages(lines[1].or(lines[0])));
            for (name, direction) in [(name, &forward), (&name_back, &reverse)] {
                let rates = direction.loss.iter().filter_map(LossPlan::independent);
                let strikes = |what| rates.clone().any(|(per, rate)| per == what && rate > 0.0);
                if strikes(Per::Packet) && strikes(Per::Bit) {
                    let text = "it has both bit errors and packet errors, and they add up; leave one out if they are the same losses";
                    self.warnings.push(format!("link {name}: {text}"));
                }
            }
            links.push(LinkPlan { name: name.clone(), forward, reverse });
        }
        Ok(links)
    }

    /// The outages of a line that is drawn.
    fn drawn_outages(&self, line: Option<&DrawnTimeline>) -> Vec<LossPlan> {
        let (seed, duration) = (self.scenario.seed, self.scenario.duration.0);
        let outages = line.map(|line| line.outages(seed, duration)).unwrap_or_default();
        let plan = |[begin, end]: [Span; 2]| OutagePlan {
            first: Time(begin.0),
            length: Span(end.0 - begin.0),
            every: None,
        };
        outages.into_iter().map(|outage| LossPlan::Outage(plan(outage))).collect()
    }

    /// One direction with these keys; `queue_key` is the place of its queue in the scenario.
    fn one_way(
        &mut self,
        keys: &Reverse,
        course: &Course,
        share: &Share,
        queue_key: &Key,
        around: &Surroundings<'_>,
    ) -> Result<DirectionPlan, Error> {
        let (queue, discipline) = self.queue(around.link, keys.queue.as_ref(), course, share, queue_key)?;
        let mut direction = self.direction(course, queue, discipline, &keys.loss, around.key)?;
        self.add_link_layer(&mut direction, keys, around)?;
        Ok(direction)
    }

    /// A direction with this course and this queue; `key` is its place in the scenario.
    fn direction(
        &self,
        course: &Course,
        queue: QueueLimit,
        discipline: Discipline,
        losses: &[Loss],
        key: &Key,
    ) -> Result<DirectionPlan, Error> {
        let (rate_bps, delay, line) = (course.rate.0, course.delay, course.line.clone());
        let mut loss = self.losses(losses, &key.with("loss"))?;
        if let Some(line) = line.as_ref().filter(|line| line.sets_loss) {
            let now = line.steps()[0].loss_rate;
            // The last model has the rate of the time line.
            let only = if let [only] = &mut loss[..] { only.rate_mut() } else { None };
            match only {
                Some(rate) => *rate = now,
                None => loss.push(LossPlan::PacketError(PacketError { rate: now })),
            }
        }
        let link_layer = LinkLayerPlan::default();
        Ok(DirectionPlan { rate_bps, delay, queue, discipline, loss, line, link_layer, on_request: false })
    }

    /// The room and the discipline of the queue of one direction called `link`; `key` is
    /// its place in the scenario.
    fn queue(
        &mut self,
        link: &str,
        queue: Option<&Queue>,
        course: &Course,
        share: &Share,
        key: &Key,
    ) -> Result<(QueueLimit, Discipline), Error> {
        let Share { rtt, wire, guessed } = *share;
        let (rate, nominal, line) = (course.rate, course.nominal.0, course.line.as_ref());
        let (duration, origin) = (self.scenario.duration.0, &self.scenario.origin);
        let warnings = &mut self.warnings;
        let mut context =
            Context { link, rate, nominal, line, rtt, wire, guessed, duration, key, origin, warnings };
        queue.unwrap_or(&Queue::default()).resolve(&mut context)
    }

    pub(super) fn losses(&self, losses: &[Loss], key: &Key) -> Result<Vec<LossPlan>, Error> {
        let numbered = losses.iter().enumerate();
        numbered
            .map(|(i, loss)| {
                // A single table is the value of the key itself; items of a list are below the key.
                let item = key.with(i);
                let listed = losses.len() > 1 || self.scenario.origin.lines.contains_key(&item);
                let key = if listed { &item } else { key };
                loss.resolve().map_err(|(name, message)| self.error(&key.with(name), message))
            })
            .collect()
    }
}
