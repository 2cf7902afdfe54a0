//! Handovers of stations while a constellation runs. All of them are known before: whoever has packets for a station
//! knows when it leaves a satellite, and for how long it then neither sends nor receives.

use std::collections::VecDeque;

use bentpipe_cc::Time;

use crate::constellation::plan::NetworkPlan;
use crate::constellation::source::Handoff;
use crate::scenario::LeftBehind;

/// The state of all handovers.
#[derive(Debug)]
pub(super) struct Handovers {
    /// For each station until when it neither sends nor receives; empty if handovers take no time.
    silent: Vec<Time>,
    /// How many handovers `silent` knows.
    passed: usize,
    /// For each port the handovers to come on its links, and the nodes at the other ends; empty if packets that wait
    /// there stay.
    leaves: Vec<VecDeque<(Time, u32)>>,
}

impl Handovers {
    pub(super) fn new(plan: &NetworkPlan) -> Self {
        let (of, rules) = (&plan.constellation, plan.rules);
        let stations = if rules.outage.0 > 0 { of.stations.len() } else { 0 };
        let mut leaves = Vec::new();
        if rules.queue != LeftBehind::Kept {
            leaves.resize(plan.ports.len(), VecDeque::new());
            for &Handoff { at, station, satellite } in &*plan.departures {
                for (node, to) in [(station, satellite), (satellite, station)] {
                    let port = plan.port_to(node, to).map(|port| port as usize);
                    port.into_iter().for_each(|port| leaves[port].push_back((at, to)));
                }
            }
        }
        Self { silent: vec![Time(0); stations], passed: 0, leaves }
    }

    /// Lets the outages of `now` begin.
    pub(super) fn go_to(&mut self, plan: &NetworkPlan, now: Time) {
        if self.silent.is_empty() {
            return;
        }
        while let Some(of) = plan.departures.get(self.passed).filter(|of| of.at <= now) {
            self.silent[(of.station - plan.constellation.satellites) as usize] = of.at + plan.rules.outage;
            self.passed += 1;
        }
    }

    /// Until when this station, by its number, neither sends nor receives; in the past if it does.
    pub(super) fn silent_until(&self, station: u32) -> Time {
        self.silent.get(station as usize).copied().unwrap_or(Time(0))
    }

    /// The next instant at which packets that wait in a port may not stay there.
    pub(super) fn next(&self, port: usize) -> Option<Time> {
        Some(self.leaves.get(port)?.front()?.0)
    }

    /// The nodes at the far ends of the links of a port that are left by `now`; each is given once.
    pub(super) fn take(&mut self, port: usize, now: Time) -> Vec<u32> {
        let Some(leaves) = self.leaves.get_mut(port) else { return Vec::new() };
        let count = leaves.partition_point(|(at, _)| *at <= now);
        leaves.drain(..count).map(|(_, to)| to).collect()
    }
}
