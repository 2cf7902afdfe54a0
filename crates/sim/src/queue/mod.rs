//! Queues: what a user writes, the defaults, and the plan that follows.

pub(crate) mod at_departure;
mod codel;
mod fq_codel;
pub(crate) mod packet_store;
pub(crate) mod pie;
mod priority;
pub(crate) mod red;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use bentpipe_cc::Span;

use crate::resolve::plan::{CodelPlan, Discipline, FqCodelPlan, PiePlan, QueueLimit, RedPlan};
use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key};
use crate::scenario::units::{BitRate, Duration, MAX_PACKET, QueueSize, Size};

/// Smallest queue that a limit in bdp stands for, in packets: with less, the ends of a path see bursts as
/// loss.
const MIN_BDP_PACKETS: u64 = 5;
/// Shortest time between two updates of PIE: each is computed, even while nothing arrives.
const MIN_UPDATE: Span = Span(100_000);
/// Most updates of PIE in a run; they take some two minutes.
const MAX_UPDATES: u64 = 30_000_000_000;

/// A queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; what finds no room is lost.
    DropTail {
        /// Room, the packet in transmission not counted. Default "1 bdp".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<QueueSize>,
    },
    /// Random early detection (Floyd and Jacobson 1993) by the rules of ns-2: first in, first out, but some packets are
    /// dropped or marked before the queue is full, as its average length says. Where the defaults are not those of
    /// ns-2 2.35, these are given.
    Red {
        /// Room, the packet in transmission not counted. In bytes, the average counts bytes, too (ns-2
        /// `queue_in_bytes_`), and the last packet may exceed it. Default "1 bdp".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<QueueSize>,
        /// Average below which nothing is dropped: a part of the limit, or a size. Default 0.15 (ns-2 `thresh_`: 5
        /// packets, or 2.5 ms of the rate).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<Threshold>,
        /// Average at which packets are dropped with probability `max_p`: a part of the limit, or a size. Default 0.5
        /// (ns-2 `maxthresh_`: three times the minimum).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<Threshold>,
        /// Weight of the newest packet in the average. Default 0.002 (ns-2 `q_weight_`: set from the rate).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1e-9, max = 1.0))]
        weight: Option<f64>,
        /// Probability of a drop at `max`. Default 0.1 (ns-2: 1 / `linterm_`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1e-9, max = 1.0))]
        max_p: Option<f64>,
        /// Above `max` the probability climbs to 1 at twice `max`; otherwise all are dropped there. Default yes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gentle: Option<bool>,
        /// Some packets always pass between two drops, so that none follow each other closely. Default yes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<bool>,
        /// A packet is dropped with a probability in proportion to its size. Default no (ns-2 `bytes_`: yes).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_size: Option<bool>,
        /// Marks packets of flows with `ecn` where it would drop them early; a full queue or an average above `max`
        /// (twice that if gentle) still drops. Default no.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ecn: Option<bool>,
        /// Drops even packets of flows with `ecn` when the average asks for this probability or more. Default: no such
        /// bound (ns-2 `mark_p_`: 0.1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        mark_p: Option<f64>,
        /// Size of packets by which the average falls while the link is idle. Default "1000 bytes" (ns-2
        /// `mean_pktsize_`: 500).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_packet: Option<Size>,
    },
    /// Controlled delay (RFC 8289): first in, first out, and packets are dropped or marked at the head when they have
    /// waited too long for a whole interval.
    Codel {
        /// Room, the packet in transmission not counted. Default "1 bdp".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<QueueSize>,
        /// Waiting time that may stand. Default "5 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Duration>,
        /// For how long a longer one is taken for a burst; about the longest round-trip time of the flows. Default "100 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Duration>,
        /// Marks packets of flows with `ecn` where it would drop them; a full queue still drops. Default no.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ecn: Option<bool>,
    },
    /// Queues by flow, served byte by byte in turn, each governed by CoDel (RFC 8290).
    FqCodel {
        /// Room of all queues together, the packet in transmission not counted. Default "10240 packets".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<QueueSize>,
        /// Waiting time that may stand. Default "5 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Duration>,
        /// For how long a longer one is taken for a burst; about the longest round-trip time of the flows. Default "100 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Duration>,
        /// Number of queues that flows are hashed into. Default 1024.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 65_536))]
        queues: Option<u32>,
        /// What a queue may send in a round. Default "1514 bytes".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quantum: Option<Size>,
        /// Marks packets of flows with `ecn` where CoDel would drop them; a lack of room still drops. Default no, as for
        /// every queue here (RFC 8290 section 5.2: yes).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ecn: Option<bool>,
    },
    /// Proportional integral controller enhanced (RFC 8033): first in, first out, and packets are dropped or marked on
    /// arrival with a probability that follows the waiting time.
    Pie {
        /// Room, the packet in transmission not counted. Default "1 bdp".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<QueueSize>,
        /// Waiting time that it aims at. Default "15 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Duration>,
        /// Time between two computations of the probability, at least 100 us. Default "15 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        update: Option<Duration>,
        /// Weight of the distance from the target, per second. Default 0.125.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1000.0))]
        alpha: Option<f64>,
        /// Weight of the change between two computations, per second. Default 1.25.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1000.0))]
        beta: Option<f64>,
        /// How long a burst passes without drops. Default "150 ms".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst: Option<Duration>,
        /// Marks packets of flows with `ecn` where it would drop them; a full queue still drops. Default no.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ecn: Option<bool>,
        /// Drops even packets of flows with `ecn` at this probability or more. Default 0.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        mark_p: Option<f64>,
    },
    /// Strict priorities: a band sends only while all before it are empty. A flow's `priority` is its band; each is first
    /// in, first out, and what finds no room in it is lost.
    Priority {
        /// Room of each band, the packet in transmission not counted. Default "1 bdp".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<QueueSize>,
        /// Number of bands. Default 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 64))]
        bands: Option<u8>,
    },
}

/// A length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Threshold {
    /// As a part of the limit, 0 to 1.
    Part(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// As a size.
    Size(QueueSize),
}

/// What a bandwidth-delay product is counted with.
pub(crate) struct Share {
    /// Longest base round-trip time.
    pub(crate) rtt: Span,
    /// Largest packet, bytes.
    pub(crate) wire: u32,
}

impl Share {
    /// Bits of `times` bandwidth-delay products.
    fn bits(&self, times: f64, rate: BitRate) -> f64 {
        times * rate.0 as f64 * self.rtt.secs()
    }
}

impl Queue {
    /// The queue with every default written out; drop-tail if none is given.
    pub(crate) fn full(given: Option<&Queue>) -> Queue {
        let mut queue = given.cloned().unwrap_or(Queue::DropTail { limit: None });
        match &mut queue {
            Queue::DropTail { limit } => {
                limit.get_or_insert(QueueSize::Bdp(1.0));
            }
            Queue::Red {
                limit,
                min,
                max,
                weight,
                max_p,
                gentle,
                wait,
                by_size,
                ecn,
                mark_p: _,
                mean_packet,
            } => {
                limit.get_or_insert(QueueSize::Bdp(1.0));
                min.get_or_insert(Threshold::Part(0.15));
                max.get_or_insert(Threshold::Part(0.5));
                weight.get_or_insert(0.002);
                max_p.get_or_insert(0.1);
                gentle.get_or_insert(true);
                wait.get_or_insert(true);
                by_size.get_or_insert(false);
                ecn.get_or_insert(false);
                mean_packet.get_or_insert(Size(1_000));
            }
            Queue::Codel { limit, target, interval, ecn } => {
                limit.get_or_insert(QueueSize::Bdp(1.0));
                fill_codel(target, interval, ecn);
            }
            Queue::FqCodel { limit, target, interval, queues, quantum, ecn } => {
                limit.get_or_insert(QueueSize::Packets(10_240));
                fill_codel(target, interval, ecn);
                queues.get_or_insert(1_024);
                quantum.get_or_insert(Size(1_514));
            }
            Queue::Pie { limit, target, update, alpha, beta, burst, ecn, mark_p } => {
                limit.get_or_insert(QueueSize::Bdp(1.0));
                target.get_or_insert(Duration(Span::from_millis(15)));
                update.get_or_insert(Duration(Span::from_millis(15)));
                alpha.get_or_insert(0.125);
                beta.get_or_insert(1.25);
                burst.get_or_insert(Duration(Span::from_millis(150)));
                ecn.get_or_insert(false);
                mark_p.get_or_insert(0.1);
            }
            Queue::Priority { limit, bands } => {
                limit.get_or_insert(QueueSize::Bdp(1.0));
                bands.get_or_insert(2);
            }
        }
        queue
    }
}

fn fill_codel(target: &mut Option<Duration>, interval: &mut Option<Duration>, ecn: &mut Option<bool>) {
    target.get_or_insert(Duration(Span::from_millis(5)));
    interval.get_or_insert(Duration(Span::from_millis(100)));
    ecn.get_or_insert(false);
}

impl Work<'_> {
    /// What the queue of one direction called `link` comes to; `key` is where it stands.
    pub(crate) fn queue(
        &mut self,
        link: &str,
        queue: Option<&Queue>,
        rate: BitRate,
        share: &Share,
        key: &Key,
    ) -> Result<(QueueLimit, Discipline), Error> {
        match Queue::full(queue) {
            Queue::DropTail { limit } => {
                let limit = limit.unwrap_or(QueueSize::Bdp(1.0));
                Ok((self.room(link, limit, rate, share), Discipline::DropTail))
            }
            Queue::Red {
                limit: Some(limit),
                min: Some(min),
                max: Some(max),
                weight: Some(weight),
                max_p: Some(max_p),
                gentle: Some(gentle),
                wait: Some(wait),
                by_size: Some(by_size),
                ecn: Some(ecn),
                mark_p,
                mean_packet: Some(mean),
            } => {
                let mean_packet = self.packet_size(mean, &key.with("mean_packet"))?;
                let room = self.room(link, limit, rate, share);
                let level = |threshold| level(threshold, room, rate, share, mean_packet);
                let plan = RedPlan {
                    min: level(min),
                    max: level(max),
                    weight,
                    max_p,
                    gentle,
                    wait,
                    by_size,
                    ecn,
                    mark_p,
                    mean_packet,
                };
                self.check_red(&plan, room, key)?;
                Ok((room, Discipline::Red(plan)))
            }
            Queue::Codel {
                limit: Some(limit),
                target: Some(target),
                interval: Some(interval),
                ecn: Some(ecn),
            } => {
                let room = self.room(link, limit, rate, share);
                self.check_room(room, "CoDel", key)?;
                let codel = self.codel(target, interval, ecn, share, key)?;
                Ok((room, Discipline::Codel(codel)))
            }
            Queue::FqCodel {
                limit: Some(limit),
                target: Some(target),
                interval: Some(interval),
                queues: Some(queues),
                quantum: Some(quantum),
                ecn: Some(ecn),
            } => {
                let room = self.room(link, limit, rate, share);
                self.check_room(room, "FQ-CoDel", key)?;
                let codel = self.codel(target, interval, ecn, share, key)?;
                let quantum = self.packet_size(quantum, &key.with("quantum"))?;
                Ok((room, Discipline::FqCodel(FqCodelPlan { codel, queues, quantum })))
            }
            Queue::Pie {
                limit: Some(limit),
                target: Some(target),
                update: Some(update),
                alpha: Some(alpha),
                beta: Some(beta),
                burst: Some(Duration(burst)),
                ecn: Some(ecn),
                mark_p: Some(mark_p),
            } => {
                let room = self.room(link, limit, rate, share);
                self.check_room(room, "PIE", key)?;
                let target = self.longer_than_zero(target, "target", key)?;
                if update.0 < MIN_UPDATE {
                    let message = format!("{update} is out of range; it must be 100 us or longer");
                    return Err(self.error(&key.with("update"), message));
                }
                let shortest = self.scenario.duration.0.0.div_ceil(MAX_UPDATES);
                if update.0.0 < shortest {
                    let shortest = Duration(Span(shortest));
                    let message =
                        format!("{update} is too short for so long a run; it must be {shortest} or longer");
                    return Err(self.error(&key.with("update"), message));
                }
                let update = update.0;
                let mtu = share.wire;
                let plan = PiePlan { target, update, alpha, beta, burst, ecn, mark_p, mtu };
                Ok((room, Discipline::Pie(plan)))
            }
            Queue::Priority { limit: Some(limit), bands: Some(bands) } => {
                Ok((self.room(link, limit, rate, share), Discipline::Priority { bands }))
            }
            _ => Err(self.error(key, "a default is missing")),
        }
    }

    fn codel(
        &self,
        target: Duration,
        interval: Duration,
        ecn: bool,
        share: &Share,
        key: &Key,
    ) -> Result<CodelPlan, Error> {
        let target = self.longer_than_zero(target, "target", key)?;
        if interval.0 <= target {
            let message = format!("{interval} is not longer than target = {}; it must be", Duration(target));
            return Err(self.error(&key.with("interval"), message));
        }
        Ok(CodelPlan { target, interval: interval.0, ecn, mtu: share.wire })
    }

    fn longer_than_zero(&self, given: Duration, name: &str, key: &Key) -> Result<Span, Error> {
        match given.0 {
            Span::ZERO => Err(self.error(&key.with(name), "must be longer than zero; write e.g. \"15 ms\"")),
            fine => Ok(fine),
        }
    }

    /// A size that a packet can have, in bytes.
    fn packet_size(&self, size: Size, key: &Key) -> Result<u32, Error> {
        match u32::try_from(size.0) {
            Ok(bytes) if (1..=MAX_PACKET).contains(&size.0) => Ok(bytes),
            _ => {
                let message = format!("{size} is out of range; it must be from 1 to {MAX_PACKET} bytes");
                Err(self.error(key, message))
            }
        }
    }

    /// Some queues need to be long to do anything.
    fn check_room(&self, room: QueueLimit, kind: &str, key: &Key) -> Result<(), Error> {
        match room {
            QueueLimit::Packets(0) | QueueLimit::Bytes(0) => {
                let message = format!(
                    "a {kind} queue drops by its delay and cannot be without room; write e.g. \"2.5 bdp\""
                );
                Err(self.error(&key.with("limit"), message))
            }
            _ => Ok(()),
        }
    }

    fn check_red(&self, plan: &RedPlan, room: QueueLimit, key: &Key) -> Result<(), Error> {
        let (limit, unit) = match room {
            QueueLimit::Packets(n) => (n, "packets"),
            QueueLimit::Bytes(n) => (n, "bytes"),
        };
        if limit == 0 {
            let message =
                "a RED queue drops by its length and cannot be without room; write e.g. \"2.5 bdp\"";
            return Err(self.error(&key.with("limit"), message));
        }
        if plan.max > limit as f64 {
            let message = format!("{} {unit} is more than limit = {limit} {unit}; it must not be", plan.max);
            return Err(self.error(&key.with("max"), message));
        }
        if plan.max <= plan.min {
            let message =
                format!("{} {unit} is not above min = {} {unit}; it must be greater", plan.max, plan.min);
            return Err(self.error(&key.with("max"), message));
        }
        Ok(())
    }

    /// A bandwidth-delay product is rate x base round-trip time in packets of the flows' largest size,
    /// rounded, at least [`MIN_BDP_PACKETS`].
    fn room(&mut self, link: &str, limit: QueueSize, rate: BitRate, share: &Share) -> QueueLimit {
        match limit {
            QueueSize::Packets(n) => QueueLimit::Packets(n),
            QueueSize::Bytes(n) => {
                if n < u64::from(share.wire) {
                    self.warnings.push(format!(
                        "link {link}: no packet of {} bytes fits a queue of {n} bytes",
                        share.wire
                    ));
                }
                QueueLimit::Bytes(n)
            }
            QueueSize::Bdp(times) => {
                let packets = share.bits(times, rate) / (8.0 * f64::from(share.wire));
                let packets = libm::round(packets) as u64;
                if packets < MIN_BDP_PACKETS {
                    self.warnings.push(format!(
                        "link {link}: {times} bdp is {packets} packets; the queue has room for \
                            {MIN_BDP_PACKETS}"
                    ));
                }
                QueueLimit::Packets(packets.max(MIN_BDP_PACKETS))
            }
        }
    }
}

/// A threshold in the unit of the limit.
fn level(threshold: Threshold, room: QueueLimit, rate: BitRate, share: &Share, mean_packet: u32) -> f64 {
    let mean = f64::from(mean_packet);
    match (threshold, room) {
        (Threshold::Part(part), QueueLimit::Packets(n) | QueueLimit::Bytes(n)) => part * n as f64,
        (Threshold::Size(QueueSize::Packets(n)), QueueLimit::Packets(_)) => n as f64,
        (Threshold::Size(QueueSize::Packets(n)), QueueLimit::Bytes(_)) => n as f64 * mean,
        (Threshold::Size(QueueSize::Bytes(n)), QueueLimit::Packets(_)) => n as f64 / mean,
        (Threshold::Size(QueueSize::Bytes(n)), QueueLimit::Bytes(_)) => n as f64,
        (Threshold::Size(QueueSize::Bdp(times)), QueueLimit::Packets(_)) => {
            share.bits(times, rate) / (8.0 * f64::from(share.wire))
        }
        (Threshold::Size(QueueSize::Bdp(times)), QueueLimit::Bytes(_)) => share.bits(times, rate) / 8.0,
    }
}
