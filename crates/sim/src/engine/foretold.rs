//! What happens ahead of time: it is found out when a run begins, and the recorder is told of it.

use bentpipe_cc::Time;

use super::agenda::Agenda;
use super::folding::{self, END, Hop, Role, Ways};
use super::passage::{self, Entry, Sizes};
use super::{Effort, Engine};
use crate::flow::{Flow, Kind};
use crate::link::Link;
use crate::packet::Packet;

/// Nothing is recorded of what happens ahead of time.
pub(super) const NOTHING: u8 = 0;
/// What receivers deliver.
pub(super) const RECEIVERS: u8 = 1;
/// What links do.
pub(super) const LINKS: u8 = 2;

impl Engine {
    /// Finds out what needs no event of its own.
    pub(super) fn fold(&mut self, effort: Effort) {
        let decides: Vec<bool> = self.links.iter().map(Link::decides_at_departure).collect();
        if effort == Effort::Plain {
            self.links.iter_mut().for_each(Link::be_plain);
        }
        let plainly = effort == Effort::Plain || self.tap.is_some();
        let mut constants = vec![false; self.links.len()];
        if plainly {
            folding::assign_plainly(&mut self.routes, &decides, self.tap.is_some());
        } else {
            let ways = |flow: &Flow| Ways {
                data: flow.data_route,
                acks: matches!(flow.kind, Kind::Tcp(_)).then_some(flow.ack_route),
                prompt: flow.answers_at_once() && self.may_be_ahead(flow),
            };
            let ways: Vec<Ways> = self.flows.iter().map(ways).collect();
            let shared: Vec<bool> = self.links.iter().map(Link::is_shared).collect();
            let feeders = folding::feeders(&self.routes, &shared, &ways);
            folding::assign(&mut self.routes, &decides, &ways, &feeders);
            let usual = self.sizes(Flow::sizes_but_probes);
            constants = passage::constants(&self.links, &feeders, &usual);
            let all = self.sizes(Flow::sizes);
            let known = || usual.single(&constants).and_then(|sizes| self.entries(&sizes));
            if all != usual && known().is_none() {
                constants = passage::constants(&self.links, &feeders, &all);
            }
            self.foretell();
        }
        let mut holds = vec![false; self.links.len()];
        for hop in self.routes.iter().filter(|hop| hop.link != END) {
            holds[hop.link as usize] |= !matches!(hop.role, Role::HandsOn | Role::Delivers);
        }
        let links: Vec<_> = self.links.iter().map(Link::entity).zip(holds).collect();
        self.events = Agenda::new(&links);
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

    /// The constant links, of which the packets have these sizes, if it can be told when those enter. It can if all flows are
    /// connections with the same links: then what comes out of one link is what goes into the next.
    fn entries(&self, sizes: &[Option<u16>]) -> Option<Vec<Entry>> {
        let hops = |first: u32| self.routes[first as usize..].iter().take_while(|hop| hop.link != END);
        let there_and_back = |flow: &Flow| hops(flow.data_route).chain(hops(flow.ack_route));
        let (first, others) = self.flows.split_first()?;
        let links = |flow: &Flow| there_and_back(flow).map(|hop| hop.link).collect::<Vec<_>>();
        let alike = others.iter().all(|flow| {
            hops(flow.data_route).count() == hops(first.data_route).count() && links(flow) == links(first)
        });
        let connections = self.flows.iter().all(|flow| matches!(flow.kind, Kind::Tcp(_)));
        if !(alike && connections) {
            return None;
        }
        passage::entries(there_and_back(first), sizes, &self.links)
    }

    /// The same of the links on passages.
    fn passage_entries(&self) -> Vec<Entry> {
        let mut sizes = vec![None; self.links.len()];
        for passage in &self.passages {
            passage.links(&self.routes).for_each(|(link, size)| sizes[link] = Some(size));
        }
        self.entries(&sizes).unwrap_or_default()
    }

    /// A packet that may not take a passage is about to be sent. What has taken them is entered into the links that it meets.
    #[cold]
    #[inline(never)]
    pub(super) fn close_passages(&mut self) {
        let taken = self.passages.iter().fold(false, |taken, p| p.close(&mut self.routes) | taken);
        let entries = if taken { self.passage_entries() } else { Vec::new() };
        // What comes after the end has not taken a passage.
        for entry in entries.iter().filter(|entry| entry.last <= self.end) {
            self.links[entry.link].is_free_again(entry.last + entry.sending);
        }
    }

    /// A packet that takes passages is about to be sent: may it?
    #[inline]
    pub(super) fn reopen_passages(&mut self) {
        if self.passages.first().is_some_and(|passage| passage.is_closed(&self.routes)) {
            self.open_passages();
        }
    }

    #[cold]
    #[inline(never)]
    fn open_passages(&mut self) {
        let entries = self.passage_entries();
        if entries.iter().all(|entry| self.links[entry.link].free_at() <= entry.next) {
            for (number, passage) in self.passages.iter_mut().enumerate() {
                passage.open(number, &mut self.routes);
            }
        }
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

    /// May the receiver of `flow` be ahead of what the recorder sees of it?
    ///
    /// A sample that an acknowledgement gives rise to has to know which data came before it, of that which came at the same
    /// instant. That is the order of their links, if all that arrives at an instant set out before. (Delays of the flows' own are
    /// entities behind all links of the scenario, as they are among the engine's links.)
    pub(super) fn may_be_ahead(&self, flow: &Flow) -> bool {
        let takes_time = |first: u32| self.links[self.last_hop(first).link as usize].takes_time();
        !self.recorder.has_changes() || (takes_time(flow.data_route) && takes_time(flow.ack_route))
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
