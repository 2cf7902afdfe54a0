//! The tables of `linux/*.csv`; docs/oracle.md describes their cells.

use bentpipe_cc::{Phase, Span, Time};

/// Payload bytes of a full segment on the recorded flows.
pub(crate) const MSS: u32 = 1448;

/// `enum tcp_ca_state` of the kernel (include/net/tcp.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum State {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

impl State {
    fn of(cell: &str) -> State {
        let all = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
        all[cell.parse::<usize>().expect("a state")]
    }

    /// What our sender calls it.
    pub(crate) fn phase(self) -> Phase {
        match self {
            State::Open | State::Disorder => Phase::Open,
            State::Cwr | State::Recovery => Phase::Recovery,
            State::Loss => Phase::Loss,
        }
    }

    /// Does the sender drive the window, by proportional rate reduction?
    pub(crate) fn reduces(self) -> bool {
        matches!(self, State::Cwr | State::Recovery)
    }
}

/// An ACK as the kernel saw it, and the window that it then had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// Bytes by which it advanced, and the same of the highest byte sent.
    pub(crate) advanced: u64,
    pub(crate) sent: u64,
    /// Segments delivered, in order or not, and declared lost.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    /// Sample of this ACK, microseconds.
    pub(crate) rtt: Option<u32>,
    /// SRTT in eighths of a microsecond; in the traces of algorithms that read it.
    pub(crate) smoothed: Option<u32>,
    pub(crate) in_flight: u32,
    pub(crate) state: State,
    /// May the window grow (`tcp_is_cwnd_limited`)?
    pub(crate) limited: bool,
    pub(crate) cwnd: u32,
    /// Was it off the kernel's fast path? In Westwood's traces.
    pub(crate) slow_path: bool,
}

/// What the kernel did on the way to its answer to an ACK, or when its timer expired.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// `ssthresh` was called and answered with this.
    Cut(u32),
    /// A new state, the window at its beginning, and the bytes by which the highest
    /// byte sent advanced before.
    Entered(State, u32, u64),
    /// Something is sent while nothing is in flight (CA_EVENT_TX_START), a retransmission also.
    Sends,
}

/// An ACK, or an expiry of the timer, with the changes that it brought.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) now: Time,
    /// Clock ticks of 4 ms since the start; in the traces of algorithms that count them.
    pub(crate) ticks: u32,
    pub(crate) changes: Vec<Change>,
    pub(crate) acked: Option<Acked>,
}

/// A recorded flow.
pub(crate) struct Trace {
    pub(crate) initial_window: u32,
    /// SRTT after the handshake, eighths of a microsecond.
    pub(crate) handshake: u32,
    pub(crate) steps: Vec<Step>,
}

impl Trace {
    /// SRTT after the handshake.
    pub(crate) fn handshake_rtt(&self) -> Span {
        Span(u64::from(self.handshake) * 125)
    }
}

/// Puts the cells of a line into those of the line of its kind before; an empty one stays as it was.
fn fill(kept: &mut [String], line: &str) {
    for (kept, cell) in kept.iter_mut().zip(line.split(',').skip(2)) {
        if !cell.is_empty() {
            *kept = cell.to_string();
        }
    }
}

fn number<T: std::str::FromStr>(cell: &str) -> T {
    cell.parse().unwrap_or_else(|_| panic!("{cell:?} is no number"))
}

/// The table of that name.
pub(crate) fn read(name: &str) -> Trace {
    let path = format!("{}/tests/linux/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let start = text.lines().find_map(|line| line.strip_prefix("# start,")).expect("a start");
    let (initial_window, handshake) = start.split_once(',').expect("two numbers");
    let handshake: u32 = number(handshake);
    let (mut now, mut ticks) = (0_u64, 0_u32);
    let (mut rtt, mut smoothed) = (handshake / 8, handshake);
    let [mut acks, mut cuts, mut states] = [13, 2, 4].map(|cells| vec![String::new(); cells]);
    let mut steps = Vec::new();
    let mut changes = Vec::new();
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).peekable();
    while let Some(line) = lines.next() {
        let (kind, rest) = line.split_once(',').expect("a kind");
        now += number::<u64>(rest.split(',').next().unwrap_or(rest));
        let mut acked = None;
        let tick = match kind {
            "A" => {
                fill(&mut acks, line);
                let sampled = acks[4] != "-";
                if sampled {
                    rtt = rtt.wrapping_add_signed(number(&acks[4]));
                }
                let has_smoothed = !acks[5].is_empty();
                if has_smoothed {
                    smoothed = smoothed.wrapping_add_signed(number(&acks[5]));
                }
                acked = Some(Acked {
                    advanced: number(&acks[0]),
                    sent: number(&acks[1]),
                    delivered: number(&acks[2]),
                    lost: number(&acks[3]),
                    rtt: sampled.then_some(rtt),
                    smoothed: has_smoothed.then_some(smoothed),
                    in_flight: number(&acks[6]),
                    state: State::of(&acks[7]),
                    limited: acks[8] == "1",
                    cwnd: number(&acks[9]),
                    slow_path: acks[12] == "1",
                });
                &acks[11]
            }
            "C" => {
                fill(&mut cuts, line);
                changes.push(Change::Cut(number(&cuts[0])));
                &cuts[1]
            }
            "S" => {
                fill(&mut states, line);
                changes.push(Change::Entered(State::of(&states[0]), number(&states[1]), number(&states[2])));
                &states[3]
            }
            "E" => {
                changes.push(Change::Sends);
                &line.split(',').nth(2).unwrap_or("").to_string()
            }
            _ => panic!("{path}: what is {line}?"),
        };
        if !tick.is_empty() {
            ticks += number::<u32>(tick);
        }
        // The changes of an ACK stand before it and at its instant; those of the timer stand alone.
        let later = |line: &&str| line.split(',').nth(1) != Some("0");
        if acked.is_some() || lines.peek().is_none_or(later) {
            let changes = std::mem::take(&mut changes);
            steps.push(Step { now: Time(now * 1000), ticks, changes, acked });
        }
    }
    Trace { initial_window: number(initial_window), handshake, steps }
}
