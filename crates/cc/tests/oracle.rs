//! The kernel's own congestion control beside ours: traces of Linux (`linux/*.csv`, docs/oracle.md) are replayed, and our
//! controllers are fed the same ACKs and events.
//!
//! The kernel's window plays no part in the replay: ours runs free from the first ACK to the last, and is compared after each.

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{Ack, Congestion, Controller, Flow, Life, Phase, Rtt, RttSample, Span, Start, Time};

const MSS: u32 = 1448;

/// `enum tcp_ca_state` of the kernel (include/net/tcp.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum State {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

impl State {
    fn of(cell: &str) -> State {
        [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss]
            [cell.parse::<usize>().expect("a state")]
    }

    fn phase(self) -> Phase {
        match self {
            State::Open | State::Disorder => Phase::Open,
            State::Cwr | State::Recovery => Phase::Recovery,
            State::Loss => Phase::Loss,
        }
    }
}

/// An ACK as the kernel saw it, and the window that it then had.
#[derive(Clone, Copy, Debug)]
struct Acked {
    /// Bytes by which it advanced, and the same of the highest byte sent.
    advanced: u64,
    sent: u64,
    delivered: u64,
    lost: u64,
    rtt: Option<Span>,
    smoothed: Option<Span>,
    in_flight: u64,
    state: State,
    limited: bool,
    cwnd: f64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Acked(Acked),
    /// `ssthresh` was called and answered with this.
    Cut(f64),
    Entered(State),
}

struct Trace {
    initial_window: f64,
    /// The smoothed RTT after the handshake.
    handshake: Span,
    events: Vec<(Time, What)>,
}

/// Cells of a line; an empty one stands for that of the line of its kind before.
fn fill(kept: &mut [String], line: &str) {
    for (kept, cell) in kept.iter_mut().zip(line.split(',').skip(2)) {
        if !cell.is_empty() {
            *kept = cell.to_string();
        }
    }
}

fn read(name: &str) -> Trace {
    let path = format!("{}/tests/linux/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let start = text.lines().find(|line| line.starts_with("# start,")).expect("a start");
    let mut start = start.split(',').skip(1).map(|cell| cell.parse::<u64>().expect("a number"));
    let mut next = || start.next().expect("two numbers");
    let (initial_window, srtt) = (next(), next());
    let (mut now, mut rtt, mut smoothed) = (0, srtt as i64 / 8, srtt as i64);
    let mut acks = vec![String::new(); 11];
    let mut cuts = vec![String::new(); 1];
    let mut states = vec![String::new(); 2];
    let mut events = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut head = line.split(',');
        let kind = head.next().expect("a kind");
        now += head.next().expect("a time").parse::<u64>().expect("microseconds");
        let what = match kind {
            "A" => {
                fill(&mut acks, line);
                let number = |i: usize| acks[i].parse::<u64>().expect("a number");
                let sampled = acks[4] != "-";
                if sampled {
                    rtt += acks[4].parse::<i64>().expect("a difference");
                }
                if !acks[5].is_empty() {
                    smoothed += acks[5].parse::<i64>().expect("a difference");
                }
                What::Acked(Acked {
                    advanced: number(0),
                    sent: number(1),
                    delivered: number(2),
                    lost: number(3),
                    rtt: sampled.then_some(Span(rtt as u64 * 1000)),
                    smoothed: (!acks[5].is_empty()).then_some(Span(smoothed as u64 * 125)),
                    in_flight: number(6),
                    state: State::of(&acks[7]),
                    limited: acks[8] == "1",
                    cwnd: number(9) as f64,
                })
            }
            "C" => {
                fill(&mut cuts, line);
                What::Cut(cuts[0].parse().expect("a threshold"))
            }
            "S" => {
                fill(&mut states, line);
                What::Entered(State::of(&states[0]))
            }
            _ => panic!("{path}: what is {line}?"),
        };
        events.push((Time(now * 1000), what));
    }
    Trace { initial_window: initial_window as f64, handshake: Span(srtt * 125), events }
}

/// How far our windows are from the kernel's.
#[derive(Debug, Default)]
struct Compared {
    acks: u32,
    /// Of them, those after which the windows were within one segment.
    equal: u32,
    /// Largest difference in segments, ours less the kernel's, and when.
    largest: f64,
    at: f64,
    /// Answers to congestion: how many, and ours over the kernel's, least and most.
    cuts: u32,
    least: f64,
    most: f64,
}

/// A controller on a recorded flow.
struct Replay {
    cc: Box<dyn Controller>,
    flow: Flow,
    /// Highest bytes acknowledged and sent.
    una: u64,
    sent: u64,
    round_mark: u64,
}

impl Replay {
    fn window(&self) -> f64 {
        self.cc.decision().cwnd as f64 / f64::from(MSS)
    }

    /// Brings the flow up to date with `acked`, but for the phase.
    fn learn(&mut self, now: Time, acked: &Acked) {
        self.flow.now = now;
        self.flow.in_flight = acked.in_flight * u64::from(MSS);
        self.flow.cwnd_limited = acked.limited;
        if let (Some(rtt), Some(known)) = (acked.rtt, &mut self.flow.rtt) {
            known.latest = rtt;
            known.min = known.min.min(rtt);
        }
        if let (Some(smoothed), Some(known)) = (acked.smoothed, &mut self.flow.rtt) {
            known.smoothed = smoothed;
        }
    }

    fn ack(&mut self, now: Time, acked: &Acked) {
        self.learn(now, acked);
        let bytes = acked.delivered * u64::from(MSS);
        self.flow.delivered += bytes;
        self.flow.lost += acked.lost * u64::from(MSS);
        self.flow.phase = acked.state.phase();
        self.una += acked.advanced;
        self.sent += acked.sent;
        let mut ack = Ack::default();
        (ack.acks, ack.acked, ack.lost) = (1, bytes, acked.lost * u64::from(MSS));
        ack.rtt = acked.rtt.map(RttSample::one);
        ack.uncounted = if acked.advanced > 0 { 0 } else { bytes };
        if self.una > self.round_mark {
            self.round_mark = self.sent;
            self.flow.round += 1;
            ack.round_end = true;
        }
        self.cc.on_ack(&self.flow, &ack);
    }
}

fn replay(id: &str, given: &[(&str, Value)], name: &str) -> Compared {
    let trace = read(name);
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect();
    let start = Start { mss: MSS, initial_window: trace.initial_window, initial_ssthresh: f64::INFINITY };
    let mut flow = Flow::default();
    let rtt = trace.handshake;
    (flow.mss, flow.rwnd) = (MSS, u64::MAX);
    flow.rtt = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span::ZERO });
    let cc = registry::build(id, &given, start).expect("a registered algorithm");
    let mut us = Replay { cc, flow, una: 0, sent: 0, round_mark: 0 };
    let mut found = Compared { least: f64::INFINITY, ..Compared::default() };
    let mut state = State::Open;
    let mut recovered = false;
    for (i, (now, what)) in trace.events.iter().enumerate() {
        let later = &trace.events[i..];
        match what {
            What::Acked(acked) => {
                us.ack(*now, acked);
                state = acked.state;
                if std::mem::take(&mut recovered) {
                    us.cc.on_life(&us.flow, Life::Recovered);
                }
                if state == State::Cwr || state == State::Recovery {
                    continue; // the sender's window, by proportional rate reduction
                }
                let off = us.window() - acked.cwnd;
                found.acks += 1;
                found.equal += u32::from(off.abs() <= 1.0);
                if off.abs() > found.largest.abs() {
                    (found.largest, found.at) = (off, now.secs());
                }
                if std::env::var("ORACLE").is_ok_and(|wanted| wanted == name) {
                    print!(
                        "{:.6} kernel {} ours {:.3} {state:?} rtt {:?}",
                        now.secs(),
                        acked.cwnd,
                        us.window(),
                        acked.rtt
                    );
                    us.cc.probe(&mut |name, value| print!(" {name} {value:.6}"));
                    println!();
                }
            }
            What::Cut(value) => {
                let entered = later.iter().find_map(|(_, what)| match what {
                    What::Entered(State::Loss) => Some(Congestion::Timeout),
                    What::Entered(State::Cwr | State::Recovery) => Some(Congestion::Loss),
                    _ => None,
                });
                let Some(why) = entered else { continue };
                let same = later.iter().take_while(|(then, _)| then == now);
                let news = same
                    .filter_map(|(_, what)| if let What::Acked(acked) = what { Some(*acked) } else { None });
                us.flow.now = *now;
                if let Some(acked) = news.last() {
                    us.learn(*now, &acked);
                }
                let ours = us.cc.backoff(&us.flow, why).ssthresh as f64 / f64::from(MSS);
                found.cuts += 1;
                found.least = found.least.min(ours / value);
                found.most = found.most.max(ours / value);
                if std::env::var("ORACLE").is_ok_and(|wanted| wanted == name) {
                    println!(
                        "{:.6} {why:?} window {:.3} kernel cuts to {value}, ours to {ours:.3}",
                        now.secs(),
                        us.window()
                    );
                }
                us.cc.on_congestion(&us.flow, why);
            }
            What::Entered(to) => {
                recovered |= *to <= State::Disorder && state >= State::Cwr;
            }
        }
    }
    found
}

/// Linux's rules of Vegas are the kernel's, to the last bit.
#[test]
fn vegas_is_the_kernels() {
    let found = replay("vegas", &[("rules", Value::Text("linux".to_string()))], "vegas-short");
    assert_eq!((found.acks, found.largest), (591, 0.0));
}

/// Prints how far each trace that was recorded is from its controller.
#[test]
#[ignore = "a survey for people"]
fn survey() {
    let folder = format!("{}/tests/linux", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let text = |s: &str| Value::Text(s.to_string());
    for name in names {
        let name = name.trim_end_matches(".csv");
        let id = name.split('-').next().unwrap();
        let given: Vec<(&str, Value)> = match id {
            "vegas" => vec![("rules", text("linux"))],
            "veno" => vec![("rtt", text("latest"))],
            "hybla" => vec![("ssthresh_est", Value::Flag(false))],
            "highspeed" => vec![("form", text("linux"))],
            "scalable" => vec![("at_least_reno", Value::Flag(true))],
            _ => vec![],
        };
        let id = if id == "westwood" { "westwood-plus" } else { id };
        println!("{name}: {:?}", replay(id, &given, name));
    }
}
