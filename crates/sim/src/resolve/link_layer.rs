//! The link layer of a direction: access, repeats, thinning of acknowledgements.

use std::sync::Arc;

use bentpipe_cc::Span;

use crate::queue::QueueLimit;
use crate::resolve::plan::{AccessPlan, ArqPlan, DamaPlan, DirectionPlan, LinkLayerPlan, OpportunitiesPlan};
use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key, quoted_name};
use crate::scenario::units::BitRate;
use crate::scenario::{Access, Reverse, file};

/// Largest file of opportunities, in bytes.
const MAX_FILE: u64 = 256 << 20;
/// The latest instant in such a file, ms: ten years.
const MAX_MS: u64 = 3_652 * 86_400 * 1_000;

/// What is needed besides the keys of one direction to resolve them.
pub(super) struct Surroundings<'a> {
    /// The direction as warnings name it.
    pub(super) link: &'a str,
    /// Propagation there and back.
    pub(super) round_trip: Span,
    /// The place of the direction in the scenario.
    pub(super) key: &'a Key,
}

impl Work<'_> {
    /// Gives a direction the link layer that its keys describe.
    pub(super) fn add_link_layer(
        &mut self,
        direction: &mut DirectionPlan,
        keys: &Reverse,
        around: &Surroundings<'_>,
    ) -> Result<(), Error> {
        let key = around.key;
        let access = match (&keys.access, &keys.opportunities) {
            (Some(_), Some(_)) => {
                let message = "the opportunities already say when the link may send; leave out one of \
                    access and opportunities";
                return Err(self.error(&key.with("access"), message));
            }
            (Some(access), None) => Some(AccessPlan::Dama(self.dama(access, direction.rate_bps, around)?)),
            (None, Some(file)) => {
                let plan = OpportunitiesPlan { at_ms: self.opportunities(file, key)? };
                direction.rate_bps = plan.mean_rate();
                Some(AccessPlan::Opportunities(plan))
            }
            (None, None) => None,
        };
        let name = if keys.access.is_some() { "access" } else { "opportunities" };
        if access.is_some() && matches!(direction.queue, QueueLimit::Packets(0) | QueueLimit::Bytes(0)) {
            let message = "each packet waits for its turn, and the queue has no room; write e.g. limit = \"50 packets\"";
            return Err(self.error(&key.with(name), message));
        }
        if access.is_some() && direction.line.is_some() {
            let message =
                "it cannot be combined with a rate, delay or path that changes; leave out one of them";
            return Err(self.error(&key.with(name), message));
        }
        let arq = keys.arq.map(|arq| ArqPlan {
            tries: arq.tries,
            round_trip: arq.round_trip.map_or(around.round_trip, |given| given.0).0,
            in_order: arq.in_order,
        });
        let loses = direction.line.as_ref().is_some_and(|line| line.handover.loses);
        if arq.is_some() && direction.loss.is_empty() && !loses {
            self.warnings
                .push(format!("link {}: arq repeats what is lost, and nothing is lost here", around.link));
        }
        let ack_thinning = keys.ack_thinning.map(|thinning| thinning.keep);
        direction.link_layer = LinkLayerPlan { access, arq, ack_thinning };
        Ok(())
    }

    /// The mean rate of the opportunities in a file; `key` is the place of the direction.
    pub(super) fn mean_rate(&mut self, file: Option<&str>, key: &Key) -> Result<Option<BitRate>, Error> {
        let Some(file) = file else { return Ok(None) };
        let plan = OpportunitiesPlan { at_ms: self.opportunities(file, key)? };
        Ok(Some(BitRate(plan.mean_rate())))
    }

    fn opportunities(&mut self, file: &str, key: &Key) -> Result<Arc<[u64]>, Error> {
        if let Some(known) = self.opportunities.get(file) {
            return Ok(known.clone());
        }
        let read = read(file).map_err(|message| self.error(&key.with("opportunities"), message))?;
        self.opportunities.insert(file.to_owned(), read.clone());
        Ok(read)
    }

    fn dama(&self, access: &Access, rate_bps: u64, around: &Surroundings<'_>) -> Result<DamaPlan, Error> {
        let Access::Dama { frame, slots, cra, vbdc, free, grant_delay } = *access;
        let wrong =
            |name: &str, message: String| Err(self.error(&around.key.with("access").with(name), message));
        let length = frame.0.0;
        if length < slots {
            return wrong("frame", format!("{frame} is too short for {slots} slots; write e.g. \"26.5 ms\""));
        }
        let bits = u128::from(rate_bps) * u128::from(length) / u128::from(slots) / 1_000_000_000;
        let slot_bytes = (bits / 8) as u64;
        if slot_bytes == 0 {
            let message =
                format!("a slot of {frame} / {slots} carries no whole byte at the link's rate; write fewer");
            return wrong("slots", message);
        }
        if cra > slots {
            return wrong("cra", format!("{cra} is more than the {slots} slots of a frame"));
        }
        let vbdc = vbdc.unwrap_or(slots - cra);
        if cra + vbdc > slots {
            let left = slots - cra;
            return wrong("vbdc", format!("{vbdc} is more than the {left} slots of a frame that cra leaves"));
        }
        if cra + vbdc + free == 0 {
            return wrong(
                "cra",
                "with cra, vbdc and free at 0 nothing is ever sent; write e.g. 1".to_owned(),
            );
        }
        let default = Span(around.round_trip.0.saturating_add(length));
        let grant_delay = grant_delay.map_or(default, |given| given.0);
        self.check_delay(grant_delay, &around.key.with("access").with("grant_delay"))?;
        self.check_delay(Span(length), &around.key.with("access").with("frame"))?;
        Ok(DamaPlan { frame: length, slots, slot_bytes, cra, vbdc, free, grant_delay: grant_delay.0 })
    }
}

/// Reads a file of opportunities, by the rules of mahimahi's `LinkQueue`. No message quotes a line, because
/// the file may not be the one that was meant.
fn read(file: &str) -> Result<Arc<[u64]>, String> {
    let in_file = |message: String| format!("file of opportunities {}: {message}", quoted_name(file));
    let text = file::text(file.as_ref(), MAX_FILE).map_err(in_file)?;
    let mut all: Vec<u64> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let wrong = |message: String| in_file(format!("line {}: {message}", i + 1));
        let at = line.trim().parse().ok().filter(|&at| at <= MAX_MS);
        let Some(at) = at else {
            return Err(wrong("it is not a whole number of milliseconds from 0".to_owned()));
        };
        if let Some(last) = all.last().copied().filter(|&last| last > at) {
            return Err(wrong(format!("{at} comes after {last}; the instants may not decrease")));
        }
        all.push(at);
    }
    match all.last() {
        None => Err(in_file("it holds no opportunity; each line is an instant in milliseconds".to_owned())),
        Some(0) => Err(in_file(
            "all is at 0 ms; the last instant, after which all repeats, must be later".to_owned(),
        )),
        Some(_) => Ok(all.into()),
    }
}
