//! What the kernel's TCP cannot carry of an algorithm, so that it runs there without.

use bentpipe_cc::registry::{Entry, Marks, PathFact};

/// What `entry` loses inside the kernel's TCP, a sentence each. The simulation that is compared with it runs without the same.
pub fn gaps(entry: &'static Entry) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if entry.sender.aen {
        found.push("no AEN probe after a timeout: the kernel retransmits at once".into());
    }
    if entry.sender.bulk_repeat {
        found.push("no bulk repeat: the kernel retransmits only what it believes lost".into());
    }
    if entry.sender.fixed_rto {
        found.push("no fixed RTO: the kernel doubles it at every further timeout".into());
    }
    match entry.sender.marks {
        Marks::Any => {}
        Marks::Dctcp => found.push(
            "no exact echo of marks: the kernel's receiver has one for its own dctcp alone; choose that at the other end".into(),
        ),
        Marks::L4s => found.push("no ECT(1): the kernel sends ECT(0), and an L4S queue takes it for classic".into()),
    }
    if entry.uses_path_hints() {
        found.push("no hints about the path: nobody tells the agent of handovers".into());
    }
    if entry.uses_extra_segments() {
        found.push("no extra segments: the kernel sends nothing of low priority beside its data, and the algorithm does without".into());
    }
    for param in entry.params {
        match param.from_path {
            Some(PathFact::BitErrorRate) => {
                found.push(format!("{} is not filled in from the path: give it", param.name));
            }
            Some(PathFact::Paced) => found.push(format!(
                "{} is not filled in from the sender's pacing: give it if the socket is paced",
                param.name
            )),
            // Only the extra segments use it.
            Some(PathFact::ReceiveWindow) | None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::gaps;
    use bentpipe_cc::registry::{self, Marks};

    #[test]
    fn an_algorithm_has_the_gaps_of_its_sender_options_and_no_others() {
        assert!(gaps(registry::find("reno").expect("registered")).is_empty());
        for entry in registry::all() {
            let found = gaps(entry).join("\n");
            assert_eq!(found.contains("AEN"), entry.sender.aen, "{}", entry.id);
            assert_eq!(found.contains("bulk repeat"), entry.sender.bulk_repeat, "{}", entry.id);
            assert_eq!(found.contains("fixed RTO"), entry.sender.fixed_rto, "{}", entry.id);
            assert_eq!(found.contains("echo of marks"), entry.sender.marks == Marks::Dctcp, "{}", entry.id);
            assert_eq!(found.contains("ECT(1)"), entry.sender.marks == Marks::L4s, "{}", entry.id);
            assert_eq!(found.contains("extra segments"), entry.uses_extra_segments(), "{}", entry.id);
            assert_eq!(found.contains("hints"), entry.uses_path_hints(), "{}", entry.id);
        }
        assert!(registry::all().iter().any(|entry| entry.sender.aen));
    }
}
