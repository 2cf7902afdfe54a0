//! Ends and links between ends.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};

use bentpipe_cc::Span;
use bentpipe_sim::pcap::{Capture, CaptureError, Place};

use crate::capture::{CaptureFile, Spot, spots};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::{EmulationError, unable};
use crate::forwarder::{Devices, Forwarder, Recording};
use crate::namespace::{Namespace, without_ipv6};
use crate::netlink;
use crate::outside::Outside;
use crate::relay::{self, Relay, RelayCounts, RelaySettings};
use crate::route::{Hop, Route, address};
use crate::routing::{Ipv4Route, add_ipv4};
use crate::status::{LinkStatus, WayStatus};

/// There are as many links as networks 10.77.x.0.
const MOST_LINKS: usize = 250;

/// A link between two ends.
#[derive(Clone, Debug)]
pub struct Link {
    /// Numbers of its near and its far end.
    pub between: (usize, usize),
    /// What packets cross.
    pub route: Route,
    /// The seed with which flows are hashed, where a queue sorts by flow.
    pub seed: u64,
    /// The largest packet, bytes: [`Link::MTUS`].
    pub mtu: u16,
}

impl Link {
    /// The largest packet that a link may have: from the minimum of IPv6 (RFC 8200 section 5) to the jumbo
    /// frames of Ethernet.
    pub const MTUS: RangeInclusive<u16> = 1_280..=9_000;
}

/// Network namespaces, and links between them that run by the wall clock.
#[derive(Debug)]
pub struct Network {
    ends: Vec<Namespace>,
    links: Vec<Running>,
    relay: Option<Relay>,
    outside: Option<Outside>,
    clock: Option<Clock>,
    record: Record,
    file: Option<CaptureFile>,
    missed: u64,
}

/// What is recorded of an emulation.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The time between samples of the hops.
    pub interval: Option<Span>,
    /// Packets as a file: what is sent and arrives at the near end of the first link
    /// ([`Place::Sender`](bentpipe_sim::pcap::Place)), at the far end of the last one, or at the
    /// entries of a link's directions.
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
    /// Makes `ends` namespaces, and the devices of the links in them. No packet is forwarded
    /// before [`Network::start`].
    ///
    /// # Errors
    /// [`EmulationError::Unable`] without the privileges or the device that it takes;
    /// [`EmulationError::Wrong`] if a link is not between two different ends.
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
        if let Some(Link { mtu, .. }) = links.iter().find(|link| !Link::MTUS.contains(&link.mtu)) {
            let (least, most) = (Link::MTUS.start(), Link::MTUS.end());
            let message = format!("the largest packet of a link has {least} to {most} bytes; not {mtu}");
            return Err(EmulationError::Wrong(message));
        }
        let ends = (0..ends).map(|_| Namespace::new()).collect::<Result<Vec<_>, _>>()?;
        let mut network = Self {
            ends,
            links: Vec::new(),
            relay: None,
            outside: None,
            clock: None,
            record,
            file: None,
            missed: 0,
        };
        for (i, link) in links.into_iter().enumerate() {
            let (near, far) = link.between;
            let open = |end: usize, own: Ipv4Addr, own_6: Ipv6Addr| {
                let end = &network.ends[end];
                end.with(|| Device::open(&device(i), own, end.has_ipv6.then_some(own_6), link.mtu))
            };
            let add = |(_, address): &(usize, Ipv4Addr)| add_ipv4(&device(i), *address);
            let devices = open(near, Self::near_address(i), Self::near_ipv6(i)).and_then(|a| {
                let b = open(far, Self::far_address(i), Self::far_ipv6(i))?;
                network.ends[far].with(|| link.route.further.iter().try_for_each(add))?;
                Ok((a, b))
            });
            let needs = "it takes /dev/net/tun (modprobe tun) and CAP_NET_ADMIN";
            let devices = devices.map_err(unable("make a TUN device", needs))?;
            network.links.push(Running { link, devices, forwarders: None });
        }
        Ok(network)
    }

    /// The address of the near end of link `i`.
    pub fn near_address(i: usize) -> Ipv4Addr {
        address(i, 1)
    }

    /// The address of the far end of link `i`.
    pub fn far_address(i: usize) -> Ipv4Addr {
        address(i, 2)
    }

    /// The addresses of the far end of link `i`, each with the index of its flow in the scenario.
    pub fn flow_addresses(&self, i: usize) -> Vec<(usize, Ipv4Addr)> {
        let first = (0, Self::far_address(i));
        let further = self.links.get(i).map_or(&[][..], |running| &running.link.route.further);
        [&[first], further].concat()
    }

    /// The IPv6 address of the near end of link `i`.
    pub fn near_ipv6(i: usize) -> Ipv6Addr {
        Ipv6Addr::new(0xfd77, 0, 0, i as u16, 0, 0, 0, 1)
    }

    /// The IPv6 address of the far end of link `i`.
    pub fn far_ipv6(i: usize) -> Ipv6Addr {
        Ipv6Addr::new(0xfd77, 0, 0, i as u16, 0, 0, 0, 2)
    }

    /// Do the ends have IPv6 addresses? Not if the kernel lacks IPv6, nor with a relay, which splits only
    /// IPv4 connections.
    pub fn has_ipv6(&self) -> bool {
        self.relay.is_none() && self.ends.iter().all(|end| end.has_ipv6)
    }

    /// Time 0: packets are forwarded from now on.
    ///
    /// # Errors
    /// [`EmulationError::Unable`] if the system gives no more threads or descriptors;
    /// [`EmulationError::Capture`] if the file for packets cannot be made.
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
            #[cfg(test)]
            panics_after: None,
        };
        let start = |way: &str, from: &Device, to: &Device, hops: &[Hop], interface| {
            let devices = Devices { from: from.share()?, to: to.share()?, mtu: usize::from(link.mtu) };
            let name = format!("emu{i}-{way}");
            Forwarder::start(&name, devices, hops.to_vec(), link.seed, clock, recording(interface))
        };
        let there = start("forward", near, far, &link.route.forward, 0)?;
        Ok((there, start("reverse", far, near, &link.route.reverse, 1)?))
    }

    /// Makes end 1 a relay (see [`crate::relay`]) between link 0, at its far end, and link 1, at its near
    /// end. Returns the kernel's name of the congestion controller with which it sends.
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
            .with(|| Ipv4Route::to(Self::near_address(1), 24).add("bp0"))
            .and_then(|()| far.with(|| Ipv4Route::to(Self::near_address(0), 24).add("bp1")))
            .and_then(|()| self.ends.iter().try_for_each(|end| end.with(without_ipv6)))
            .and_then(|()| middle.with(|| relay::route_to_itself(&["bp0", "bp1"])));
        routes.map_err(unable("set up the routes of a relay", needs))?;
        let started = middle.with(|| Relay::start(middle.as_fd(), settings));
        let started = started.map_err(unable("start a relay", needs))?;
        Ok(self.relay.insert(started).controller.clone())
    }

    /// Lets the ends reach the network behind `interface`, a device of the namespace of the calling thread,
    /// through `end`, which is the first or the last of a chain of links. Packets of the ends have the
    /// address of the device there: see the module `outside`. With `closed`, packets that come in by the
    /// device are forwarded only if they belong to emulations. Whether the device forwards at all is up to
    /// the caller.
    ///
    /// # Errors
    /// [`EmulationError::Wrong`] if there is no such device or end; [`EmulationError::Unable`] without
    /// CAP_NET_ADMIN, or if the kernel has no packet filter.
    pub fn open_outside(&mut self, end: usize, interface: &str, closed: bool) -> Result<(), EmulationError> {
        let last = self.ends.len() - 1;
        if end != 0 && end != last {
            return Err(EmulationError::Wrong(format!("a way out is at end 0 or {last}; not {end}")));
        }
        if netlink::index(interface).is_err() {
            return Err(EmulationError::Wrong(format!("there is no network interface {interface:?}")));
        }
        let needs = "it takes CAP_NET_ADMIN, and Linux 5.12 with veth, nf_tables and masquerading (CONFIG_NFT_MASQ, nf_conntrack)";
        let outside = Outside::open(&self.ends[end], interface, closed);
        self.outside = Some(outside.map_err(unable("open a way out of the emulation", needs))?);
        // All other ends send packets towards that end if they know no other route.
        for (i, Running { link: Link { between: (near, far), .. }, .. }) in self.links.iter().enumerate() {
            let from = if end == 0 { *far } else { *near };
            let routed = self.ends[from].with(|| Ipv4Route::to_everything(None).add(&device(i)));
            routed.map_err(unable("set up the routes of a way out", needs))?;
        }
        Ok(())
    }

    /// What the relay has done so far; `None` without one.
    pub fn relayed(&self) -> Option<RelayCounts> {
        self.relay.as_ref().map(Relay::counts)
    }

    /// Moves the calling thread to an end. Threads and processes that it starts from now on are there, too.
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

    /// What link `i` has done so far. The forwarding threads are asked for it; they are not held up.
    ///
    /// # Errors
    /// [`EmulationError::Wrong`] if there is no such link; [`EmulationError::Failed`] if a link has stopped
    /// forwarding on its own.
    pub fn status(&self, i: usize) -> Result<LinkStatus, EmulationError> {
        let link = self.links.get(i).ok_or_else(|| EmulationError::Wrong(format!("there is no link {i}")))?;
        let t_s = self.clock.map_or(0.0, |clock| clock.now().secs());
        let Some((forward, reverse)) = &link.forwarders else {
            return Ok(LinkStatus { t_s, ..LinkStatus::default() });
        };
        let (near, far) = link.link.between;
        let (forward, reverse) = (self.counted(i, forward, near, far), self.counted(i, reverse, far, near));
        self.check()?;
        let read = unable("read the kernel's counters", "mount /proc");
        forward.and_then(|forward| Ok(LinkStatus { t_s, forward, reverse: reverse? })).map_err(read)
    }

    /// What one way of link `i` has done, including what the kernel has dropped at its ends.
    fn counted(&self, i: usize, forwarder: &Forwarder, from: usize, to: usize) -> io::Result<WayStatus> {
        let (from, to) = (&self.ends[from].counters, &self.ends[to].counters);
        Ok(WayStatus {
            dropped_before: from.device(&device(i))?.sent,
            dropped_behind: to.device(&device(i))?.received,
            dropped_sockets: to.sockets()?,
            ..forwarder.status()
        })
    }

    /// Do all links still forward?
    ///
    /// # Errors
    /// [`EmulationError::Failed`] if the thread of a link has ended on its own.
    pub fn check(&self) -> Result<(), EmulationError> {
        for (i, link) in self.links.iter().enumerate() {
            let Some((forward, reverse)) = &link.forwarders else { continue };
            for (way, forwarder) in [("forward", forward), ("reverse", reverse)] {
                if let Some(why) = forwarder.failure() {
                    let thread = format!("link {i}, {way}");
                    return Err(EmulationError::Failed { thread, why });
                }
            }
        }
        Ok(())
    }

    /// Ends forwarding, and completes the capture. Packets inside are lost; the counts remain.
    ///
    /// # Errors
    /// [`EmulationError::Capture`] if the packets could not be written.
    pub fn stop(&mut self) -> Result<(), EmulationError> {
        self.outside = None;
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

/// The name of the devices of link `i`, in both namespaces.
fn device(i: usize) -> String {
    format!("bp{i}")
}
