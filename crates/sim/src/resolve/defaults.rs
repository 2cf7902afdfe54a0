//! A scenario with every default written out.

use std::collections::BTreeMap;

use bentpipe_cc::registry::Value;
use bentpipe_cc::{Span, Time};
use bentpipe_tcp::{AckRule, EcnEcho, LossRecovery, NewRenoExit, Options, RtoRule, SpuriousTimeout};

use crate::resolve::plan::{CcPlan, FlowPlan, Source};
use crate::resolve::workload;
use crate::scenario::error::Error;
use crate::scenario::units::{Duration, Size, WindowSize};
use crate::scenario::{
    Acks, Arg, BothWays, Cc, EcnKey, Flow, FullAck, Link, MarkEcho, Profile, Recovery, Reverse, Rto,
    Scenario, Spurious, Traffic,
};

impl Scenario {
    /// The same scenario with all defaults written out: options of the profile, a controller's sender options and path parameters, queues,
    /// return directions. It resolves to the same plan.
    ///
    /// # Errors
    /// As for [`Scenario::resolve`].
    pub fn with_defaults(&self) -> Result<Scenario, Error> {
        let plan = self.resolve()?;
        let mut full = self.clone();
        for link in full.link.values_mut() {
            fill_link(link);
        }
        for (table, flow) in (0..).zip(&mut full.flow) {
            let from = plan.flows.partition_point(|copy| copy.table < table);
            let (first, second) = (plan.flows.get(from), plan.flows.get(from + 1));
            let Some(first) = first else { break };
            let client = second.filter(|_| flow.relay.is_some()).unwrap_or(first);
            let connection = || plan.flows[from..].iter().take(first.part.count());
            let most = |of: fn(&FlowPlan) -> Span| connection().map(of).max().unwrap_or(Span::ZERO);
            // A connection of a source of short flows has a start of its own.
            let start = if first.opened_by.is_some() { Time(0) } else { first.start };
            flow.start.get_or_insert(Duration(since_start(start)));
            flow.start_jitter.get_or_insert(Duration(first.start_jitter));
            flow.extra_delay.get_or_insert(Duration(most(|part| part.extra_delay)));
            flow.priority.get_or_insert(first.priority);
            match &*first.source {
                Source::Cbr { packet, .. } => {
                    if let Some(Traffic::Cbr { packet: size, .. }) = &mut flow.traffic {
                        size.get_or_insert(Size(u64::from(*packet)));
                    }
                }
                Source::Tcp { cc, options, application, .. } => {
                    flow.ack_jitter.get_or_insert(Duration(most(|part| part.ack_jitter)));
                    flow.traffic.get_or_insert(Traffic::Bulk { size: None });
                    let mut options = **options;
                    if application.is_some() {
                        options.mss = workload::mss(flow, &options);
                    }
                    match (&*client.source, &mut flow.relay) {
                        (Source::Tcp { cc, options: of_client, .. }, Some(relay)) => {
                            options.receive_window = of_client.receive_window;
                            relay.initial_window.get_or_insert(of_client.initial_window);
                            relay.cc = controller(cc).or_else(|| relay.cc.take()).or_else(|| flow.cc.clone());
                        }
                        // What each controller asks of its own sender is no option of both halves, nor of all subflows.
                        _ if first.subflow.is_some() => {}
                        // What each controller asks of its own sender is no option of both halves.
                        _ if matches!(&flow.both_ways, Some(BothWays::Back(back)) if back.cc.is_some()) => {}
                        _ => fill_wishes(flow, &options),
                    }
                    flow.cc = controller(cc).or_else(|| flow.cc.take());
                    if agree_on_marks(&options, &client.source) {
                        fill_marks(flow, &options);
                    }
                    fill_options(flow, &options);
                }
            }
        }
        Ok(full)
    }
}

fn since_start(time: Time) -> Span {
    time.since(Time(0))
}

fn fill_link(link: &mut Link) {
    let forward = link.queue.get_or_insert_default().clone();
    let reverse = link.reverse.get_or_insert_with(Reverse::default);
    // Where the forward direction has a file, rate and delay may be that file's. A direction without a delay has the satellite's.
    if link.timeline.is_none() && reverse.timeline.is_none() {
        reverse.rate = reverse.rate.take().or_else(|| link.rate.clone());
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
    flow.mss.get_or_insert(Size(u64::from(o.mss)));
    flow.header.get_or_insert(Size(u64::from(o.header)));
    // A written-out size excludes the SACK option.
    if !o.ack_grows {
        flow.ack_size.get_or_insert(Size(u64::from(o.ack_size)));
    }
    flow.initial_window.get_or_insert(o.initial_window);
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
    flow.idle_restart.get_or_insert(o.idle_restart);
    flow.pacing.get_or_insert(o.pacing);
}

/// Do both halves of a flow tell of marks in one way? What each controller asks for is no option of both.
fn agree_on_marks(first: &Options, client: &Source) -> bool {
    match client {
        Source::Tcp { options, .. } => {
            (options.ecn, options.echo, options.ect1) == (first.ecn, first.echo, first.ect1)
        }
        Source::Cbr { .. } => true,
    }
}

fn fill_marks(flow: &mut Flow, o: &Options) {
    flow.ecn.get_or_insert(match (o.ecn, o.echo) {
        (ecn, EcnEcho::Rfc3168) => EcnKey::Flag(ecn),
        (_, EcnEcho::Dctcp) => EcnKey::By(MarkEcho::Dctcp),
        (_, EcnEcho::AccEcn) => EcnKey::By(MarkEcho::AccEcn),
    });
    flow.ect1.get_or_insert(o.ect1);
}

/// The options that a controller asks for.
fn fill_wishes(flow: &mut Flow, o: &Options) {
    flow.aen.get_or_insert(o.aen);
    flow.bulk_repeat.get_or_insert(o.bulk_repeat);
    flow.fixed_rto.get_or_insert(o.fixed_rto);
}
