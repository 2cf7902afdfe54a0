//! A scenario with every default written out.

use std::collections::BTreeMap;

use bentpipe_cc::registry::Value;
use bentpipe_cc::{Span, Time};
use bentpipe_tcp::{EcnEcho, Options};

use crate::keys::error::{Error, Key};
use crate::keys::units::{Duration, Size, WindowSize};
use crate::resolve::both_ways;
use crate::resolve::options::{self, common};
use crate::resolve::plan::{CcPlan, FlowPlan, Source};
use crate::resolve::relay;
use crate::resolve::subflows;
use crate::resolve::time_lines::nominal_of_reverse;
use crate::resolve::work::Work;
use crate::scenario::{Arg, BothWays, Cc, EcnKey, Flow, Link, Nominal, Profile, Reverse, Scenario, Traffic};
use crate::workload::Bulk;

impl Scenario {
    /// The same scenario with all defaults written out: options of the profile, a controller's sender options
    /// and path parameters, queues, return directions. It resolves to the same plan. A default that differs
    /// between the senders of a flow has no key of the flow, and is not written.
    ///
    /// # Errors
    /// As for [`Scenario::resolve`].
    pub fn with_defaults(&self) -> Result<Scenario, Error> {
        let plan = self.resolve()?;
        let work = Work { scenario: self, warnings: Vec::new(), instants: BTreeMap::new() };
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
            // A connection of a source of short flows has its own start time.
            let start = if first.opened_by.is_some() { Time(0) } else { first.start };
            flow.start.get_or_insert(Duration(since_start(start)));
            flow.start_jitter.get_or_insert(Duration(first.start_jitter));
            flow.extra_delay.get_or_insert(Duration(most(|part| part.extra_delay)));
            flow.priority.get_or_insert(first.priority);
            flow.traffic.iter_mut().for_each(Traffic::write_out);
            if matches!(&*first.source, Source::Cbr(_)) {
                continue;
            }
            flow.ack_jitter.get_or_insert(Duration(most(|part| part.ack_jitter)));
            flow.traffic.get_or_insert(Traffic::Bulk(Bulk::default()));
            let key = Key::of(["flow"]).with(table as usize);
            let senders = senders(flow);
            let options = senders.iter().map(|sender| options::of(&work, sender, &key));
            let options = options.collect::<Result<Vec<_>, _>>()?;
            fill_options(flow, &options::of(&work, &Flow { cc: None, ..flow.clone() }, &key)?, &options);
            fill_controllers(flow, parts);
        }
        Ok(full)
    }
}

/// The flow as each of its senders has it: the flow itself, the relay, the answering end, each further
/// subflow.
fn senders(flow: &Flow) -> Vec<Flow> {
    let mut all = vec![flow.clone()];
    all.extend(flow.relay.iter().map(|given| relay::behind(flow, given)));
    all.extend(both_ways::is_on(flow).then(|| both_ways::answering(flow)));
    all.extend(flow.subflow.iter().map(|of| subflows::further(flow, of)));
    all
}

/// Writes out the arguments of all controllers. Arguments that a path gives differ between paths.
fn fill_controllers(flow: &mut Flow, parts: &[FlowPlan]) {
    let of_part = |number: usize| match &*parts.get(number)?.source {
        Source::Tcp { cc, .. } => controller(cc),
        Source::Cbr(_) => None,
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
    // Where the forward direction has a file, rate and delay may come from that file. A direction without a
    // delay has the satellite's. Without a rate, its opportunities have their own.
    if link.timeline.is_none() && reverse.timeline.is_none() {
        let rate_is_own = reverse.rate.is_some() || reverse.opportunities.is_some();
        let nominal = nominal_of_reverse(reverse.nominal, link.nominal, rate_is_own, reverse.delay.is_some());
        reverse.nominal = Some(nominal).filter(|nominal| *nominal != Nominal::default());
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

/// Writes out the TCP options. `o` are the options that follow from the flow's keys alone, `senders` those of
/// each of its senders.
fn fill_options(flow: &mut Flow, o: &Options, senders: &[Options]) {
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
    if let Some(segments) = o.receive_window {
        flow.receive_window.get_or_insert(WindowSize::Segments(segments));
    }
    flow.snack.get_or_insert(o.snack.is_some());
    if let Some(octets) = o.snack {
        flow.snack_vector.get_or_insert(octets);
    }
    flow.delayed_ack.get_or_insert(o.delayed_ack.is_some());
    if let Some(timeout) = o.delayed_ack {
        flow.delayed_ack_timeout.get_or_insert(Duration(timeout));
    }
    if let Some(mss) = common(senders, |o| o.mss) {
        flow.mss.get_or_insert(Size(u64::from(mss)));
    }
    if let Some((ecn, echo)) = common(senders, |o| (o.ecn, o.echo)) {
        flow.ecn.get_or_insert(match echo {
            EcnEcho::Rfc3168 => EcnKey::Flag(ecn),
            EcnEcho::Dctcp | EcnEcho::AccEcn => EcnKey::By(echo),
        });
    }
    options::write_out(flow, senders);
    // An infinite threshold cannot be written as text.
    flow.initial_ssthresh = flow.initial_ssthresh.filter(|segments| segments.is_finite());
}
