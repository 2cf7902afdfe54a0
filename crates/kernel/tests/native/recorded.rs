//! The recorded streams, and random ones, fed to both forms of every algorithm.

use std::fs;
use std::path::Path;

use bentpipe_cc::{Congestion, Phase, Start};
use bentpipe_kernel_host::{NATIVE, Native};
use proptest::prelude::*;

use crate::stream::{Event, MSS, Player, Step, read};
use crate::twin::{Found, Report, Twin};

/// Plays `steps` to both forms of algorithm `id`.
fn played(id: &str, steps: &[Step], initial_window: f64, initial_ssthresh: f64) -> Found {
    let report = Report::default();
    let start = Start { mss: MSS, initial_window, initial_ssthresh };
    let (mut twin, mut player) = (Twin::new(id, start, report.clone()), Player::new());
    for step in steps {
        player.play(&mut twin, step);
    }
    std::mem::take(&mut *report.lock().expect("nothing panicked"))
}

/// Every algorithm on every recorded stream; windows are compared to a millionth of a segment.
#[test]
fn recorded_streams_give_the_same_windows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut names: Vec<_> =
        fs::read_dir(folder).expect("streams").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    assert!(names.len() >= 7, "only {} streams", names.len());
    let mut kinds = [0_u32; 6];
    for path in names {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let steps =
            read(&fs::read_to_string(&path).expect("text")).unwrap_or_else(|bad| panic!("{name}, {bad}"));
        for step in &steps {
            let kind = match step.what {
                Event::Ack { .. } => continue,
                Event::Congestion(Congestion::Loss) => 0,
                Event::Congestion(Congestion::Timeout) => 1,
                Event::Congestion(Congestion::Ecn) => 2,
                Event::Undo => 3,
                Event::Recovered => 4,
                Event::Idle => 5,
            };
            kinds[kind] += 1;
        }
        for id in NATIVE {
            for (window, ssthresh) in [(10.0, f64::INFINITY), (300.0, 40.0), (50_000.0, 30_000.0)] {
                let found = played(id, &steps, window, ssthresh);
                println!(
                    "{name} {id} from {window}: {} steps, {} cuts, W up to {:.0}, apart by at most {:.1e} (W) and {:.1e} (T)",
                    found.steps, found.cuts, found.largest, found.cwnd, found.ssthresh
                );
                assert!(found.apart.is_none(), "{name}, {id}: {}", found.apart.unwrap_or_default());
            }
        }
    }
    assert!(kinds.iter().all(|&count| count > 0), "an event never happens: {kinds:?}");
}

/// One step of a random stream: mostly ACKs, the rest events.
fn step() -> impl Strategy<Value = (u32, u64, u32, u32, u8)> {
    (0..400_u32, 50..20_000_u64, 0..9_u32, 0..60_000_u32, any::<u8>())
}

/// A stream whose phases follow its events, with the RTT around `base`.
fn stream(base: u32, draws: &[(u32, u64, u32, u32, u8)]) -> Vec<Step> {
    let (mut phase, mut left, mut srtt8) = (Phase::Open, 0_u32, 0_u32);
    let mut steps = Vec::new();
    for &(kind, after, segments, queue, bits) in draws {
        let mut push = |what, phase, round_end| {
            let (limited, marked) = (bits & 7 != 0, bits & 0xf8 == 0);
            steps.push(Step { after, what, phase, limited, round_end, marked, rwnd: 3_000 * u64::from(MSS) });
        };
        let before = phase;
        match kind {
            0 | 1 if phase == Phase::Open => {
                (phase, left) = (Phase::Recovery, 8);
                push(Event::Congestion(Congestion::Loss), before, false);
            }
            2 => {
                (phase, left) = (Phase::Loss, 12);
                push(Event::Congestion(Congestion::Timeout), before, false);
            }
            3 if phase == Phase::Open => push(Event::Congestion(Congestion::Ecn), phase, false),
            4 if phase != Phase::Recovery => {
                phase = Phase::Open;
                push(Event::Undo, phase, false);
            }
            5 => push(Event::Idle, phase, false),
            _ => {
                let rtt = (kind % 16 != 0).then_some(base + queue);
                if let Some(rtt) = rtt {
                    srtt8 = if srtt8 == 0 { 8 * rtt } else { srtt8 - srtt8 / 8 + rtt };
                }
                let uncounted = if kind % 11 == 0 { segments / 2 } else { 0 };
                push(Event::Ack { segments, uncounted, rtt, srtt8 }, phase, kind % 13 == 0);
                if phase != Phase::Open && segments > 0 {
                    left -= 1;
                    if left == 0 {
                        phase = Phase::Open;
                        if before == Phase::Recovery {
                            push(Event::Recovered, phase, false);
                        }
                    }
                }
            }
        }
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_streams_give_the_same_windows(
        base in prop_oneof![200..2_000_u32, 2_000..80_000_u32, 80_000..800_000_u32],
        window in prop_oneof![1..50_u32, 50..60_000_u32],
        ssthresh in prop_oneof![Just(f64::INFINITY), 2.0..60_000.0],
        draws in proptest::collection::vec(step(), 1..3000),
    ) {
        let steps = stream(base, &draws);
        for id in NATIVE {
            let found = played(id, &steps, f64::from(window), ssthresh);
            prop_assert!(found.apart.is_none(), "{id}: {}", found.apart.unwrap_or_default());
        }
    }
}

/// The kernel keeps 104 bytes in a socket for its algorithm.
#[test]
fn states_that_shall_live_in_the_socket_fit_there() {
    let start = Start { mss: MSS, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
    for id in ["hybla", "star", "vegas-l"] {
        let bytes = Native::new(id, start).expect("native").bytes();
        assert!(bytes <= 104, "{id}: {bytes} bytes");
    }
}
