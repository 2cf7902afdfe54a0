//! What a controller is told and what it answers, as JSON. python/bentpipe/vectors/schema.json describes it.

use bentpipe_cc::{
    Ack, Congestion, Decision, Event, ExtraOrder, ExtraPayload, Flow, Header, Hint, Life, Load, Pacing,
    Phase, Time,
};
use serde_json::{Map, Value, json};

/// Named values.
pub(super) type JsonFields = Map<String, Value>;

/// The name of a call, and what is given with it; null if nothing is.
pub(super) struct Call(pub(super) &'static str, pub(super) Value);

impl Call {
    pub(super) fn ack(ack: &Ack) -> Self {
        let mut given = json!({
            "acks": ack.acks, "acked": ack.acked, "uncounted": ack.uncounted, "lost": ack.lost, "ce": ack.ce,
            "round_end": ack.round_end,
        });
        if let Some(rtt) = ack.rtt {
            given["rtt_min_ns"] = json!(rtt.min.0);
            given["rtt_max_ns"] = json!(rtt.max.0);
            given["rtt_latest_ns"] = json!(rtt.latest.0);
            given["rtt_sum_ns"] = json!(rtt.sum.0);
            given["rtt_count"] = json!(rtt.count);
        }
        if let Some(rate) = ack.rate {
            given["rate"] = json!(rate.rate.0);
            given["app_limited"] = json!(rate.app_limited);
            given["prior_delivered"] = json!(rate.prior_delivered);
            given["prior_in_flight"] = json!(rate.prior_in_flight);
        }
        let mut given = fields(given);
        given
            .retain(|name, value| name.starts_with("ack") || !(*value == json!(0) || *value == json!(false)));
        Self("ack", Value::Object(given))
    }

    pub(super) fn event(event: &Event<'_>) -> Self {
        match event {
            Event::Congestion(why) => Self("congestion", json!(word(*why))),
            Event::Undo(before) => Self("undo", Value::Object(answer(before))),
            Event::Life(Life::IdleRestart) => Self("idle_restart", Value::Null),
            Event::Life(Life::Recovered) => Self("recovered", Value::Null),
            Event::Life(Life::MssChanged) => Self("mss_changed", Value::Null),
            Event::Validation { cwnd, ssthresh } => {
                Self("validation", json!({ "cwnd": cwnd, "ssthresh": bounded(*ssthresh) }))
            }
            Event::Hint(Hint::PathChange(change)) => {
                Self("path_change", json!({ "ahead_ns": change.ahead.0, "dark_ns": change.dark.0 }))
            }
            Event::Hint(Hint::RateChange(change)) => {
                let (before, after) = (change.from.0, change.to.0);
                Self("rate_change", json!({ "ahead_ns": change.ahead.0, "before": before, "after": after }))
            }
            Event::Hint(Hint::LinkQuality(quality)) => {
                let rate = quality.bit_error_rate;
                Self("link_quality", json!({ "ahead_ns": quality.ahead.0, "bit_error_rate": rate }))
            }
            Event::Subflows { own, all } => {
                let one = |of: &bentpipe_cc::Subflow| {
                    let srtt = of.rtt.map(|rtt| rtt.0);
                    json!({ "cwnd": of.cwnd, "srtt_ns": srtt, "between_losses": of.between_losses })
                };
                Self("subflows", json!({ "own": own, "all": all.iter().map(one).collect::<Vec<_>>() }))
            }
            Event::Departure(_) => Self("departure", Value::Null),
            Event::Header(of) => Self("header", header(of)),
            Event::Room(_) => Self("room", Value::Null),
            Event::ExtraAcked => Self("extra_acked", Value::Null),
            Event::Deadline => Self("deadline", Value::Null),
        }
    }
}

pub(super) fn word(why: Congestion) -> &'static str {
    match why {
        Congestion::Ecn => "ecn",
        Congestion::Loss => "loss",
        Congestion::Timeout => "timeout",
    }
}

/// `u64::MAX` stands for no bound.
fn bounded(value: u64) -> Option<u64> {
    (value < u64::MAX).then_some(value)
}

pub(super) fn flow(flow: &Flow) -> JsonFields {
    let rtt = flow.rtt;
    let phase = match flow.phase {
        Phase::Open => "open",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    };
    fields(json!({
        "now_ns": flow.now.0, "mss": flow.mss, "in_flight": flow.in_flight, "delivered": flow.delivered,
        "lost": flow.lost, "rtt_ns": rtt.map(|rtt| rtt.latest.0), "rtt_min_ns": rtt.map(|rtt| rtt.min.0),
        "srtt_ns": rtt.map(|rtt| rtt.smoothed.0), "rttvar_ns": rtt.map(|rtt| rtt.var.0), "round": flow.round,
        "phase": phase, "cwnd_limited": flow.cwnd_limited, "rwnd": bounded(flow.rwnd), "reduced": flow.reduced,
    }))
}

pub(super) fn answer(decision: &Decision) -> JsonFields {
    let pacing = match decision.pacing {
        Pacing::Off => json!("off"),
        Pacing::Window => json!("window"),
        Pacing::Rate(rate) => json!(rate.0),
    };
    let deadline = (decision.deadline < Time::MAX).then_some(decision.deadline.0);
    fields(json!({
        "cwnd": decision.cwnd, "ssthresh": bounded(decision.ssthresh), "pacing": pacing, "deadline_ns": deadline,
    }))
}

/// A header of a segment or of an acknowledgement; what is infinite is null.
pub(super) fn header(header: &Header) -> Value {
    match *header {
        Header::Change { rtt, spacing, change, computed } => {
            json!({ "kind": "change", "rtt_s": rtt, "spacing_s": spacing, "change": change, "computed": computed })
        }
        Header::Rate { rtt, rate, computed } => {
            json!({ "kind": "rate", "rtt_s": rtt, "rate": rate, "computed": computed })
        }
        Header::Load(load) => {
            let load = match load {
                Load::Unknown => "unknown",
                Load::Low => "low",
                Load::High => "high",
                Load::Over => "over",
            };
            json!({ "kind": "load", "load": load })
        }
        Header::ReceiverRate(rate) => json!({ "kind": "receiver_rate", "rate": rate }),
        Header::Arrival(at) => json!({ "kind": "arrival", "at_ns": at.0 }),
    }
}

pub(super) fn extra(order: &ExtraOrder) -> Value {
    let (payload, ahead) = match order.payload {
        ExtraPayload::Repeated => ("repeated", None),
        ExtraPayload::Unacknowledged => ("unacknowledged", None),
        ExtraPayload::Unsent { ahead } => ("unsent", Some(ahead)),
    };
    json!({ "count": order.count, "gap_ns": order.gap.0, "payload": payload, "ahead_segments": ahead })
}

/// The fields of an object.
pub(super) fn fields(object: Value) -> JsonFields {
    match object {
        Value::Object(fields) => fields,
        _ => JsonFields::new(),
    }
}
