use super::super::{SEARCH, SLOW_START};
use super::{COMPARED, EXIT, Search, SearchConstants, SoFar, THRESH};
use crate::event::Congestion;
use crate::registry::Value;
use crate::rig::{Rig, args, near, text};
use crate::time::{Span, Time};

fn constants(given: &[(&str, Value)]) -> SearchConstants {
    SearchConstants::new(&args("reno", given))
}

/// SearchConstants of the module (35 hundredths, 10 bins and 15, 3.5 RTTs), and THRESH
/// of draft 09 for its rule.
#[test]
fn the_constants_are_those_of_the_sources() {
    let module = constants(&[]);
    assert_eq!((module.window_factor, module.bins, module.extra_bins), (3.5, 10, 15));
    assert_eq!(module.thresh, 0.35);
    let sent = [(COMPARED, text("sent"))];
    assert_eq!(constants(&sent).thresh, 0.26);
    let given = [(COMPARED, text("sent")), (THRESH, Value::Number(0.3))];
    assert_eq!(constants(&given).thresh, 0.3);
}

/// Counts at the ends of 20 bins, bin by bin.
fn counted(constants: SearchConstants, so_far: impl Fn(u64) -> SoFar) -> (Search, u64) {
    let mut search = Search::new(constants);
    let kept = search.ring.len();
    (0..20).for_each(|bin| search.ring[bin as usize % kept] = so_far(bin));
    (search.bin, search.index) = (Some(Span(100)), Some(19));
    (search, 19)
}

/// By hand, bins of 100 ns. At bin 19 with an RTT of 3 bins the windows are bins 9 to 19 and 6 to 16. With b²
/// bytes after b bins that is 361 - 81 = 280 and 256 - 36 = 220, so (440 - 280) / 440 = 4/11 is missing. With
/// an RTT of 3.5 bins the earlier one ends halfway between bins 15 and 16, at 240.5, and begins at 30.5: 210,
/// and (420 - 280) / 420 = 1/3.
#[test]
fn the_missing_share_by_hand() {
    let squares = |bin: u64| SoFar { delivered: bin * bin, sent: 2 * bin * bin };
    let (search, index) = counted(constants(&[]), squares);
    near(search.missing(index, Span(100), Span(300)).expect("enough bins"), 4.0 / 11.0, 1e-12);
    near(search.missing(index, Span(100), Span(350)).expect("enough bins"), 1.0 / 3.0, 1e-12);
    // What was sent is twice that here, so the other rule finds the same.
    let (search, index) = counted(constants(&[(COMPARED, text("sent"))]), squares);
    near(search.missing(index, Span(100), Span(350)).expect("enough bins"), 1.0 / 3.0, 1e-12);
}

/// The window of one RTT ago must have ten bins, and the look back fewer than EXTRA_BINS - 1.
#[test]
fn too_few_bins_or_too_long_an_rtt_decide_nothing() {
    let line = |bin: u64| SoFar { delivered: bin, sent: bin };
    let (search, index) = counted(constants(&[]), line);
    assert!(search.missing(index, Span(100), Span(999)).is_some());
    assert!(search.missing(index, Span(100), Span(1000)).is_none(), "bin 9 is no end of ten bins");
    let few = [("search_extra_bins", Value::Number(8.0))];
    let (search, index) = counted(constants(&few), line);
    assert!(search.missing(index, Span(100), Span(699)).is_some());
    assert!(search.missing(index, Span(100), Span(700)).is_none());
}

fn rig(given: &[(&str, Value)]) -> Rig {
    let mut all = given.to_vec();
    all.push((SLOW_START, text(SEARCH)));
    Rig::new("reno", &all, 10.0, f64::INFINITY)
}

/// A round on a path of 500 segments and 600 ms with a buffer of 500 segments: what does not fit
/// is not acknowledged in it.
fn round(rig: &mut Rig) {
    let rtt = (0.6 * rig.w() / 500.0).clamp(0.6, 1.2);
    let acks = rig.w().min(500.0 * rtt / 0.6) as u64;
    (1..=acks).for_each(|i| rig.ack(1.0, rtt / acks as f64, rtt, i == acks));
}

/// The window when SEARCH leaves slow start on that path.
fn left(given: &[(&str, Value)]) -> f64 {
    let mut rig = rig(given);
    for _ in 0..12 {
        round(&mut rig);
        if rig.t() < 1e9 {
            return rig.t();
        }
    }
    panic!("still in slow start with {} segments", rig.w());
}

/// Deliveries double as long as the path has room: no exit however large the window gets. On a path
/// that is full they do not.
#[test]
fn it_leaves_where_deliveries_no_longer_double() {
    let mut free = rig(&[]);
    (0..12).for_each(|_| free.round(0.6));
    assert!(free.t() > 1e9 && free.w() > 40_000.0);
    let full = left(&[]);
    assert!((1000.0..4000.0).contains(&full), "{full}");
}

/// The full path delivers 500 segments in an initial RTT, 1000 in two.
#[test]
fn the_window_on_leaving_is_kept_rolled_back_or_drained() {
    let [keep, rollback, drain] = ["keep", "rollback", "drain"].map(|exit| left(&[(EXIT, text(exit))]));
    near(drain, 500.0, 0.03);
    near(keep - rollback, 1000.0, 0.03);
}

/// By hand. The first RTT of 0.7 s makes bins of 0.245 s. Three seconds without an ACK are more than ten of
/// them; then the bins are those of the new RTT. A timeout forgets them too. A sender that its window does
/// not limit keeps their length.
#[test]
fn pauses_and_timeouts_begin_the_count_anew() {
    let mut search = Search::new(constants(&[]));
    let mut flow = crate::report::Flow { mss: 1000, cwnd_limited: true, ..Default::default() };
    let mut w = crate::window::Window { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut ack = |search: &mut Search, at: f64, rtt: f64, limited: bool| {
        flow.now = Time(Span::from_secs(at).0);
        flow.cwnd_limited = limited;
        let rtt = Some(crate::report::RttSample::one(Span::from_secs(rtt)));
        let ack = crate::report::Ack { acks: 1, acked: 1000, rtt, ..Default::default() };
        super::SlowStartRule::before_growth(search, &flow, &ack, &mut w);
        (search.bin, search.index)
    };
    let bins = |secs: f64| Some(Span::from_secs(secs));
    assert_eq!(ack(&mut search, 1.0, 0.7, true), (bins(0.245), Some(0)));
    assert_eq!(ack(&mut search, 1.5, 0.7, true), (bins(0.245), Some(2)));
    assert_eq!(ack(&mut search, 2.0, 0.7, false), (bins(0.245), Some(0)));
    assert_eq!(ack(&mut search, 5.0, 0.5, true), (bins(0.175), Some(0)));
    let cut = crate::window::Cut::standard(5.0, Congestion::Timeout);
    super::SlowStartRule::on_congestion(&mut search, &flow, Congestion::Timeout, &w, &cut);
    assert_eq!((search.bin, search.index), (None, None));
}
