use alloc::string::ToString;

use super::{CWND, RTT};
use crate::decision::{Pacing, RecoveryWindow};
use crate::event::{Congestion, Event, Life};
use crate::hint::{Hint, PathChange};
use crate::registry::{self, Value};
use crate::report::Phase;
use crate::rig::{Rig, near, probe};
use crate::time::{Rate, Time};
use crate::window::Start;

/// Bytes of the rig's segments.
const MSS: u64 = 1_000_000;

/// Reno with an initial window of 10 segments and a saved state of 300 segments at 600 ms.
fn rig() -> Rig {
    Rig::new("reno", &[(CWND, Value::Number(300.0)), (RTT, Value::Number(0.6))], 10.0, f64::INFINITY)
}

fn in_flight(rig: &mut Rig, segments: u64) {
    rig.flow.in_flight = segments * MSS;
}

/// The example of appendix A: the IW has been acknowledged, and 29 segments are in flight at the jump.
fn jumped(rtt: f64) -> Rig {
    let mut rig = rig();
    (0..9).for_each(|_| rig.ack(1.0, 0.001, rtt, false));
    assert_eq!(rig.w(), 19.0);
    in_flight(&mut rig, 29);
    rig.ack(1.0, 0.001, rtt, true);
    rig
}

fn phase(rig: &Rig) -> f64 {
    probe(&*rig.cc, "resume_phase")
}

/// Section 3.3: half of saved_cwnd, 150 segments, paced over the current RTT of 0.5 s: 300 segments a second.
/// PipeSize is what was in flight. An RTT later the phase is over.
#[test]
fn the_window_jumps_to_half_of_the_saved_one_and_is_paced() {
    let rig = jumped(0.5);
    assert_eq!((rig.w(), phase(&rig), probe(&*rig.cc, "pipe_size_segments")), (150.0, 1.0, 29.0));
    let decision = rig.cc.decision();
    assert_eq!(decision.pacing, Pacing::Rate(Rate(300 * MSS)));
    assert_eq!(decision.deadline, Time(rig.flow.now.0 + 500_000_000));
}

/// Appendix A.1: the window is kept while the 29 segments are acknowledged. With the first unvalidated
/// segment comes the Validating Phase, from what is in flight: 120 segments; slow start goes on. The phase is
/// over when the last of them is acknowledged.
#[test]
fn without_loss_the_window_is_validated() {
    let mut rig = jumped(0.6);
    in_flight(&mut rig, 121);
    (0..29).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
    assert_eq!((rig.w(), phase(&rig)), (150.0, 1.0));
    in_flight(&mut rig, 120);
    rig.ack(1.0, 0.01, 0.6, false);
    assert_eq!((rig.w(), phase(&rig), probe(&*rig.cc, "pipe_size_segments")), (121.0, 2.0, 59.0));
    assert_eq!(rig.cc.decision().pacing, Pacing::Window);
    (0..119).for_each(|_| rig.ack(1.0, 0.001, 0.6, false));
    assert_eq!(phase(&rig), 2.0);
    rig.ack(1.0, 0.001, 0.6, false);
    assert_eq!((phase(&rig), rig.w()), (4.0, 241.0));
    assert!(rig.t() > 1e9);
}

/// A window that was full when an ACK came stays: 149 segments and the one acknowledged.
#[test]
fn a_window_that_was_used_in_full_is_kept() {
    let mut rig = jumped(0.6);
    in_flight(&mut rig, 149);
    rig.ack(1.0, 0.01, 0.6, false);
    assert_eq!((rig.w(), phase(&rig)), (151.0, 2.0));
}

/// Appendix A.4: 34 of 121 unvalidated segments are acknowledged when a loss is found. PipeSize is 63, and
/// the window 31.5. The window is kept, and proportional rate reduction has no part in it. 86 more arrive,
/// one was lost: PipeSize is 149, and T is half of it.
#[test]
fn a_loss_leads_to_safe_retreat() {
    let mut rig = jumped(0.6);
    in_flight(&mut rig, 121);
    (0..29).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
    in_flight(&mut rig, 120);
    (0..34).for_each(|_| rig.ack(1.0, 0.001, 0.6, false));
    assert_eq!(probe(&*rig.cc, "pipe_size_segments"), 29.0 + 29.0 + 34.0);
    rig.flow.lost += MSS;
    let said = rig.cc.backoff(&rig.flow, Congestion::Loss);
    rig.congestion(Congestion::Loss);
    assert_eq!((rig.w(), phase(&rig)), (46.0, 3.0));
    assert_eq!(said.cwnd, rig.cc.decision().cwnd);
    assert_eq!(rig.cc.needs().recovery, RecoveryWindow::Controller);
    rig.flow.phase = Phase::Recovery;
    (0..87).for_each(|_| rig.ack(1.0, 0.001, 0.6, false)); // the last is the retransmission
    assert_eq!(rig.w(), 46.0);
    rig.flow.phase = Phase::Open;
    rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
    // 29 in flight before and 29 + 120 since would count the retransmission; 150 were out, less the lost one.
    assert_eq!((rig.t(), phase(&rig)), (149.0 / 2.0, 4.0));
    assert_eq!(rig.cc.needs().recovery, RecoveryWindow::Sender);
}

/// Section 3.3, "check flight_size": 50 segments were sent in the RTT, 79 with those before; 29 are
/// acknowledged. 50 are no more than PipeSize, 58, which is the window then.
#[test]
fn a_sender_short_of_data_keeps_what_it_used() {
    let mut rig = jumped(0.6);
    in_flight(&mut rig, 50);
    (0..29).for_each(|_| rig.ack(1.0, 0.001, 0.6, false));
    rig.flow.now = rig.cc.decision().deadline;
    rig.cc.on(&rig.flow, Event::Deadline);
    assert_eq!((rig.w(), phase(&rig)), (58.0, 4.0));
}

/// Sections 3.2 and 4.2.1: the RTT must be more than half the saved one and at most ten times it; congestion
/// and a changing path end it.
#[test]
fn a_path_that_is_not_confirmed_is_left_alone() {
    for (rtt, expected) in [(0.3, 4.0), (0.301, 1.0), (6.0, 1.0), (6.001, 4.0)] {
        assert_eq!(phase(&jumped(rtt)), expected, "{rtt}");
    }
    let mut lost = rig();
    lost.ack(1.0, 0.1, 0.6, false);
    lost.congestion(Congestion::Loss);
    assert_eq!(phase(&lost), 4.0);
    let mut changed = rig();
    changed.cc.on(&changed.flow, Event::Hint(Hint::PathChange(PathChange::default())));
    assert_eq!(phase(&changed), 4.0);
    let mut later = jumped(0.6);
    later.cc.on(&later.flow, Event::Hint(Hint::PathChange(PathChange::default())));
    assert_eq!((later.w(), phase(&later)), (14.5, 3.0));
    // Section 3.3, "Confirming the path during transmission": PipeSize is 29 and the segment acknowledged.
    for (rtt, expected) in [(0.3, (15.0, 3.0)), (0.301, (150.0, 1.0)), (6.001, (15.0, 3.0))] {
        let mut shorter = jumped(0.6);
        in_flight(&mut shorter, 100);
        shorter.ack(1.0, 0.001, rtt, false);
        assert_eq!((shorter.w(), phase(&shorter)), expected, "{rtt}");
    }
    let mut timed_out = jumped(0.6);
    timed_out.congestion(Congestion::Timeout);
    assert_eq!((timed_out.w(), phase(&timed_out)), (1.0, 4.0));
}

/// A sender that its window does not limit stays in Reconnaissance, and jumps once it has more to send.
#[test]
fn the_jump_waits_for_data() {
    let mut rig = rig();
    rig.flow.cwnd_limited = false;
    (0..30).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
    assert_eq!((rig.w(), phase(&rig)), (10.0, 0.0));
    rig.flow.cwnd_limited = true;
    rig.ack(1.0, 0.01, 0.6, false);
    assert_eq!((rig.w(), phase(&rig)), (150.0, 1.0));
}

#[test]
fn every_window_algorithm_resumes_and_models_of_the_path_say_why_not() {
    let start = Start { mss: 1448, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
    let given = |values: &[(&str, f64)]| -> alloc::vec::Vec<_> {
        values.iter().map(|(name, x)| (name.to_string(), Value::Number(*x))).collect()
    };
    let both = given(&[(CWND, 300.0), (RTT, 0.6)]);
    for entry in registry::all() {
        let built = registry::build(entry.id, &both, start);
        assert_eq!(built.is_ok(), entry.refuses_resume().is_none(), "{}", entry.id);
    }
    for id in ["reno", "cubic", "vegas", "star", "hybla", "a-liad", "westwood-plus"] {
        assert!(registry::find(id).expect("registered").refuses_resume().is_none(), "{id}");
    }
    let refused = |id: &str, values: &[(&str, f64)]| {
        registry::build(id, &given(values), start).expect_err("refused").to_string()
    };
    assert_eq!(
        refused("bbr", &[(CWND, 300.0), (RTT, 0.6)]),
        "bbr has no Careful Resume: it is not a window algorithm, and what RFC 9959 advises for models of the path is not included"
    );
    assert_eq!(refused("cubic", &[(CWND, 300.0)]), "resume_cwnd needs resume_rtt beside it");
    assert_eq!(refused("cubic", &[("resume_beta", 0.7)]), "resume_beta needs resume_cwnd beside it");
}

/// Safe Retreat needs no more of the algorithm than its own cut, if that is deeper.
#[test]
fn a_mark_ends_by_count() {
    let mut rig = jumped(0.6);
    in_flight(&mut rig, 121);
    (0..30).for_each(|_| rig.ack(1.0, 0.001, 0.6, false));
    rig.congestion(Congestion::Ecn);
    near(rig.w(), (29.0 + 30.0) / 2.0, 1e-9);
    for _ in 0..121 {
        assert_eq!(phase(&rig), 3.0);
        rig.ack(1.0, 0.001, 0.6, false);
    }
    assert_eq!(phase(&rig), 4.0);
}
