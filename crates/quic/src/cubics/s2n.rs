//! s2n-quic's CUBIC (RFC 8312, with Hybrid Slow Start, in f32) behind the calls of vectors.

use std::time::Duration;

use num_rational::Ratio;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use serde_json::{Value, json};

use super::number;
use super::replay::{Fields, Implementation};

/// The window with which it begins (RFC 9002 section 7.2).
fn initial_window(mss: u64) -> u64 {
    (10 * mss).min(14_720.max(2 * mss))
}

/// It hears of events and tells nobody; and no random number is asked for.
struct Nobody;

impl Publisher for Nobody {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _window: u32) {}

    fn on_delivery_rate_sampled(&mut self, _sample: RateSample) {}

    fn on_pacing_rate_updated(&mut self, _rate: Bandwidth, _burst: u32, _gain: Ratio<u64>) {}

    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

impl random::Generator for Nobody {
    fn public_random_fill(&mut self, _dest: &mut [u8]) {}

    fn private_random_fill(&mut self, _dest: &mut [u8]) {}
}

/// s2n-quic's CUBIC.
pub(super) struct S2nCubic {
    cc: Option<CubicCongestionController>,
    origin: Timestamp,
    rtt: RttEstimator,
    /// When the last episode began: a packet of that instant is one of before.
    episode: Timestamp,
    silent: bool,
}

impl S2nCubic {
    /// One for this start. It has one initial window, and no initial threshold.
    pub(super) fn new(given: &Value, flow: &Fields) -> Self {
        let mss = number(flow, "mss");
        let window = given["initial_window_segments"].as_f64().unwrap_or(0.0) * mss as f64;
        let fits = given["initial_ssthresh_segments"].is_null() && window as u64 == initial_window(mss);
        let cc = fits.then(|| CubicCongestionController::new(mss as u16, Default::default()));
        let origin = NoopClock.get_time();
        Self {
            cc,
            origin,
            rtt: RttEstimator::new(Duration::from_millis(333)),
            episode: origin,
            silent: false,
        }
    }
}

impl Implementation for S2nCubic {
    fn on(&mut self, call: &str, given: &Value, flow: &Fields) {
        let Some(cc) = &mut self.cc else { return };
        let now = self.origin + Duration::from_nanos(number(flow, "now_ns"));
        let of = |name: &str| given[name].as_u64().unwrap_or(0);
        match call {
            "ack" => {
                self.silent = false;
                // It counts data in flight itself.
                let flight = number(flow, "in_flight") + of("acked") + of("lost");
                let limited = flow["cwnd_limited"] == false;
                fly(cc, flight, now, limited, &self.rtt);
                let stale = flow["phase"] == "recovery" || of("ce") > 0;
                let mut sent = self.episode;
                if let Some(sample) = given["rtt_latest_ns"].as_u64().map(Duration::from_nanos) {
                    let space = PacketNumberSpace::ApplicationData;
                    self.rtt.update_rtt(Duration::ZERO, sample, now, true, space);
                    if !stale {
                        sent = (now - sample.min(now - self.origin))
                            .max(self.episode + Duration::from_nanos(1000));
                    }
                    cc.on_rtt_update(sent, now, &self.rtt, &mut Nobody);
                } else if !stale {
                    sent = now;
                }
                let acked = of("acked") as usize;
                cc.on_ack(sent, acked, (), &self.rtt, &mut Nobody, now, &mut Nobody);
            }
            "congestion" if !self.silent => {
                if given == "ecn" {
                    cc.on_explicit_congestion(1, now, &mut Nobody);
                } else {
                    let persistent = given == "timeout";
                    fly(cc, u64::from(cc.bytes_in_flight()).max(1), now, false, &self.rtt);
                    cc.on_packet_lost(1, (), persistent, true, &mut Nobody, now, &mut Nobody);
                    self.silent = persistent;
                }
                self.episode = now;
            }
            "mss_changed" => cc.on_mtu_update(number(flow, "mss") as u16, &mut Nobody),
            _ => {}
        }
    }

    fn answer(&self) -> Fields {
        let Some(cc) = &self.cc else { return Fields::new() };
        let Value::Object(fields) = json!({ "cwnd": cc.congestion_window() }) else { return Fields::new() };
        fields
    }
}

/// Sends, or forgets, until so much is in flight.
fn fly(cc: &mut CubicCongestionController, flight: u64, now: Timestamp, limited: bool, rtt: &RttEstimator) {
    let there = u64::from(cc.bytes_in_flight());
    if flight > there {
        cc.on_packet_sent(now, (flight - there) as usize, Some(limited), rtt, &mut Nobody);
    } else {
        cc.on_packet_discarded((there - flight) as usize, &mut Nobody);
    }
}
