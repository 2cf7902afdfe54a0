//! Ends and links between ends.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use bentpipe_cc::Span;
use bentpipe_sim::pcap::{Capture, CaptureError, Place};

use crate::capture::{CaptureFile, Spot, spots};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::{EmulationError, unable};
use crate::forwarder::{Forwarder, Recording};
use crate::namespace::Namespace;
use crate::relay::{self, Relay, RelayCounts, RelaySettings};
use crate::route::{Hop, Route};
use crate::status::LinkStatus;

/// As many links as networks 10.77.x.0.
const MOST_LINKS: usize = 250;

/// A link between two ends.
#[derive(Clone, Debug)]
pub struct Link {
    /// Numbers of its near and its far end.
    pub between: (usize, usize),
    /// What packets cross.
    pub route: Route,
    /// With which flows are hashed, where a queue sorts by flow.
    pub seed: u64,
}

/// Network namespaces, and links between them that run by the wall clock.
#[derive(Debug)]
pub struct Network {
    ends: Vec<Namespace>,
    links: Vec<Running>,
    relay: Option<Relay>,
    clock: Option<Clock>,
    record: Record,
    file: Option<CaptureFile>,
    missed: u64,
}

/// What is recorded of an emulation.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Between samples of the hops.
    pub interval: Option<Span>,
    /// Packets as a file: what is sent and arrives at the near end of the first link ([`Place::Sender`](bentpipe_sim::pcap::Place)), at the
    /// far end of the last one, or at the entries of a link's directions.
    pub capture: Option<Capture>,
}

#[derive(Debug)]
struct Running {
    link: Link,
    /// The devices at its near and its far end.
    devices: (Device, Device),
    forwarders: Option<(Forwarder, Forwarder)>,
}

impl Network {
    /// Makes `ends` namespaces, and the devices of the links in them. No packet is forwarded before [`Network::start`].
    ///
    /// # Errors
    /// [`EmulationError::Unable`] without the privileges or the device that it takes; [`EmulationError::Wrong`] if a link is not between
    /// two different ends.
    pub fn new(ends: usize, links: Vec<Link>, record: Record) -> Result<Self, EmulationError> {
        if links.len() > MOST_LINKS {
            let message = format!("these are {} links; an emulation has at most {MOST_LINKS}", links.len());
            return Err(EmulationError::Wrong(message));
        }
        if let Some(link) = links.iter().find(|Link { between: (a, b), .. }| a == b || *a.max(b) >= ends) {
            let message = format!("a link is between two of the {ends} ends; not {:?}", link.between);
            return Err(EmulationError::Wrong(message));
        }
        if let Some(Capture { at: Place::Link(given), .. }) = &record.capture {
            let crossed: Vec<&str> = links.iter().flat_map(|link| link.route.links()).collect();
            if !crossed.contains(&&given[..]) {
                let suggestion = format!("links that are crossed: {}", crossed.join(", "));
                return Err(EmulationError::Capture(CaptureError::Place {
                    given: given.clone(),
                    suggestion,
                }));
            }
        }
        let ends = (0..ends).map(|_| Namespace::new()).collect::<Result<Vec<_>, _>>()?;
        let mut network =
            Self { ends, links: Vec::new(), relay: None, clock: None, record, file: None, missed: 0 };
        for (i, link) in links.into_iter().enumerate() {
            let (near, far) = link.between;
            let open =
                |end: usize, address| network.ends[end].with(|| Device::open(&format!("bp{i}"), address));
            let devices =
                open(near, Self::near_address(i)).and_then(|a| Ok((a, open(far, Self::far_address(i))?)));
            let needs = "it takes /dev/net/tun (modprobe tun) and CAP_NET_ADMIN";
            let devices = devices.map_err(unable("make a TUN device", needs))?;
            network.links.push(Running { link, devices, forwarders: None });
        }
        Ok(network)
    }

    /// The address of the near end of link `i`.
    pub fn near_address(i: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, i as u8, 1)
    }

    /// The address of the far end of link `i`.
    pub fn far_address(i: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, i as u8, 2)
    }

    /// Time 0: packets are forwarded from now on.
    ///
    /// # Errors
    /// [`EmulationError::Unable`] if the system gives no more threads or descriptors; [`EmulationError::Capture`] if the file for packets
    /// cannot be made.
    pub fn start(&mut self) -> Result<(), EmulationError> {
        if let Some(Capture { path, at, whole }) = &self.record.capture {
            self.file = Some(CaptureFile::begin(path, at, *whole)?);
        }
        let clock = Clock::begin();
        self.clock = Some(clock);
        for i in 0..self.links.len() {
            let begun = self.begin(i, clock).map_err(unable("start forwarding", "end other programs"))?;
            self.links[i].forwarders = Some(begun);
        }
        Ok(())
    }

    /// Starts both threads of link `i`.
    fn begin(&self, i: usize, clock: Clock) -> io::Result<(Forwarder, Forwarder)> {
        let Running { link, devices: (near, far), .. } = &self.links[i];
        let spots =
            self.record.capture.as_ref().and_then(|of| spots(&of.at, i, self.links.len(), &link.route));
        let recording = |interface: u32| Recording {
            interval: self.record.interval,
            captor: spots.and_then(|spots: [Spot; 2]| {
                self.file.as_ref()?.captor(spots[interface as usize], interface)
            }),
        };
        let start = |way: &str, from: &Device, to: &Device, hops: &[Hop], interface| {
            let devices = (from.share()?, to.share()?);
            let name = format!("emu{i}-{way}");
            Forwarder::start(&name, devices, hops.to_vec(), link.seed, clock, recording(interface))
        };
        let there = start("forward", near, far, &link.route.forward, 0)?;
        Ok((there, start("reverse", far, near, &link.route.reverse, 1)?))
    }

    /// Makes end 1 a relay (see [`crate::relay`]) between link 0, at its far end, and link 1, at its near end. Gives the kernel's name of
    /// the congestion controller with which it sends.
    ///
    /// # Errors
    /// [`EmulationError::Unable`] without CAP_BPF; [`EmulationError::Wrong`] if the links are others.
    pub fn start_relay(&mut self, settings: &RelaySettings) -> Result<String, EmulationError> {
        let between: Vec<_> = self.links.iter().map(|running| running.link.between).collect();
        if between != [(0, 1), (1, 2)] {
            let message = format!("a relay is end 1 between links (0, 1) and (1, 2); not {between:?}");
            return Err(EmulationError::Wrong(message));
        }
        let [near, middle, far, ..] = &self.ends[..] else { unreachable!("links have two different ends") };
        let needs = "it takes CAP_NET_ADMIN and CAP_BPF, and Linux 5.9";
        let routes = near
            .with(|| relay::reach(Self::near_address(1), "bp0"))
            .and_then(|()| far.with(|| relay::reach(Self::near_address(0), "bp1")))
            .and_then(|()| middle.with(|| relay::route_to_itself(&["bp0", "bp1"])));
        routes.map_err(unable("set up the routes of a relay", needs))?;
        let started = middle.with(|| Relay::start(middle.as_fd(), settings));
        let started = started.map_err(unable("start a relay", needs))?;
        Ok(self.relay.insert(started).controller.clone())
    }

    /// What the relay has done so far; `None` without one.
    pub fn relayed(&self) -> Option<RelayCounts> {
        self.relay.as_ref().map(Relay::counts)
    }

    /// Moves the calling thread to an end. What it starts from now on, threads and processes, is there too.
    ///
    /// # Errors
    /// [`EmulationError::Unable`] without CAP_SYS_ADMIN; [`EmulationError::Wrong`] if there is no such end.
    pub fn enter(&self, end: usize) -> Result<(), EmulationError> {
        let namespace = self.namespace(end)?;
        namespace.enter().map_err(unable("enter a network namespace", "it takes CAP_SYS_ADMIN"))
    }

    /// The descriptor of an end's namespace.
    ///
    /// # Errors
    /// [`EmulationError::Wrong`] if there is no such end.
    pub fn descriptor(&self, end: usize) -> Result<BorrowedFd<'_>, EmulationError> {
        Ok(self.namespace(end)?.as_fd())
    }

    /// What link `i` has done so far. The threads that forward are asked for it; they are not held up.
    ///
    /// # Errors
    /// [`EmulationError::Wrong`] if there is no such link, or its thread has failed.
    pub fn status(&self, i: usize) -> Result<LinkStatus, EmulationError> {
        let link = self.links.get(i).ok_or_else(|| EmulationError::Wrong(format!("there is no link {i}")))?;
        let t_s = self.clock.map_or(0.0, |clock| clock.now().secs());
        let Some((forward, reverse)) = &link.forwarders else {
            return Ok(LinkStatus { t_s, ..LinkStatus::default() });
        };
        if let Some(why) = forward.failure().or_else(|| reverse.failure()) {
            return Err(EmulationError::Wrong(format!("forwarding has failed: {why}")));
        }
        Ok(LinkStatus { t_s, forward: forward.status(), reverse: reverse.status() })
    }

    /// Ends forwarding, and completes the capture. What is inside is lost; the counts stay.
    ///
    /// # Errors
    /// [`EmulationError::Capture`] if the packets could not be written.
    pub fn stop(&mut self) -> Result<(), EmulationError> {
        if let Some(relay) = &mut self.relay {
            relay.stop();
        }
        for (forward, reverse) in self.links.iter_mut().filter_map(|link| link.forwarders.as_mut()) {
            forward.stop();
            reverse.stop();
        }
        if let Some(mut file) = self.file.take() {
            self.missed = file.finish()?;
        }
        Ok(())
    }

    /// Packets that the capture has missed because the disk was too slow.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    fn namespace(&self, end: usize) -> Result<&Namespace, EmulationError> {
        self.ends.get(end).ok_or_else(|| EmulationError::Wrong(format!("there is no end {end}")))
    }
}
