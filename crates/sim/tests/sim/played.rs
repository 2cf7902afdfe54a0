//! A run that is played packet by packet is the run of all other commands, and what it says of each packet
//! adds up to the report.

use bentpipe_cc::Time;
use bentpipe_sim::pcap::{Capture, CaptureError, Place};
use bentpipe_sim::plan::Plan;
use bentpipe_sim::record::{CrossingEnd, CrossingKind, CrossingTrace, Report, SenderPhase, SenderTrace};
use bentpipe_sim::{Happening, Moment, PlayedRun, RunError, capture_in_memory, no_supply, run, run_captured};
use proptest::prelude::*;

use crate::outcome::{geo, plan};
use crate::random::{cases, scenario, valid_plan};

/// All rows from `from` on, taken in parts of `step` nanoseconds.
fn played(plan: &Plan, from: Time, step: u64, most: usize) -> (CrossingTrace, SenderTrace, Vec<Moment>) {
    try_played(plan, from, step, most).expect("a part")
}

/// As `played`; the error of a run with more packets under way than are kept.
fn try_played(
    plan: &Plan,
    from: Time,
    step: u64,
    most: usize,
) -> Result<(CrossingTrace, SenderTrace, Vec<Moment>), RunError> {
    let flows: Vec<usize> = (0..plan.flows.len().min(8)).collect();
    let mut run = PlayedRun::new(plan.clone(), from, &flows, &mut no_supply).expect("controllers");
    let (mut packets, mut senders, mut until) = (CrossingTrace::default(), SenderTrace::default(), from);
    loop {
        until = Time(until.0.saturating_add(step));
        run.advance(until, most, &mut |_| true)?;
        let part = run.take();
        for i in 0..part.packets.enter_s.len() {
            packets.push(part.packets.row(i));
        }
        for i in 0..part.senders.t_s.len() {
            senders.push(part.senders.row(i));
        }
        if part.is_over {
            return Ok((packets, senders, part.moments));
        }
    }
}

/// Every count of the report follows from the rows.
fn adds_up(report: &Report, packets: &CrossingTrace, end_s: f64) -> Result<(), TestCaseError> {
    let rows = || (0..packets.enter_s.len()).map(|i| packets.row(i));
    for (i, link) in report.links.iter().enumerate() {
        let count = |ends: &[CrossingEnd]| {
            let of = |row: &bentpipe_sim::record::CrossingRow| row.place as usize == i;
            rows().filter(|row| of(row) && ends.iter().any(|end| *end as u8 == row.end)).count() as u64
        };
        let queue = [CrossingEnd::Full, CrossingEnd::Early, CrossingEnd::Flushed];
        let what = format!("{} {}", link.name, link.direction);
        prop_assert_eq!(count(&[CrossingEnd::Arrived]), link.delivered_packets, "delivered, {}", &what);
        prop_assert_eq!(count(&queue), link.dropped_queue + link.thinned_acks, "dropped, {}", &what);
        let lost = [CrossingEnd::Error, CrossingEnd::Handover];
        prop_assert_eq!(count(&lost), link.dropped_error, "lost, {}", &what);
        prop_assert_eq!(count(&[CrossingEnd::Inside]), link.inside_packets, "inside, {}", &what);
    }
    let mut before = 0.0;
    for row in rows() {
        prop_assert!(row.enter_s >= before && row.enter_s <= end_s, "in order of entry: {row:?}");
        before = row.enter_s;
        // NaN, for what did not happen, is in no wrong order.
        let wrong = [
            row.begin_s < row.enter_s,
            row.sent_s < row.begin_s,
            row.end_s < row.enter_s,
            row.end == CrossingEnd::Arrived as u8 && !(row.end_s == row.out_s && row.out_s >= row.sent_s),
        ];
        prop_assert_eq!(wrong, [false; 4], "{:?}", row);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 8, ..ProptestConfig::default() })]
    #[test]
    fn what_is_played_adds_up_to_the_report(
        text in prop_oneof![scenario(0), scenario(1), scenario(2), scenario(3)],
        step in 1_000_000_u64..5_000_000_000,
    ) {
        let Some(plan) = valid_plan(&text)? else { return Ok(()) };
        let Ok(outcome) = run(&plan, &mut no_supply, &mut |_| true) else { return Ok(()) };
        if outcome.report.packets > 50_000 {
            return Ok(());
        }
        let whole = try_played(&plan, Time(0), step, usize::MAX);
        prop_assume!(!matches!(whole, Err(RunError::UnderWay { .. })));
        let (packets, senders, moments) = whole.expect("a part");
        adds_up(&outcome.report, &packets, plan.duration.secs())
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        // However it is divided, it is the same run.
        let (again, states, firsts) = played(&plan, Time(0), u64::MAX / 4, 500);
        prop_assert!(format!("{packets:?}") == format!("{again:?}"), "{text}");
        prop_assert!(format!("{senders:?} {moments:?}") == format!("{states:?} {firsts:?}"), "{text}");
        // From the middle on it is the end of the same.
        let middle = Time(plan.duration.0 / 2);
        let (tail, ..) = played(&plan, middle, step, usize::MAX);
        let late = |i: &usize| packets.end_s[*i] >= middle.secs();
        let mut expected = CrossingTrace::default();
        (0..packets.enter_s.len()).filter(late).for_each(|i| expected.push(packets.row(i)));
        prop_assert!(format!("{tail:?}") == format!("{expected:?}"), "{text}");
    }
}

/// 1500 bytes at 12 Mbit/s take 1 ms, and the light 100 ms. The queue has room for two packets, so of the
/// first ten one is sent, two wait, and seven are dropped at once.
#[test]
fn the_first_window_is_where_arithmetic_puts_it() {
    let text = "duration = \"1 s\"\n[link.a]\nrate = \"12 Mbit/s\"\ndelay = \"100 ms\"\n\
                queue = { kind = \"drop-tail\", limit = \"2 packets\" }\n[[flow]]\ncc = \"reno\"\npath = [\"a\"]\n\
                profile = \"paper\"\ninitial_window = 10\nmss = \"1460 bytes\"\nheader = \"40 bytes\"\n";
    let (packets, senders, moments) = played(&plan(text), Time(0), u64::MAX / 4, usize::MAX);
    let rows: Vec<_> = (0..10).map(|i| packets.row(i)).collect();
    for (i, row) in rows.iter().enumerate().take(3) {
        let ms = i as f64 / 1e3;
        assert_eq!((row.enter_s, row.place, row.number as usize, row.segment as usize), (0.0, 0, i, i));
        let times =
            [row.begin_s - ms, row.sent_s - ms - 0.001, row.out_s - ms - 0.101, row.end_s - ms - 0.101];
        assert!(times.iter().all(|off| off.abs() < 1e-12), "{row:?}");
    }
    for row in &rows[3..] {
        assert_eq!((row.end, row.end_s), (CrossingEnd::Full as u8, 0.0));
        assert!(row.begin_s.is_nan() && row.out_s.is_nan());
    }
    // The acknowledgement of the first packet crosses the other direction.
    let ack = (10..packets.enter_s.len()).map(|i| packets.row(i)).find(|row| row.place == 1).expect("an ACK");
    assert_eq!((ack.kind, ack.segment), (CrossingKind::Ack as u8, 1));
    assert!((ack.enter_s - 0.101).abs() < 1e-12);
    // What was lost is sent again.
    let resent = |i: &usize| packets.kind[*i] & CrossingKind::Resent as u8 != 0;
    assert!((0..packets.enter_s.len()).any(|i| resent(&i)));
    let first = |what: Happening| moments.iter().find(|one| one.what == what).map(|one| one.t_s);
    assert_eq!(first(Happening::Loss(CrossingEnd::Full)), Some(0.0));
    assert!(
        first(Happening::Recovery).or(first(Happening::Timeout)).is_some_and(|at| at > 0.2),
        "{moments:?}"
    );
    assert_eq!(
        (senders.phase[0], senders.phase[1], senders.cwnd[1], senders.in_flight[1]),
        (SenderPhase::SlowStart as u8, SenderPhase::SlowStart as u8, 10.0, 10)
    );
}

#[test]
fn the_phases_of_a_sender_have_their_names() {
    let phases = |cc: &str| {
        let text = geo("60 s", "loss = { kind = \"packet-error\", rate = 0.002 }", &format!("cc = \"{cc}\""));
        let (_, senders, moments) = played(&plan(&text), Time(0), u64::MAX / 4, usize::MAX);
        let mut seen: Vec<u8> = senders.phase.clone();
        seen.sort_unstable();
        seen.dedup();
        (seen, moments)
    };
    let (seen, moments) = phases("reno");
    for phase in [SenderPhase::SlowStart, SenderPhase::Avoidance, SenderPhase::Recovery] {
        assert!(seen.contains(&(phase as u8)), "{phase:?}: {seen:?}");
    }
    for what in [Happening::SlowStartEnds, Happening::Recovery, Happening::Loss(CrossingEnd::Error)] {
        assert!(moments.iter().any(|moment| moment.what == what), "{what:?}: {moments:?}");
    }
    let (seen, _) = phases("bbr");
    assert!(seen.contains(&(SenderPhase::Model as u8)) && !seen.contains(&(SenderPhase::Avoidance as u8)));
}

/// Half a million packets under way at once is the bound; in five minutes nearly twice as many go in.
#[test]
fn a_long_run_is_played_to_its_end_in_the_memory_of_what_is_under_way() {
    let plan = plan(&geo("300 s", "", "cc = \"cubic\""));
    let crossings = run(&plan, &mut no_supply, &mut |_| true).expect("a run").report.packets * 4;
    assert!(crossings > 900_000, "{crossings}");
    let (packets, _, moments) = played(&plan, Time::MAX, u64::MAX / 4, usize::MAX);
    assert!(packets.enter_s.is_empty() && !moments.is_empty(), "{moments:?}");
    // The last seconds, as a player asks for them.
    let late = Time(plan.duration.0 - 10_000_000_000);
    let (packets, ..) = played(&plan, late, u64::MAX / 4, 60_000);
    assert!((8_000..100_000).contains(&packets.enter_s.len()), "{}", packets.enter_s.len());
}

/// The queue is full when the handover comes; what it drops then is not CoDel's choice.
#[test]
fn a_handover_that_flushes_a_scheduled_queue_is_no_early_drop() {
    for queue in ["codel", "fq-codel"] {
        let link = format!(
            "queue = {{ kind = \"{queue}\", limit = \"100 packets\", target = \"2 s\", interval = \"4 s\" }}\n\
             handover = {{ at = [\"50 ms\"], queue = \"flushed\", in_flight = \"delivered\" }}"
        );
        let plan = plan(&geo("1 s", &link, "cc = \"reno\"\ninitial_window = 200"));
        let (packets, _, moments) = played(&plan, Time(0), u64::MAX / 4, usize::MAX);
        let ended = |how: CrossingEnd| {
            let rows = (0..packets.enter_s.len()).map(|i| packets.row(i));
            rows.filter(|row| row.end == how as u8).map(|row| row.end_s).collect::<Vec<_>>()
        };
        let flushed = ended(CrossingEnd::Flushed);
        assert!(!flushed.is_empty() && flushed.iter().all(|at| *at == 0.05), "{queue}: {flushed:?}");
        assert!(!ended(CrossingEnd::Early).contains(&0.05), "{queue}");
        assert!(moments.contains(&Moment {
            what: Happening::Loss(CrossingEnd::Flushed),
            t_s: 0.05,
            flow: 0
        }));
    }
}

#[test]
fn a_capture_in_memory_has_the_bytes_of_the_file() {
    let plan = plan(&geo("20 s", "loss = { kind = \"packet-error\", rate = 0.002 }", "cc = \"cubic\""));
    for at in [Place::Sender, Place::Receiver, Place::Link("sat".into())] {
        let name = format!("bentpipe-memory-{}.pcapng", std::process::id());
        let capture = Capture { path: std::env::temp_dir().join(name), at, whole: false };
        run_captured(&plan, Some(&capture), &mut no_supply, &mut |_| true).expect("a file");
        let file = std::fs::read(&capture.path).expect("the capture");
        std::fs::remove_file(&capture.path).expect("a file");
        let in_memory = |most| capture_in_memory(&plan, &capture.at, most, &mut no_supply, &mut |_| true);
        let bytes = in_memory(file.len()).expect("a capture");
        assert!(file.len() > 900_000 && bytes == file, "{} and {} bytes", bytes.len(), file.len());
        let error = in_memory(file.len() - 1).expect_err("no room");
        assert!(matches!(error, RunError::Capture(CaptureError::Room { .. })), "{error}");
        assert!(error.to_string().contains("bentpipe run --pcap"), "{error}");
    }
}
