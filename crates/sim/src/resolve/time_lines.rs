//! Time lines of directions, from inline lists and from files, cut to the length of the run.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::{Span, Time};

use crate::drawn::{DrawnLine, DrawnTimeline, LONGEST};
use crate::keys::error::{Error, Key};
use crate::keys::units::{BitRate, Duration};
use crate::link::time_line::{Handover, Leg, Step, TimeLine};
use crate::resolve::time_line_file::TimeTable;
use crate::resolve::work::Work;
use crate::scenario::{
    Between, HandoverKeys, Link, Nominal, OnAir, Reverse, Timeline, TimelineTable, Varying, Waiting,
};

/// Most changes of one direction in a run.
const MAX_CHANGES: usize = 1 << 22;

/// Rate and delay of one direction, and how they change.
#[derive(Debug)]
pub(crate) struct Course {
    /// Bits per second; where the rate changes, its mean over the time in the run in which the path is there.
    pub(super) rate: BitRate,
    /// Where the delay changes, that at 0 s.
    pub(super) delay: Span,
    pub(super) line: Option<TimeLine>,
    /// Rate and delay of a bandwidth-delay product.
    pub(super) nominal: (BitRate, Span),
    /// True if nothing says which rate or delay is nominal, so that the value at 0 s is used.
    pub(super) guessed: bool,
}

/// The keys of one direction.
struct Given<'a> {
    key: &'a Key,
    rate: Option<&'a Varying<BitRate>>,
    /// The mean rate of its access, if the link's rate does not say it.
    own_rate: Option<BitRate>,
    delay: Option<&'a Varying<Duration>>,
    /// What takes the place of rate and delay where these keys are absent.
    rate_else: Option<&'a Varying<BitRate>>,
    delay_else: Option<&'a Varying<Duration>>,
    up: Option<&'a [(Duration, bool)]>,
    nominal: Nominal,
    reorder: bool,
    handover: HandoverKeys,
    file: Option<(Arc<TimeTable>, TimelineTable)>,
    /// Does the file belong to this direction alone? Then only the file gives the loss rate, and its columns
    /// take the place of absent keys.
    own_file: bool,
}

/// Instants, and the value from each of them on; the first is at 0.
type Steps<V> = Vec<(u64, V)>;

/// A value, constant or changing, and its nominal value if it has one.
struct Known<V> {
    steps: Steps<V>,
    nominal: Option<V>,
}

/// The rows of a file, placed in the time of the run.
struct FileRows {
    /// The instant and the row number of each.
    rows: Vec<(u64, usize)>,
    /// How long after the first row the run begins.
    cut: u64,
}

impl Work<'_> {
    /// The courses of all directions.
    pub(super) fn courses(&mut self) -> Result<Vec<Course>, Error> {
        let scenario = self.scenario;
        let mut files = BTreeMap::new();
        let mut courses = Vec::with_capacity(2 * scenario.link.len());
        for (name, link) in &scenario.link {
            let key = Key::of(["link", name]);
            let back = link.reverse.clone().unwrap_or_default();
            let there = self.file(link.timeline.as_ref(), &key, &mut files)?;
            let sets_delay = there.as_ref().is_some_and(|(table, _)| table.delay.is_some());
            let delay = self.delay(name, link, sets_delay, &key)?;
            let forward = Given {
                key: &key,
                rate: link.rate.as_ref(),
                own_rate: self.own_rate(link.access.as_ref(), link.opportunities.as_ref(), &key)?,
                delay: delay.as_ref(),
                rate_else: None,
                delay_else: None,
                up: link.up.as_deref(),
                nominal: nominal_of_link(link).unwrap_or_default(),
                reorder: link.reorder.unwrap_or(false),
                handover: link.handover.clone().unwrap_or_default(),
                file: there,
                own_file: true,
            };
            let first = self.course(&forward)?;
            let key = key.with("reverse");
            let reverse = self.reverse(link, &back, &forward, &key, &mut files)?;
            // Directions that are alike share their lines.
            let mut second = self.course(&reverse)?;
            let keys = [(name.clone(), &first, &forward), (format!("{name}, reverse"), &second, &reverse)];
            for (name, course, given) in keys {
                let rules =
                    HandoverKeys { every: None, first: None, at: Vec::new(), ..given.handover.clone() };
                let without = course.line.as_ref().is_none_or(|line| line.handovers().is_empty());
                if without && rules != HandoverKeys::default() {
                    self.warnings.push(format!("link {name}: its path never changes hands in the run"));
                }
            }
            if let (Some(one), Some(other)) = (&first.line, &mut second.line) {
                other.share(one);
            }
            courses.extend([first, second]);
        }
        Ok(courses)
    }

    fn reverse<'a>(
        &mut self,
        link: &'a Link,
        back: &Reverse,
        forward: &Given<'a>,
        key: &'a Key,
        files: &mut BTreeMap<String, Arc<TimeTable>>,
    ) -> Result<Given<'a>, Error> {
        let own = self.file(back.timeline.as_ref(), key, files)?;
        let own_file = own.is_some();
        let own_rate = self.own_rate(back.access.as_ref(), back.opportunities.as_ref(), key)?;
        let (mut rate_is_own, mut delay_is_own) =
            (back.rate.is_some() || own_rate.is_some(), back.delay.is_some());
        if let Some((table, _)) = &own {
            rate_is_own |= table.rate.is_some();
            delay_is_own |= table.delay.is_some();
        }
        Ok(Given {
            key,
            rate: link.reverse.as_ref().and_then(|back| back.rate.as_ref()),
            own_rate,
            delay: link.reverse.as_ref().and_then(|back| back.delay.as_ref()),
            rate_else: link.rate.as_ref(),
            delay_else: forward.delay,
            up: link.reverse.as_ref().and_then(|back| back.up.as_deref()).or(if own_file {
                None
            } else {
                forward.up
            }),
            nominal: nominal_of_reverse(
                back.nominal.or_else(|| nominal_of_line(back.timeline.as_ref())),
                nominal_of_link(link),
                rate_is_own,
                delay_is_own,
            ),
            reorder: back.reorder.unwrap_or(forward.reorder),
            handover: back.handover.clone().unwrap_or_else(|| forward.handover.clone()),
            file: own.or_else(|| forward.file.clone()),
            own_file,
        })
    }

    fn file(
        &self,
        file: Option<&Timeline>,
        key: &Key,
        files: &mut BTreeMap<String, Arc<TimeTable>>,
    ) -> Result<Option<(Arc<TimeTable>, TimelineTable)>, Error> {
        let Some(file) = file else { return Ok(None) };
        let (options, key) = (file.table(), key.with("timeline"));
        if let Some(drawn) = file.drawn() {
            return Ok(Some((Arc::new(self.draw(drawn, &key)?), options)));
        }
        let table = match files.get(&options.file) {
            Some(table) => table.clone(),
            None => {
                let table = TimeTable::read(&options.file).map_err(|message| self.error(&key, message))?;
                files.entry(options.file.clone()).or_insert(Arc::new(table)).clone()
            }
        };
        let last = table.at.last().copied().unwrap_or(0);
        if options.repeat && table.at.len() < 2 {
            let message = "a file that is repeated has two rows or more; the last one is its end";
            return Err(self.error(&key, message));
        }
        if let Some(offset) = options.offset.filter(|offset| offset.0.0 > last && !options.repeat) {
            let message = format!("{offset} is later than the last row, {}", Duration(Span(last)));
            return Err(self.error(&key.with("offset"), message));
        }
        Ok(Some((table, options)))
    }

    /// The line that is drawn for the seed of the run.
    fn draw(&self, drawn: &DrawnTimeline, key: &Key) -> Result<TimeTable, Error> {
        let (seed, duration) = (self.scenario.seed, self.scenario.duration.0);
        drawn.check_share().map_err(|message| self.error(&key.with("share"), message))?;
        if duration > LONGEST {
            let message = format!("{} is too long; at most a day is drawn", self.scenario.duration);
            return Err(self.error(&Key::of(["duration"]), message));
        }
        let DrawnLine { at, rate, delay, up, handover } = drawn.line(seed, duration);
        Ok(TimeTable {
            at,
            rate: Some(rate),
            delay: Some(delay),
            loss: None,
            up: Some(up),
            handover: Some(handover),
        })
    }

    /// The course of one direction.
    fn course(&self, given: &Given<'_>) -> Result<Course, Error> {
        let key = given.key;
        let rows = given.file.as_ref().map(|(table, options)| self.rows(table, options, key)).transpose()?;
        let table = given.file.as_ref().map(|(table, _)| &**table);
        let column = |column: &Option<Vec<u64>>| column.is_some();
        let in_file = table.is_some_and(|table| column(&table.rate));
        let mean = given.own_rate.map(|rate| Known { steps: vec![(0, rate)], nominal: None });
        let rate = match mean.filter(|_| given.rate.is_none() && !in_file) {
            Some(mean) => Some(mean),
            None => self.source(given.rate, given.rate_else, in_file, given.own_file, &key.with("rate"))?,
        };
        let rate = match rate {
            Some(Known { steps, nominal }) => {
                let above_zero = steps.iter().map(|step| step.1).filter(|rate| rate.0 > 0);
                above_zero
                    .chain(nominal)
                    .try_for_each(|rate| self.rate(rate, &key.with("rate")).map(drop))?;
                Known {
                    steps: steps.into_iter().map(|(at, rate)| (at, rate.0)).collect(),
                    nominal: nominal.map(|rate| rate.0),
                }
            }
            None => {
                return Err(
                    self.error(&key.with("rate"), "is missing; add e.g. rate = \"10 Mbit/s\", or a timeline")
                );
            }
        };
        let in_file = table.is_some_and(|table| column(&table.delay));
        let delay =
            self.source(given.delay, given.delay_else, in_file, given.own_file, &key.with("delay"))?;
        let Some(delay) = delay else {
            return Err(self.error(&key.with("delay"), "is missing; add e.g. delay = \"250 ms\""));
        };
        let delays = delay.steps.iter().map(|step| step.1).chain(delay.nominal);
        delays.into_iter().try_for_each(|delay| self.check_delay(delay.0, &key.with("delay")))?;
        let rates = match (&rows, table.and_then(|table| table.rate.as_deref())) {
            (Some(rows), Some(column)) if rate.steps.is_empty() => rows.steps(column),
            _ => rate.steps,
        };
        let legs = match (&rows, &given.file) {
            (Some(rows), Some((table, options))) if delay.steps.is_empty() => rows.legs(table, options),
            _ => delay.steps.iter().map(|&(at, d)| leg(at, d.0.0, d.0.0)).collect(),
        };
        let ups = match (given.up, &rows, table.and_then(|table| table.up.as_deref())) {
            (Some(_), _, Some(_)) if given.own_file => {
                let message = "the time line has a column up; leave one of them out";
                return Err(self.error(&key.with("up"), message));
            }
            (Some(list), ..) => self.steps(list, &key.with("up"))?,
            (None, Some(rows), Some(column)) => rows.steps(column),
            _ => vec![(0, true)],
        };
        let losses = match (&rows, table.and_then(|table| table.loss.as_deref())) {
            (Some(rows), Some(column)) if given.own_file => Some(rows.steps(column)),
            _ => None,
        };
        let marked = match (&rows, table.and_then(|table| table.handover.as_deref())) {
            (Some(rows), Some(column)) => rows.marked(column),
            _ => ups.windows(2).filter(|u| u[0].1 && !u[1].1).map(|u| u[1].0).collect(),
        };
        let handovers = self.handovers(&given.handover, marked, &key.with("handover"))?;
        let (at_rate, at_delay) = (rates[0].1, legs[0].delay);
        let rate_varies = rates.iter().any(|rate| rate.1 != at_rate);
        let delay_varies = legs.iter().any(|leg| leg.delay != at_delay || leg.towards != at_delay);
        let nominal_rate = given.nominal.rate.map(|rate| rate.0).or(rate.nominal);
        let nominal_delay = given.nominal.delay.or(delay.nominal).map(|delay| delay.0);
        let guessed = rate_varies && nominal_rate.is_none() || delay_varies && nominal_delay.is_none();
        let moves = rows.is_some() || rates.len() > 1 || legs.len() > 1 || ups.len() > 1 || !ups[0].1;
        let moves = moves || !handovers.is_empty();
        if moves && nominal_rate.unwrap_or(at_rate) == 0 {
            let message = "the rate at 0 s is 0; say which is meant, e.g. nominal = { rate = \"10 Mbit/s\" }";
            return Err(self.error(&key.with("nominal"), message));
        }
        let nominal = self.rate(BitRate(nominal_rate.unwrap_or(at_rate)), &key.with("nominal"))?;
        let nominal = (BitRate(nominal), nominal_delay.unwrap_or(at_delay));
        self.check_delay(nominal.1, &key.with("nominal"))?;
        let outage = given.handover.outage.map_or(0, |outage| outage.0.0);
        let handovers_at: Arc<[Time]> = handovers.iter().copied().map(Time).collect();
        let (mut rate, mut line) = (at_rate, None);
        if moves {
            let steps = steps(&rates, &ups, losses.as_deref(), &handovers, outage);
            rate = mean_rate(&steps, self.scenario.duration.0).unwrap_or(nominal.0.0);
            line = TimeLine::new(steps.into(), legs.into(), handovers_at);
        }
        let rate = self.rate(BitRate(rate), &key.with("rate"))?;
        self.check_delay(at_delay, &key.with("delay"))?;
        if let Some(line) = &mut line {
            let (loses, flushes) =
                (given.handover.in_flight == OnAir::Lost, given.handover.queue == Waiting::Flushed);
            line.handover = Handover { loses, flushes };
            (line.reorder, line.sets_loss) = (given.reorder, losses.is_some());
        }
        Ok(Course { rate: BitRate(rate), delay: at_delay, line, nominal, guessed })
    }

    /// The value of a quantity over time: from its `own` key, or else from `else_where`. It has no steps if
    /// the file gives them; `None` if nothing gives the quantity.
    fn source<Q: Copy>(
        &self,
        own: Option<&Varying<Q>>,
        else_where: Option<&Varying<Q>>,
        in_file: bool,
        own_file: bool,
        key: &Key,
    ) -> Result<Option<Known<Q>>, Error> {
        let from_file = |nominal| Ok(Some(Known { steps: Vec::new(), nominal }));
        let given = match (own, in_file) {
            (Some(Varying::Steps(_)), true) if own_file => {
                return Err(self.error(key, "the time line file gives this, too; leave one of them out"));
            }
            (Some(Varying::Constant(one)), true) if own_file => return from_file(Some(*one)),
            (None, true) => return from_file(else_where.and_then(Varying::constant)),
            (own, _) => own.or(else_where),
        };
        Ok(match given {
            Some(Varying::Constant(one)) => Some(Known { steps: vec![(0, *one)], nominal: Some(*one) }),
            Some(Varying::Steps(list)) => Some(Known { steps: self.steps(list, key)?, nominal: None }),
            None => None,
        })
    }

    /// The steps of a list, which must begin at 0 and move forward.
    fn steps<V: Copy>(&self, list: &[(Duration, V)], key: &Key) -> Result<Steps<V>, Error> {
        if list.first().is_none_or(|(at, _)| at.0 > Span::ZERO) {
            return Err(self.error(key, "a list begins at \"0 s\"; add the value from then on"));
        }
        if let Some(i) = list.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            let message = format!("{} is not later than {}, the instant before", list[i + 1].0, list[i].0);
            return Err(self.error(&key.with(i + 1), message));
        }
        let end = self.scenario.duration.0;
        Ok(list.iter().filter(|(at, _)| at.0 < end).map(|&(at, value)| (at.0.0, value)).collect())
    }

    /// The rows of a file, placed in the time of the run.
    fn rows(&self, table: &TimeTable, options: &TimelineTable, key: &Key) -> Result<FileRows, Error> {
        let end = self.scenario.duration.0.0;
        let offset = options.offset.map_or(0, |offset| offset.0.0);
        let last = table.at.len() - 1;
        let period = if options.repeat { table.at[last] } else { u64::MAX };
        let number = if options.repeat { last } else { last + 1 };
        let into = offset % period;
        let first = table.at[..number].partition_point(|at| *at <= into) - 1;
        let mut rows = vec![(0, first)];
        // The instant in the run at which the current round of the file began, or would have begun.
        let (mut turn, mut row) = (-i128::from(into), first + 1);
        loop {
            if row == number {
                if !options.repeat {
                    break;
                }
                (turn, row) = (turn + i128::from(period), 0);
            }
            let at = turn + i128::from(table.at[row]);
            self.check_changes(rows.len(), &key.with("timeline"))?;
            rows.push((at as u64, row));
            // One more row completes the line up to the end.
            if at >= i128::from(end) {
                break;
            }
            row += 1;
        }
        Ok(FileRows { rows, cut: into - table.at[first] })
    }

    fn check_changes(&self, number: usize, key: &Key) -> Result<(), Error> {
        if number < MAX_CHANGES {
            return Ok(());
        }
        let message =
            format!("there are more than {MAX_CHANGES} changes in the run; make it shorter or them rarer");
        Err(self.error(key, message))
    }

    /// All instants at which the path changes hands: those `marked` in a file, and those of the keys.
    fn handovers(&self, keys: &HandoverKeys, marked: Vec<u64>, key: &Key) -> Result<Vec<u64>, Error> {
        let end = self.scenario.duration.0.0;
        let mut all = marked;
        all.extend(keys.at.iter().map(|at| at.0.0));
        match (keys.every, keys.first) {
            (None, Some(_)) => {
                let message = "a first handover needs the time between them; add e.g. every = \"15 s\"";
                return Err(self.error(&key.with("every"), message));
            }
            (Some(Duration(Span::ZERO)), _) => {
                return Err(self.error(&key.with("every"), "must be longer than zero; write e.g. \"15 s\""));
            }
            (Some(Duration(Span(every))), first) => {
                let mut at = first.map_or(every, |first| first.0.0);
                while at < end {
                    self.check_changes(all.len(), &key.with("every"))?;
                    all.push(at);
                    at = at.saturating_add(every);
                }
            }
            (None, None) => {}
        }
        all.sort_unstable();
        all.dedup();
        all.retain(|at| *at < end);
        Ok(all)
    }
}

impl FileRows {
    /// The steps of a column.
    fn steps<V: Copy>(&self, column: &[V]) -> Steps<V> {
        self.rows.iter().map(|&(at, row)| (at, column[row])).collect()
    }

    /// The instants of rows that a column marks.
    fn marked(&self, column: &[bool]) -> Vec<u64> {
        // The run may begin in the middle of a row; what happened before then is over.
        let amid = self.cut > 0;
        self.rows.iter().skip(usize::from(amid)).filter(|(_, row)| column[*row]).map(|(at, _)| *at).collect()
    }

    /// The legs of the delay.
    fn legs(&self, table: &TimeTable, options: &TimelineTable) -> Vec<Leg> {
        let Some(delays) = &table.delay else { return Vec::new() };
        let up = |row: usize| table.up.as_ref().is_none_or(|up| up[row]);
        // Without a column of handovers the path changes hands where it goes dark.
        let changes = |row: usize| table.handover.as_ref().map_or(!up(row), |handover| handover[row]);
        let end = table.at.len() - usize::from(options.repeat);
        let towards = |row: usize| match options.delay {
            Between::Lines if row + 1 < end && up(row) && !changes(row + 1) => delays[row + 1],
            _ => delays[row],
        };
        let legs = self.rows.iter().map(|&(at, row)| leg(at, delays[row], towards(row)));
        let mut legs: Vec<Leg> = legs.collect();
        if let (Some(first), true) = (legs.first_mut(), self.cut > 0) {
            let row = self.rows[0].1;
            let length = table.at.get(row + 1).map_or(u64::MAX, |next| next - table.at[row]);
            let (from, to) = (i128::from(first.delay.0), i128::from(first.towards.0));
            first.delay = Span((from + (to - from) * i128::from(self.cut) / i128::from(length)) as u64);
        }
        legs
    }
}

/// The nominal values of the return direction: each is that of the forward direction if its quantity is.
pub(super) fn nominal_of_reverse(
    own: Option<Nominal>,
    forward: Option<Nominal>,
    rate_is_own: bool,
    delay_is_own: bool,
) -> Nominal {
    let (own, other) = (own.unwrap_or_default(), forward.unwrap_or_default());
    Nominal {
        rate: own.rate.or(other.rate.filter(|_| !rate_is_own)),
        delay: own.delay.or(other.delay.filter(|_| !delay_is_own)),
    }
}

/// The nominal rate and delay of a forward direction: its own, or those of the line that is drawn for it.
fn nominal_of_link(link: &Link) -> Option<Nominal> {
    link.nominal.or_else(|| nominal_of_line(link.timeline.as_ref()))
}

fn nominal_of_line(line: Option<&Timeline>) -> Option<Nominal> {
    let (rate, delay) = line?.drawn()?.nominal();
    Some(Nominal { rate: Some(rate), delay: Some(Duration(delay)) })
}

/// The mean of the rates above zero over their time until `end`, bits per second; `None` if there are none.
fn mean_rate(steps: &[Step], end: Span) -> Option<u64> {
    let ends = steps.iter().skip(1).map(|step| step.at.0).chain([u64::MAX]).map(|at| at.min(end.0));
    let lasting = steps.iter().zip(ends).map(|(step, end)| (step.rate_bps, end.saturating_sub(step.at.0)));
    let (work, time) = lasting.filter(|(rate, _)| *rate > 0).fold((0, 0), |(work, time), (rate, span)| {
        (work + u128::from(rate) * u128::from(span), time + u128::from(span))
    });
    u64::try_from(work.checked_div(time)?).ok()
}

fn leg(at: u64, from: u64, to: u64) -> Leg {
    Leg { at: Time(at), delay: Span(from), towards: Span(to) }
}

/// Rate and loss rate from everything that determines them. After each handover nothing is sent for the
/// duration of `outage`.
fn steps(
    rates: &[(u64, u64)],
    ups: &[(u64, bool)],
    losses: Option<&[(u64, f64)]>,
    handovers: &[u64],
    outage: u64,
) -> Vec<Step> {
    let losses = losses.unwrap_or(&[(0, 0.0)]);
    let mut instants: Vec<u64> = rates.iter().map(|rate| rate.0).collect();
    instants.extend(ups.iter().map(|up| up.0).chain(losses.iter().map(|loss| loss.0)));
    if outage > 0 {
        instants.extend(handovers.iter().flat_map(|&at| [at, at.saturating_add(outage)]));
    }
    instants.sort_unstable();
    instants.dedup();
    let (mut rate, mut up, mut loss, mut handover) = (0, 0, 0, 0);
    let step = |at: u64| {
        forward(&mut rate, rates, at);
        forward(&mut up, ups, at);
        forward(&mut loss, losses, at);
        while handovers.get(handover).is_some_and(|&next| next <= at) {
            handover += 1;
        }
        let dark = handover > 0 && at - handovers[handover - 1] < outage;
        let rate_bps = if ups[up].1 && !dark { rates[rate].1 } else { 0 };
        Step { at: Time(at), rate_bps, loss_rate: losses[loss].1 }
    };
    instants.into_iter().map(step).collect()
}

/// Moves a cursor forward to the step of `at`.
fn forward<V>(cursor: &mut usize, steps: &[(u64, V)], at: u64) {
    while steps.get(*cursor + 1).is_some_and(|next| next.0 <= at) {
        *cursor += 1;
    }
}
