//! The native programs of `bentpipe-kernel`, compiled for the host and made [`Controller`]s. So the very
//! functions that run in the kernel can be stepped beside the Rust controllers, and run in the
//! simulator. For tests only.

use std::fmt;

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Life, Needs, Pacing, Phase, Start, Time,
};

/// 1 in Q32.
const ONE: f64 = (1_u64 << 32) as f64;
/// The programs' "no threshold yet".
const INFINITE: u64 = u64::MAX;

/// `struct fx_ack` of window.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct FxAck {
    now: u64,
    acked: u32,
    counted: u32,
    rtt: u32,
    rwnd: u64,
    mss: u32,
    round_end: u8,
    recovery: u8,
    loss: u8,
    limited: u8,
}

/// `struct fx_cut` of window.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct FxCut {
    w: u64,
    t: u64,
}

/// `struct program` of host.c.
#[repr(C)]
struct Program {
    bytes: usize,
    init: unsafe extern "C" fn(*mut u64, u64, u64),
    measure: unsafe extern "C" fn(*mut u64, u32, u32, u32),
    observe: unsafe extern "C" fn(*mut u64, *const FxAck),
    grow: unsafe extern "C" fn(*mut u64, *const FxAck),
    would_cut: unsafe extern "C" fn(*const u64, u32) -> FxCut,
    congest: unsafe extern "C" fn(*mut u64, u32, u8),
    restore: unsafe extern "C" fn(*mut u64, u64, u64),
    recovered: unsafe extern "C" fn(*mut u64, u8),
    idle: unsafe extern "C" fn(*mut u64),
}

unsafe extern "C" {
    static bentpipe_native_a_liad: Program;
    static bentpipe_native_hswa: Program;
    static bentpipe_native_hybla: Program;
    static bentpipe_native_star: Program;
    static bentpipe_native_vegas_l: Program;
}

/// The algorithms that have a native program, by their registered name.
pub const NATIVE: &[&str] = &["a-liad", "hswa", "hybla", "star", "vegas-l"];

fn program(id: &str) -> Option<&'static Program> {
    // SAFETY: constants of host.c, of the type that is declared above; nothing writes them.
    unsafe {
        Some(match id {
            "a-liad" => &bentpipe_native_a_liad,
            "hswa" => &bentpipe_native_hswa,
            "hybla" => &bentpipe_native_hybla,
            "star" => &bentpipe_native_star,
            "vegas-l" => &bentpipe_native_vegas_l,
            _ => return None,
        })
    }
}

/// A native program and its state. Its inputs are rounded to what the kernel provides: RTTs and the time in
/// microseconds, the smoothed RTT in eighths of one, data in whole segments.
pub struct Native {
    program: &'static Program,
    /// The structure, aligned as its largest member.
    state: Vec<u64>,
    mss: u32,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("w", &self.cwnd()).field("t", &self.ssthresh()).finish()
    }
}

impl Native {
    /// Starts the native program of the algorithm registered as `id`; `None` if it has none.
    pub fn new(id: &str, start: Start) -> Option<Self> {
        let program = program(id)?;
        let mut state = vec![0_u64; program.bytes.div_ceil(8)];
        let t = if start.initial_ssthresh.is_finite() { fixed(start.initial_ssthresh) } else { INFINITE };
        // SAFETY: the state has as many bytes as the program's structure, aligned to 8.
        unsafe { (program.init)(state.as_mut_ptr(), fixed(start.initial_window), t) };
        Some(Self { program, state, mss: start.mss.max(1) })
    }

    /// Bytes of the program's state; 104 fit into a socket of the kernel.
    pub fn bytes(&self) -> usize {
        self.program.bytes
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> f64 {
        self.state[0] as f64 / ONE // the first member of struct fx_window
    }

    /// The slow-start threshold in segments; infinite if there is none yet.
    pub fn ssthresh(&self) -> f64 {
        if self.state[1] == INFINITE { f64::INFINITY } else { self.state[1] as f64 / ONE }
    }

    /// The program reads the path's RTT from its own state; Rust's reads it from the flow.
    fn measure(&mut self, flow: &Flow) {
        let Some(rtt) = flow.rtt else { return };
        let [min, last] = [rtt.min, rtt.latest].map(|span| micros(span.0).max(1));
        let srtt8 = (rtt.smoothed.0 / 125) as u32;
        // SAFETY: the state is the program's own.
        unsafe { (self.program.measure)(self.state.as_mut_ptr(), min, last, srtt8) };
    }

    fn bytes_of(&self, fixed: u64) -> u64 {
        if fixed == INFINITE { u64::MAX } else { ((u128::from(fixed) * u128::from(self.mss)) >> 32) as u64 }
    }
}

/// Segments as Q32.
fn fixed(segments: f64) -> u64 {
    (segments * ONE) as u64
}

fn micros(ns: u64) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

/// `enum fx_why`.
fn reason(why: Congestion) -> u32 {
    match why {
        Congestion::Ecn => 0,
        Congestion::Loss => 1,
        Congestion::Timeout => 2,
    }
}

impl Controller for Native {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.measure(flow);
        let segments = |bytes: u64| u32::try_from(bytes / u64::from(self.mss)).unwrap_or(u32::MAX);
        let told = FxAck {
            now: flow.now.0 / 1000,
            acked: segments(ack.acked),
            counted: segments(ack.acked.saturating_sub(ack.uncounted)),
            rtt: ack.rtt.map_or(0, |rtt| micros(rtt.latest.0).max(1)),
            rwnd: flow.rwnd,
            mss: self.mss,
            round_end: u8::from(ack.round_end),
            recovery: u8::from(flow.phase == Phase::Recovery),
            loss: u8::from(flow.phase == Phase::Loss),
            limited: u8::from(flow.cwnd_limited && ack.ce == 0),
        };
        // SAFETY: the state is the program's own, and `told` outlives the calls.
        unsafe {
            (self.program.observe)(self.state.as_mut_ptr(), &told);
            (self.program.grow)(self.state.as_mut_ptr(), &told);
        }
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        self.measure(flow);
        let state = self.state.as_mut_ptr();
        let q32 = |bytes: u64| match bytes {
            u64::MAX => INFINITE,
            _ => ((u128::from(bytes) << 32) / u128::from(self.mss)) as u64,
        };
        // SAFETY: the state is the program's own.
        unsafe {
            match event {
                Event::Congestion(why) => (self.program.congest)(state, reason(why), u8::from(flow.reduced)),
                Event::Undo(before) => (self.program.restore)(state, q32(before.cwnd), q32(before.ssthresh)),
                Event::Life(Life::Recovered) => (self.program.recovered)(state, u8::from(flow.cwnd_limited)),
                Event::Life(Life::IdleRestart) => (self.program.idle)(state),
                Event::Life(Life::MssChanged) => self.mss = flow.mss.max(1),
                _ => {}
            }
        }
    }

    fn decision(&self) -> Decision {
        Decision {
            cwnd: self.bytes_of(self.state[0]),
            ssthresh: self.bytes_of(self.state[1]),
            pacing: Pacing::Window,
            deadline: Time::MAX,
        }
    }

    fn backoff(&self, _flow: &Flow, why: Congestion) -> Backoff {
        // SAFETY: the state is the program's own, and only read.
        let cut = unsafe { (self.program.would_cut)(self.state.as_ptr(), reason(why)) };
        Backoff { cwnd: self.bytes_of(cut.w), ssthresh: self.bytes_of(cut.t), repeat: false }
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }
}
