//! What happens ahead of time: it is found out when a run begins, and the recorder is told of it.

use std::collections::BTreeMap;

use bentpipe_cc::{Span, Time};

use super::agenda::{Agenda, Entry};
use super::folding::{self, END, Hop, Role, Ways};
use super::passage::{self, Sizes};
use super::places::Places;
use super::{Effort, Engine};
use crate::host::flow::{Flow, Kind};
use crate::link::direction::Link;
use crate::link::packet::Packet;
use crate::resolve::plan::{CcPlan, FlowPlan, Plan, Source};

/// Nothing is recorded of what happens ahead of time.
pub(super) const NOTHING: u8 = 0;
/// What receivers deliver.
pub(super) const RECEIVERS: u8 = 1;
/// What links do.
pub(super) const LINKS: u8 = 2;

impl Engine {
    /// Finds out what needs no event of its own.
    pub(super) fn fold(&mut self, plan: &Plan, effort: Effort) {
        let decides: Vec<bool> = self.links.iter().map(Link::decides_at_departure).collect();
        if effort == Effort::Plain {
            self.links.iter_mut().for_each(Link::be_plain);
        }
        let all = self.sizes(Flow::sizes);
        let seen = self.tap.as_ref().is_some_and(|tap| tap.captures());
        // A loss that is known ahead of time is written down in its order, which instant and entity tell.
        let mixed = self.tap.is_some() && !self.all_links(&all, Link::parts_packets);
        let plainly = effort == Effort::Plain || seen || mixed || !self.all_links(&all, Link::takes_time);
        let mut constants = vec![false; self.links.len()];
        if plainly {
            folding::assign_plainly(&mut self.routes, &decides, seen);
        } else {
            let ways = |flow: &Flow| Ways {
                data: flow.data_route,
                acks: matches!(flow.kind, Kind::Tcp(_)).then_some(flow.ack_route),
                prompt: flow.answers_at_once() && self.may_be_ahead(flow, &all),
            };
            let ways: Vec<Ways> = self.flows.iter().map(ways).collect();
            let shared: Vec<bool> = self.links.iter().map(Link::is_shared).collect();
            let feeders = folding::feeders(&self.routes, &shared, &ways);
            folding::assign(&mut self.routes, &decides, &ways, &feeders);
            let usual = self.sizes(Flow::sizes_but_probes);
            constants = passage::constants(&self.links, &feeders, &usual);
            let known = || usual.single(&constants).and_then(|sizes| self.entries(&sizes));
            if all != usual && known().is_none() {
                constants = passage::constants(&self.links, &feeders, &all);
            }
            if all == usual {
                // Links of passages that are closed and opened again may be told of packets that come later.
                for (i, link) in self.links.iter_mut().enumerate() {
                    link.expect_sizes(all.of(i));
                }
            }
            self.foretell();
            if self.order_is_free(plan) {
                let delays: Vec<Span> = self.links.iter().map(Link::delay).collect();
                self.places = Places::find(&self.routes, &delays, &ways, self.capacity());
            }
        }
        let mut holds = vec![false; self.links.len()];
        for hop in self.routes.iter().filter(|hop| hop.link != END) {
            holds[hop.link as usize] |= hop.role.holds();
        }
        let entry = |(i, link): (usize, &Link)| Entry {
            entity: link.entity(),
            holds: holds[i],
            place: self.places.of(i) as u32,
        };
        let links: Vec<Entry> = self.links.iter().enumerate().map(entry).collect();
        self.events = Agenda::new(self.places.count, &links);
        let firsts = self.flows.iter_mut().flat_map(|flow| {
            let [data, acks] = flow.usual_sizes();
            [(&mut flow.data_route, data), (&mut flow.ack_route, acks)]
        });
        let (routes, firsts) = folding::share(&self.routes, firsts);
        self.routes = routes;
        for (first, size) in firsts {
            passage::find(&mut self.routes, first, size, &self.links, &constants, &mut self.passages);
        }
        for passage in &self.passages {
            self.recorder.expect_passage(passage.delivers(&self.routes, &self.links));
        }
    }

    /// Is nobody looking who could tell in which order things happen that have nothing to do with each other? What is recorded is
    /// in the order of time, and controllers from outside may know of each other.
    fn order_is_free(&self, plan: &Plan) -> bool {
        let from_outside =
            |flow: &FlowPlan| matches!(&*flow.source, Source::Tcp { cc: CcPlan::Supplied { .. }, .. });
        !plan.flows.iter().any(from_outside)
            && !self.recorder.has_changes()
            && self.recorder.first_tick().is_none()
    }

    /// How many packets of data a second the links let through that are the slowest of any flow's.
    fn capacity(&self) -> f64 {
        let mut slowest = BTreeMap::new();
        for flow in &self.flows {
            let hops = self.routes[flow.data_route as usize..].iter().take_while(|hop| hop.link != END);
            let rates = hops.map(|hop| (self.links[hop.link as usize].rate_bps(), hop.link));
            if let Some((rate, link)) = rates.filter(|&(rate, _)| rate > 0).min() {
                let [size, _] = flow.usual_sizes();
                slowest.insert(link, rate as f64 / 8.0 / f64::from(size.max(1)));
            }
        }
        slowest.values().sum()
    }

    /// What sizes of packets may come to each link.
    fn sizes(&self, of: impl Fn(&Flow) -> [Vec<u16>; 2]) -> Sizes {
        let mut sizes = Sizes::new(self.links.len());
        for flow in &self.flows {
            let [data, acks] = of(flow);
            sizes.add(&self.routes[flow.data_route as usize..], &data);
            sizes.add(&self.routes[flow.ack_route as usize..], &acks);
        }
        sizes
    }

    /// Does this hold for all packets that may come to each link of the scenario?
    ///
    /// Where packets take no time, what happens at an instant may give rise to events of the same instant with lower numbers, which come
    /// after it although their order says before. What is known ahead of time stands in its order, and a link that two others feed
    /// would see their packets the other way round. (A flow's own delay takes time, but for a random one; that is an entity behind all
    /// links that lead to it.)
    fn all_links(&self, sizes: &Sizes, holds: fn(&Link, u16) -> bool) -> bool {
        let mut links = self.links[..self.public_links].iter().enumerate();
        links.all(|(i, link)| sizes.of(i).iter().all(|&size| holds(link, size)))
    }

    /// May the receiver of `flow` be ahead of what the recorder sees of it?
    ///
    /// A sample that an acknowledgement gives rise to has to know which data came before it, of that which came at the same
    /// instant. That is the order of their links, unless both come by one link and in one nanosecond. (Delays of the flows' own are
    /// entities behind all links of the scenario, as they are among the engine's links.)
    fn may_be_ahead(&self, flow: &Flow, sizes: &Sizes) -> bool {
        let [data, acks] = [flow.data_route, flow.ack_route].map(|first| self.last_hop(first).link as usize);
        let apart = |size: &u16| self.links[data].parts_packets(*size);
        !self.recorder.has_changes() || data != acks || sizes.of(data).iter().all(apart)
    }

    /// Finds out what the recorder has to be told, the roles of all links being known.
    pub(super) fn foretell(&mut self) {
        let ends = |flow: &Flow| (self.last_hop(flow.data_route), self.last_hop(flow.ack_route));
        if self.recorder.has_flows() && self.flows.iter().any(|flow| ends(flow).0.role == Role::Delivers) {
            let ends = self.flows.iter().map(ends);
            let acks_first: Vec<bool> = ends.map(|(data, acks)| acks.link < data.link).collect();
            self.recorder.expect_receivers(&acks_first);
            self.told |= RECEIVERS;
        }
        if self.recorder.has_links() {
            self.told |= LINKS;
        }
    }

    /// The last hop of the route that begins at `first`.
    fn last_hop(&self, first: u32) -> Hop {
        let hops = self.routes[first as usize..].iter().take_while(|hop| hop.link != END);
        hops.last().copied().unwrap_or(Hop::LAST)
    }

    /// [`Engine::forward`], if the recorder may have to be told.
    #[inline]
    pub(super) fn go_further(&mut self, packet: &mut Packet) {
        match self.told {
            NOTHING => self.forward::<NOTHING>(packet),
            RECEIVERS => self.forward::<RECEIVERS>(packet),
            _ => self.forward::<{ RECEIVERS | LINKS }>(packet),
        }
    }

    /// Tells the recorder what the receiver of flow `f` has delivered with what came at `at`.
    #[inline]
    pub(super) fn tell_receiver(&mut self, at: Time, f: usize) {
        if let Kind::Tcp(tcp) = &self.flows[f].kind {
            self.recorder.received(self.now, at, f, tcp.receiver.delivered());
        }
    }
}
