//! The event loop: two ends, two directions, one clock.

use std::time::{Duration, Instant};

use bentpipe_cc::{Span, Time};
use bentpipe_sim::link::{Class, Direction, Ecn, Fate, Packet, Push};
use quinn_proto::EcnCodepoint;

use super::end::{Datagram, End};
use super::{HEADERS, Report, Sample, SimulationError, Transfer};
use crate::transport;

/// One direction with the datagrams inside.
#[derive(Debug)]
struct Way {
    direction: Direction,
    /// By the packet's handle less one.
    inside: Vec<Option<Vec<u8>>>,
    free: Vec<u32>,
    dropped: (u64, u64),
}

/// A transfer under way.
#[derive(Debug)]
pub(super) struct World {
    origin: Instant,
    now: Time,
    end: Time,
    /// The sender, then the receiver.
    ends: [End; 2],
    /// From the sender, then to it.
    ways: [Way; 2],
    interval: Span,
    sampled: Time,
    samples: Vec<Sample>,
    bounded: bool,
    took: Time,
}

impl World {
    pub(super) fn new(transfer: &Transfer<'_>, origin: Instant) -> Result<Self, SimulationError> {
        let mut config = transport::config();
        config.congestion_controller_factory(transfer.controller.clone());
        let bytes = transfer.bytes.unwrap_or(u64::MAX);
        let sender = End::sender(config, bytes, transfer.seed, origin)?;
        let way = |(plan, name)| Way {
            direction: Direction::new(plan, transfer.seed, name),
            inside: Vec::new(),
            free: Vec::new(),
            dropped: (0, 0),
        };
        Ok(Self {
            origin,
            now: Time(0),
            end: Time(transfer.duration.0),
            ends: [sender, End::receiver(transfer.seed)?],
            ways: [way(transfer.forward), way(transfer.reverse)],
            interval: Span(transfer.interval.0.max(1)),
            sampled: Time(0),
            samples: Vec::new(),
            bounded: transfer.bytes.is_some(),
            took: Time(0),
        })
    }

    /// Runs to the end of the transfer or of the time.
    pub(super) fn run(mut self) -> Result<Report, SimulationError> {
        loop {
            self.run_ends()?;
            let (received, ended) = self.ends[1].received();
            if ended && self.bounded {
                break;
            }
            let Some(next) = self.next().filter(|next| *next <= self.end) else { break };
            while self.sampled + self.interval <= next {
                self.sampled = self.sampled + self.interval;
                self.sample(received);
            }
            self.now = next;
            self.step()?;
        }
        let (received, complete) = self.ends[1].received();
        let took = if complete { self.took } else { self.end };
        let path = self.ends[0].connection().map(|connection| connection.stats().path).unwrap_or_default();
        Ok(Report {
            received,
            took: Span(took.0),
            complete,
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            lost_bytes: path.lost_bytes,
            rtt_min: Span(path.min_rtt.as_nanos() as u64),
            mtu: path.current_mtu,
            congestion_events: path.congestion_events,
            dropped: self.ways[0].dropped,
            samples: self.samples,
        })
    }

    fn instant(&self, at: Time) -> Instant {
        self.origin + Duration::from_nanos(at.0)
    }

    /// When something happens next.
    fn next(&mut self) -> Option<Time> {
        let mut next: Option<Time> = None;
        for i in 0..2 {
            let timer = self.ends[i].timer().map(|at| {
                let since = at.saturating_duration_since(self.origin);
                Time(since.as_nanos() as u64).max(self.now)
            });
            for at in [timer, self.ways[i].direction.next()].into_iter().flatten() {
                next = Some(next.map_or(at, |known| known.min(at)));
            }
        }
        next
    }

    /// The instant `now` has come: timers first, then what arrives.
    fn step(&mut self) -> Result<(), SimulationError> {
        let now = self.instant(self.now);
        for i in 0..2 {
            if self.ends[i].timer().is_some_and(|at| at <= now) {
                self.ends[i].on_timer(now);
            }
        }
        for i in 0..2 {
            while self.ways[i].direction.next().is_some_and(|at| at <= self.now) {
                if let Some((datagram, ecn)) = self.ways[i].pop(self.now) {
                    self.ends[1 - i].on_datagram(now, &datagram, ecn)?;
                }
            }
        }
        Ok(())
    }

    /// Both ends do what is to be done now.
    fn run_ends(&mut self) -> Result<(), SimulationError> {
        let now = self.instant(self.now);
        for i in 0..2 {
            let (at, way) = (self.now, &mut self.ways[i]);
            let before = self.ends[i].received().0;
            self.ends[i].work(now, &mut |datagram| way.push(at, datagram))?;
            if self.ends[i].received().0 > before {
                self.took = self.now;
            }
        }
        Ok(())
    }

    fn sample(&mut self, received: u64) {
        let Some(connection) = self.ends[0].connection() else { return };
        let path = connection.stats().path;
        let rtt = Span(path.rtt.as_nanos() as u64);
        let lost_packets = path.lost_packets;
        self.samples.push(Sample { at: self.sampled, cwnd: path.cwnd, rtt, received, lost_packets });
    }
}

impl Way {
    fn push(&mut self, now: Time, datagram: Datagram) {
        let size = u16::try_from(datagram.bytes.len()).unwrap_or(u16::MAX).saturating_add(HEADERS);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.inside.push(None);
            self.inside.len() as u32 - 1
        });
        self.inside[slot as usize] = Some(datagram.bytes);
        let packet = Packet::new(size, slot + 1);
        let packet = if datagram.ecn { packet.with_ect() } else { packet };
        if let Push::Dropped(_) = self.direction.push(now, packet, Class::default()) {
            self.dropped.0 += 1;
            self.take(&packet);
        }
        self.sweep();
    }

    fn pop(&mut self, now: Time) -> Option<(Vec<u8>, Option<EcnCodepoint>)> {
        let out = self.direction.pop(now);
        self.sweep();
        let (packet, fate) = out?;
        let datagram = self.take(&packet)?;
        match fate {
            Fate::Delivered => {
                let ecn = match packet.ecn() {
                    Ecn::NotCapable => None,
                    Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                    Ecn::Congested => Some(EcnCodepoint::Ce),
                };
                Some((datagram, ecn))
            }
            Fate::Lost => {
                self.dropped.1 += 1;
                None
            }
            Fate::Dropped => {
                self.dropped.0 += 1;
                None
            }
        }
    }

    /// Takes out what the queue has given up since.
    fn sweep(&mut self) {
        while let Some((packet, fate)) = self.direction.take_doomed() {
            // A lost packet comes out by `pop` as well.
            if fate == Fate::Dropped {
                self.dropped.0 += 1;
                self.take(&packet);
            }
        }
    }

    fn take(&mut self, packet: &Packet) -> Option<Vec<u8>> {
        let slot = packet.handle().checked_sub(1)?;
        let datagram = self.inside.get_mut(slot as usize)?.take();
        if datagram.is_some() {
            self.free.push(slot);
        }
        datagram
    }
}
