//! The classes of packets, where a queue sorts them by flow.

use crate::link::random::Stream;
use crate::queue::Class;
use crate::resolve::plan::{DirectionPlan, FlowPlan};

/// The classes of each flow's data and acknowledgements, alternating, at the direction called `name`. Empty
/// if its queue does not sort by flow.
///
/// A flow's hash is a draw from a stream named after the direction and the flow, so it depends on no other
/// flow.
pub(super) fn find(plan: &DirectionPlan, seed: u64, name: &str, flows: &[FlowPlan]) -> Box<[Class]> {
    if !plan.discipline.plan().sorts_by_flow() {
        return Box::default();
    }
    let class = |flow: &FlowPlan, what: &str| {
        let mut stream =
            Stream::new(seed, &format!("{name}/{}/{}/{what}", plan.discipline.kind(), flow.name));
        Class::drawn(flow.priority, stream.uniform())
    };
    let classes = |flow: &FlowPlan| match flow.duplex() {
        // The data of one direction and the acknowledgements of the other are packets of
        // one connection, one way.
        Some(duplex) if !duplex.opens => {
            [class(&flows[duplex.other], "ack"), class(&flows[duplex.other], "data")]
        }
        _ => [class(flow, "data"), class(flow, "ack")],
    };
    flows.iter().flat_map(classes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// The queues, out of `queues`, that these flows are hashed to: data and acknowledgements alternate.
    fn queues(queues: u32, seed: u64, name: &str, flows: &[&str]) -> Vec<u32> {
        let flow = |name: &&str| format!("[[flow]]\nname = \"{name}\"\ncc = \"reno\"\npath = [\"x\"]\n");
        let flows: String = flows.iter().map(flow).collect();
        let link = "[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\nqueue = { kind = \"fq-codel\" }\n";
        let text = format!("duration = \"1 s\"\n{link}{flows}");
        let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a scenario");
        let classes = find(&plan.links[0].forward, seed, name, &plan.flows);
        classes.iter().map(|class| class.queue_of(queues)).collect()
    }

    #[test]
    fn data_and_the_acknowledgements_beside_it_are_in_one_queue_where_both_ends_write() {
        let found = queues(1024, 1, "x", &["a\"\nboth_ways = true #"]);
        let [data, acks, data_back, acks_back] = found[..] else { unreachable!("two flows") };
        assert_eq!((data, acks), (acks_back, data_back));
        assert_ne!(data, acks);
    }

    #[test]
    fn the_queue_of_a_flow_depends_on_link_seed_and_name_alone() {
        assert_eq!(queues(1024, 1, "x", &["b"]), queues(1024, 1, "x", &["a", "b"])[2..]);
        assert_ne!(queues(1024, 1, "x", &["a", "b", "c"]), queues(1024, 2, "x", &["a", "b", "c"]));
        assert_ne!(queues(1024, 1, "x", &["a", "b", "c"]), queues(1024, 1, "y", &["a", "b", "c"]));
        assert!(queues(1, 1, "x", &["a", "b", "c"]).iter().all(|q| *q == 0));
        // Uniform: 2000 keys into 8 queues, chi-square with 7 degrees of freedom, 1 % point 18.5.
        let names: Vec<String> = (0..1000).map(|i| format!("f-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut seen = [0_f64; 8];
        queues(8, 1, "x", &names).iter().for_each(|q| seen[*q as usize] += 1.0);
        let chi: f64 = seen.iter().map(|n| (n - 250.0) * (n - 250.0) / 250.0).sum();
        assert!(chi < 18.5, "{chi}: {seen:?}");
    }
}
