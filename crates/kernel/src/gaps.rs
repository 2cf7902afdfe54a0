//! What the kernel's TCP cannot carry of an algorithm, which therefore runs there without it.

use bentpipe_cc::registry::{Entry, Marks, PathFact};

/// What `entry` loses inside the kernel's TCP, one sentence each. The simulation that is compared with it
/// runs without the same.
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
    let needs = entry.needs();
    if needs.path_change {
        found.push("no hints about the path: nobody tells the agent of handovers".into());
    }
    if needs.link_quality {
        found.push("no hints about the errors of the link: nobody tells the agent of them".into());
    }
    if needs.extra_segments {
        found.push("no extra segments: the kernel sends nothing of low priority beside its data, and the algorithm does without".into());
    }
    if needs.echo.is_some() {
        found.push(match (entry.sender.queue, entry.sender.header) {
            (Some(queue), _) => format!("no header for queues of kind {queue}: without it the algorithm behaves as Reno"),
            (None, 0) => "no times of arrival: the kernel's receiver does not tell them, and the sender's clock takes their place".into(),
            (None, _) => "no rate from the receiver: the kernel's works out none, so the flow keeps the rate with which it began".into(),
        });
    }
    if needs.subflows {
        found.push("no other subflows: each connection is alone, and the algorithm is Reno".into());
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
            assert_eq!(found.contains("extra segments"), entry.needs().extra_segments, "{}", entry.id);
            let needs = entry.needs();
            assert_eq!(found.contains("hints about the path"), needs.path_change, "{}", entry.id);
            assert_eq!(found.contains("hints about the errors"), needs.link_quality, "{}", entry.id);
            assert_eq!(
                found.contains("subflows"),
                ["lia", "olia", "balia"].contains(&entry.id),
                "{}",
                entry.id
            );
            assert_eq!(found.contains("header"), ["xcp", "vcp", "rcp"].contains(&entry.id), "{}", entry.id);
            assert_eq!(found.contains("times of arrival"), entry.id == "new-jersey", "{}", entry.id);
            assert_eq!(found.contains("no rate from the receiver"), entry.id == "tear", "{}", entry.id);
        }
        assert!(registry::all().iter().any(|entry| entry.sender.aen));
    }
}
