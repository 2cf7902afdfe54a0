//! Scripts in the language of packetdrill, each a test by its name. The expected values are worked out from
//! the RFCs; the head of a script names the section.

use bentpipe_drill::{Kind, Manner};

mod hostile;

macro_rules! scripts {
    ($($group:ident { $($name:ident),* $(,)? })*) => {
        $(mod $group {
            $(#[test]
            fn $name() {
                let path = concat!(stringify!($group), "/", stringify!($name), ".pkt");
                crate::check(path, include_str!(concat!("scripts/", stringify!($group), "/", stringify!($name), ".pkt")));
            })*
        })*
        /// How many scripts are listed.
        const LISTED: usize = [$($(stringify!($name)),*),*].len();
    };
}

scripts! {
    application { writes_in_pieces }
    cubic { pause, seven_tenths, timeout }
    dsack { undo_in_slow_start, undo_when_all_is_reported }
    ecn { echo_halves_once, not_negotiated, receiver_echoes_until_cwr, retransmission_without_ect }
    f_rto { genuine, genuine_without_sack, spurious, spurious_without_sack }
    limited_transmit { not_done, reordering, without_sack }
    newreno { partial_ack, reno_leaves_at_the_first_new_ack }
    prr { conservation_without_safe_ack, one_for_two, slow_start_reduction_bound }
    rack { lost_retransmission, reordering_is_waited_for, three_sacked_without_reordering, timer, window_grows_with_dsack }
    receiver { duplicate_not_reported, duplicate_reported, echo_of_the_oldest, every_second_segment, linux_quick_acks, most_recent_block_first, out_of_order_at_once, segments_of_any_length, three_blocks_at_most }
    rto { at_least_one_second, doubles_each_time, first_sample, half_of_the_window_not_of_the_flight, linux, restarted_by_an_advancing_ack, samples_that_differ, second_sample, slow_start_after_it, thin_stream }
    sack { no_retransmission_of_sacked, old_ack, old_ack_with_news, pipe_below_half, two_holes_in_order }
    slow_start { byte_counting_up_to_two_segments, congestion_avoidance, ends_at_ssthresh, initial_window_of_rfc5681, initial_window_of_ten, linux_counts_every_segment, nothing_grows_that_does_not_limit, one_segment_an_ack, one_segment_an_ack_after_a_timeout }
    timestamps { eifel_genuine, eifel_spurious, sample_of_a_retransmission }
    tlp { delayed_ack_of_one_segment, loss_repaired, new_data_first, repair_by_recovery, two_round_trips, without_a_sample }
    window { closed_window_is_probed, probe_of_what_is_written_later, receive_window_binds, receiver_tells_its_room, scaled_window, small_updates_wait, update_is_no_duplicate }
}

fn check(path: &str, text: &str) {
    if let Err(error) = bentpipe_drill::run(text) {
        panic!("{path}: {error}");
    }
}

#[test]
fn every_script_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/packetdrill/scripts");
    let groups = std::fs::read_dir(folder).expect("the scripts are here");
    let files =
        groups.flatten().filter_map(|group| std::fs::read_dir(group.path()).ok()).map(Iterator::count);
    assert_eq!(files.sum::<usize>(), LISTED);
}

/// packetdrill itself does not miss packets that no line names, and public scripts ask
/// Linux what we do not have.
#[test]
fn a_lenient_run_leaves_what_no_line_names_and_passes_over_what_it_cannot_ask() {
    let text = include_str!("scripts/sack/two_holes_in_order.pkt");
    let (last, rest) = (text.lines().last().expect("lines"), text.lines().count() - 1);
    let cut: String = text.lines().take(rest).map(|line| format!("{line}\n")).collect();
    let asked = format!("{cut}+0 %{{ assert tcpi_reordering == 3 }}%\n");
    assert!(last.contains('>'), "the last line names a packet: {last}");
    let strict = bentpipe_drill::run(&cut).map_err(|error| error.kind);
    let lenient = bentpipe_drill::run_as(&asked, Manner::Lenient);
    assert_eq!(strict, Err(Kind::Differs));
    assert_eq!(bentpipe_drill::run(&asked).map_err(|error| error.kind), Err(Kind::Refused));
    assert_eq!(lenient.map(|done| done.skipped), Ok(1));
    // It is as strict where a line names a packet.
    let early = text.replace("+0   > . 1:501", "+.1  > . 1:501");
    assert_eq!(
        bentpipe_drill::run_as(&early, Manner::Lenient).map_err(|error| error.kind),
        Err(Kind::Differs)
    );
}

#[test]
fn a_difference_names_line_expectation_and_what_came() {
    let text = include_str!("scripts/tlp/two_round_trips.pkt").replace("+1.2 ", "+1.3 ");
    let error = bentpipe_drill::run(&text).expect_err("the probe is early").to_string();
    assert!(
        error.contains("line 13: differs")
            && error.contains("at 2.500000 s")
            && error.contains("at 2.400000 s"),
        "{error}"
    );
}
