//! A scenario with every default written out.

use std::collections::BTreeMap;

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{Span, Time};
use bentpipe_tcp::{AckRule, EcnEcho, LossRecovery, NewRenoExit, Options, RtoRule, SpuriousTimeout};

use crate::resolve::both_ways;
use crate::resolve::options;
use crate::resolve::plan::{CcPlan, FlowPlan, Source};
use crate::resolve::relay;
use crate::resolve::subflows;
use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key};
use crate::scenario::units::{Duration, Size, WindowSize};
use crate::scenario::{
    Acks, Arg, BothWays, Cc, EcnKey, Flow, FullAck, Link, MarkEcho, Profile, Recovery, Reverse, Rto,
    Scenario, Spurious, Traffic,
};

impl Scenario {
    /// The same scenario with all defaults written out: options of the profile, a controller's sender options and path parameters, queues,
    /// return directions. It resolves to the same plan. A default that differs between the senders of a flow has no key of the flow, and is
    /// not written.
    ///
    /// # Errors
    /// As for [`Scenario::resolve`].
    pub fn with_defaults(&self) -> Result<Scenario, Error> {
        let plan = self.resolve()?;
        let work = Work { scenario: self, warnings: Vec::new(), opportunities: BTreeMap::new() };
        let mut full = self.clone();
        for link in full.link.values_mut() {
            fill_link(link);
        }
        for (table, flow) in (0..).zip(&mut full.flow) {
            let from = plan.flows.partition_point(|copy| copy.table < table);
            let Some(first) = plan.flows.get(from) else { break };
            let begins = |flow: &FlowPlan| flow.ties.as_ref().map(|ties| ties.first);
            let with = |flow: &&FlowPlan| begins(flow) == Some(from);
            let parts = &plan.flows[from..][..plan.flows[from..].iter().take_while(with).count().max(1)];
            let most = |of: fn(&FlowPlan) -> Span| parts.iter().map(of).max().unwrap_or(Span::ZERO);
            // A connection of a source of short flows has a start of its own.
            let start = if first.opened_by.is_some() { Time(0) } else { first.start };
            flow.start.get_or_insert(Duration(since_start(start)));
            flow.start_jitter.get_or_insert(Duration(first.start_jitter));
            flow.extra_delay.get_or_insert(Duration(most(|part| part.extra_delay)));
            flow.priority.get_or_insert(first.priority);
            if let Source::Cbr { packet, .. } = &*first.source {
                if let Some(Traffic::Cbr { packet: size, .. }) = &mut flow.traffic {
                    size.get_or_insert(Size(u64::from(*packet)));
                }
                continue;
            }
            flow.ack_jitter.get_or_insert(Duration(most(|part| part.ack_jitter)));
            flow.traffic.get_or_insert(Traffic::Bulk { size: None });
            let key = Key::of(["flow"]).with(table as usize);
            let senders = senders(flow);
            let options = senders.iter().map(|sender| options::of(&work, sender, &key));
            let options = options.collect::<Result<Vec<_>, _>>()?;
            // What follows from the flow's keys alone.
            fill_options(flow, &options::of(&work, &Flow { cc: None, ..flow.clone() }, &key)?);
            fill_what_all_ask_for(flow, &senders, &options);
            fill_controllers(flow, parts);
        }
        Ok(full)
    }
}

/// The flow as each of its senders has it: itself, the relay, the end that answers, each further subflow.
fn senders(flow: &Flow) -> Vec<Flow> {
    let mut all = vec![flow.clone()];
    all.extend(flow.relay.iter().map(|given| relay::behind(flow, given)));
    all.extend(both_ways::is_on(flow).then(|| both_ways::answering(flow)));
    all.extend(flow.subflow.iter().map(|of| subflows::further(flow, of)));
    all
}

/// Writes out the arguments of all controllers, of which those that a path gives differ between paths.
fn fill_controllers(flow: &mut Flow, parts: &[FlowPlan]) {
    let of_part = |number: usize| match &*parts.get(number)?.source {
        Source::Tcp { cc, .. } => controller(cc),
        Source::Cbr { .. } => None,
    };
    let inherited = flow.cc.clone();
    if let Some(relay) = &mut flow.relay {
        relay.cc = of_part(1).or_else(|| relay.cc.take()).or_else(|| inherited.clone());
    }
    if let Some(BothWays::Back(back)) = &mut flow.both_ways {
        back.cc = of_part(1).or_else(|| back.cc.take()).or_else(|| inherited.clone());
    }
    for (number, subflow) in (1..).zip(&mut flow.subflow) {
        subflow.cc = of_part(number).or_else(|| subflow.cc.take()).or_else(|| inherited.clone());
    }
    flow.cc = of_part(0).or(inherited);
}

fn since_start(time: Time) -> Span {
    time.since(Time(0))
}

fn fill_link(link: &mut Link) {
    let forward = link.queue.get_or_insert_default().clone();
    let reverse = link.reverse.get_or_insert_with(Reverse::default);
    // Where the forward direction has a file, rate and delay may be that file's. A direction without a delay has the satellite's. Without a
    // rate its opportunities have their own.
    if link.timeline.is_none() && reverse.timeline.is_none() {
        if reverse.opportunities.is_none() {
            reverse.rate = reverse.rate.take().or_else(|| link.rate.clone());
        }
        reverse.delay = reverse.delay.take().or_else(|| link.delay.clone());
    }
    reverse.queue.get_or_insert(forward);
}

/// A registered controller with all its arguments.
fn controller(cc: &CcPlan) -> Option<Cc> {
    if let CcPlan::Registered { id, args } = cc {
        let args = args.iter().map(|(name, value)| {
            let value = match value {
                Value::Number(x) => Arg::Number(*x),
                Value::Flag(x) => Arg::Flag(*x),
                Value::Text(x) => Arg::Text(x.clone()),
            };
            (name.clone(), value)
        });
        return Some(Cc { name: (*id).to_owned(), args: args.collect::<BTreeMap<_, _>>() });
    }
    None
}

fn fill_options(flow: &mut Flow, o: &Options) {
    flow.profile.get_or_insert(Profile::default());
    flow.header.get_or_insert(Size(u64::from(o.header)));
    // A written-out size excludes the SACK option.
    if !o.ack_grows {
        flow.ack_size.get_or_insert(Size(u64::from(o.ack_size)));
    }
    let initial_window = *flow.initial_window.get_or_insert(o.initial_window);
    if let Some(relay) = &mut flow.relay {
        relay.initial_window.get_or_insert(initial_window);
    }
    if let Some(BothWays::Back(back)) = &mut flow.both_ways {
        back.initial_window.get_or_insert(initial_window);
    }
    if o.initial_ssthresh.is_finite() {
        flow.initial_ssthresh.get_or_insert(o.initial_ssthresh);
    }
    if let Some(segments) = o.receive_window {
        flow.receive_window.get_or_insert(WindowSize::Segments(segments));
    }
    flow.recovery.get_or_insert(match o.recovery {
        LossRecovery::Sack => Recovery::Sack,
        LossRecovery::NewReno => Recovery::NewReno,
        LossRecovery::Reno => Recovery::Reno,
        LossRecovery::Tahoe => Recovery::Tahoe,
    });
    flow.snack.get_or_insert(o.snack.is_some());
    if let Some(octets) = o.snack {
        flow.snack_vector.get_or_insert(octets);
    }
    flow.rack.get_or_insert(o.rack);
    flow.tlp.get_or_insert(o.tlp);
    flow.dsack.get_or_insert(o.dsack);
    flow.sack_restarts_rto.get_or_insert(o.sack_restarts_rto);
    // Only a fast recovery without SACK may say how it ends.
    if matches!(o.recovery, LossRecovery::Reno | LossRecovery::NewReno) {
        flow.newreno_exit.get_or_insert(match o.newreno_exit {
            NewRenoExit::FlightSize => FullAck::FlightSize,
            NewRenoExit::Ssthresh => FullAck::Ssthresh,
        });
    }
    flow.prr.get_or_insert(o.prr);
    flow.byte_counting.get_or_insert(o.byte_counting);
    flow.slow_start_limit.get_or_insert(o.slow_start_limit);
    flow.limited_transmit.get_or_insert(o.limited_transmit);
    flow.delayed_ack.get_or_insert(o.delayed_ack.is_some());
    if let Some(timeout) = o.delayed_ack {
        flow.delayed_ack_timeout.get_or_insert(Duration(timeout));
    }
    flow.acks.get_or_insert(match o.acks {
        AckRule::Rfc5681 => Acks::Rfc5681,
        AckRule::Linux => Acks::Linux,
    });
    flow.timestamps.get_or_insert(o.timestamps);
    flow.handshake.get_or_insert(o.handshake);
    flow.initial_rto.get_or_insert(Duration(o.initial_rto));
    flow.rto.get_or_insert(match o.rto {
        RtoRule::Rfc6298 => Rto::Rfc6298,
        RtoRule::Linux => Rto::Linux,
    });
    flow.min_rto.get_or_insert(Duration(o.min_rto));
    flow.max_rto.get_or_insert(Duration(o.max_rto));
    flow.granularity.get_or_insert(Duration(o.granularity));
    flow.spurious.get_or_insert(match o.spurious {
        SpuriousTimeout::Off => Spurious::Off,
        SpuriousTimeout::FRto => Spurious::FRto,
        SpuriousTimeout::Eifel => Spurious::Eifel,
    });
    flow.pacing.get_or_insert(o.pacing);
}

/// Writes out what controllers ask of their senders, where all senders of the flow are asked for the same.
fn fill_what_all_ask_for(flow: &mut Flow, senders: &[Flow], options: &[Options]) {
    if let Some(mss) = common(options, |o| o.mss) {
        flow.mss.get_or_insert(Size(u64::from(mss)));
    }
    if let Some(restart) = common(options, |o| o.idle_restart) {
        flow.idle_restart.get_or_insert(restart);
    }
    if let Some((ecn, echo, ect1)) = common(options, |o| (o.ecn, o.echo, o.ect1)) {
        flow.ecn.get_or_insert(match echo {
            EcnEcho::Rfc3168 => EcnKey::Flag(ecn),
            EcnEcho::Dctcp => EcnKey::By(MarkEcho::Dctcp),
            EcnEcho::AccEcn => EcnKey::By(MarkEcho::AccEcn),
        });
        flow.ect1.get_or_insert(ect1);
    }
    let asked = |sender: &Flow| {
        let entry = sender.cc.as_ref().and_then(|cc| registry::find(&cc.name));
        entry.map_or((false, false, false), |e| (e.sender.aen, e.sender.bulk_repeat, e.sender.fixed_rto))
    };
    if let Some((aen, bulk_repeat, fixed_rto)) = common(senders, asked) {
        flow.aen.get_or_insert(aen);
        flow.bulk_repeat.get_or_insert(bulk_repeat);
        flow.fixed_rto.get_or_insert(fixed_rto);
    }
}

/// What is the same of all, if it is.
fn common<T, V: PartialEq>(all: &[T], of: impl Fn(&T) -> V) -> Option<V> {
    let mut values = all.iter().map(of);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
