//! The engine's stores after a run.

use super::*;
use crate::Scenario;

#[test]
fn sack_blocks_of_dropped_acknowledgements_are_freed() {
    // Lossy data, and ACKs that queue at 30 kbit/s and are dropped there.
    for queue in [
        "kind = \"codel\", limit = \"20 packets\", target = \"5 ms\"",
        "kind = \"fq-codel\", limit = \"20 packets\"",
        "kind = \"pie\", limit = \"20 packets\", burst = \"0 s\"",
        "kind = \"priority\", limit = \"20 packets\"",
        "kind = \"drop-tail\", limit = \"20 packets\"",
    ] {
        let text = format!(
            "duration = \"60 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ {queue} }}\n\
             loss = {{ kind = \"packet-error\", rate = 0.02 }}\n\
             [link.x.reverse]\nrate = \"30 kbit/s\"\nloss = {{ kind = \"packet-error\", rate = 0.05 }}\n\
             [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\ncount = 4\ninitial_window = 50\n"
        );
        let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
        let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
        engine.run(&mut |_| true).unwrap();
        let back = engine.links[1].counts;
        assert!(back.dropped_queue > 20 && back.dropped_error > 20, "{queue}: {back:?}");
        // What is still taken belongs to ACKs under way or waiting, of which there are few.
        let taken = engine.sacks.taken();
        assert!(taken <= 20 + 10, "{queue}: {taken}");
    }
}
