//! What quinn's trait carries of each algorithm, as JSON; `scripts/quic_md.py` makes the table
//! of `docs/quic.md` from it.

use bentpipe_quic::carried::{self, Carried, OwnPacing};
use serde_json::{Value, json};

fn main() {
    let rows: Vec<Value> = carried::all().iter().map(row).collect();
    println!("{}", Value::from(rows));
}

fn row(of: &Carried) -> Value {
    let pacing = match of.pacing {
        OwnPacing::Sender => "sender",
        OwnPacing::Faster => "faster",
        OwnPacing::Binding => "binding",
    };
    let options: Vec<&str> = of.sender_options().collect();
    json!({
        "id": of.entry.id, "label": of.entry.label, "pacing": pacing, "own_recovery": of.own_recovery, "undo": of.undo, "ecn": of.ecn,
        "rate_samples": of.rate_samples, "timer": of.timer, "restart": of.restart, "receive_window": of.receive_window,
        "path_hints": of.path_hints, "receiver": of.receiver, "subflows": of.subflows, "sender_options": options,
    })
}
