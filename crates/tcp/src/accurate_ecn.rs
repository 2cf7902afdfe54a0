//! The sender's part of AccECN (RFC 9768): how many packets and bytes an acknowledgement newly reports as
//! marked.
//!
//! The ACE field carries three bits of the receiver's packet counter, the option 24 bits of its byte
//! counters. The sender takes the least increments that fit (sections 3.2.2.1 and 3.2.3.1). An
//! acknowledgement of eight packets or more, most of whose predecessors were lost, leaves open whether ACE
//! has cycled. The sender then assumes the safest likely case (section 3.2.2.5.2, appendix A.2): the largest
//! increment that the newly acknowledged packets allow, unless the bytes of the option contradict it. The
//! order of the tests is that of Linux (`__tcp_accecn_process`).
//!
//! The rules were read in draft-ietf-tcpm-accurate-ecn-34, which became the RFC.

use crate::segment::MarkCounts;

/// Modulus of the ACE field.
const ACE: u64 = 8;
/// Modulus of a byte counter on the wire.
const BYTES: u64 = 1 << 24;

/// The receiver's counters as the sender has reconstructed them.
#[derive(Debug, Default)]
pub(crate) struct AccurateEcn {
    /// s.cep and s.ceb, less their initial values.
    packets: u64,
    bytes: u64,
    /// The counters on the acknowledgement that is being processed.
    pending: Option<(u8, Option<u32>)>,
    /// Marked bytes that have not been reported so far.
    unreported: u64,
}

impl AccurateEcn {
    /// The acknowledgement about to be processed has this ACE field, and this byte counter if it carries the
    /// option.
    pub(crate) fn tell(&mut self, ace: u8, ce_bytes: Option<u32>) {
        self.pending = Some((ace, ce_bytes));
    }

    /// The acknowledgement delivers `packets` packets and `bytes` bytes. An old acknowledgement (`current`
    /// false) reports nothing. Returns how many of the delivered bytes it newly reports as marked.
    pub(crate) fn take(&mut self, packets: u64, bytes: u64, mss: u64, current: bool) -> u64 {
        if let Some((ace, ce_bytes)) = self.pending.take().filter(|_| current) {
            let first = MarkCounts { ce_packets: self.packets, ..MarkCounts::default() }.ace();
            let least = u64::from(ace.wrapping_sub(first)) % ACE;
            let marked_bytes = ce_bytes.map(|field| (u64::from(field) + BYTES - self.bytes % BYTES) % BYTES);
            let marked = marked_packets(least, packets, marked_bytes, mss);
            self.packets += marked;
            let marked_bytes = marked_bytes.unwrap_or_else(|| (marked * mss).min(bytes));
            self.bytes += marked_bytes;
            self.unreported += marked_bytes;
        }
        let reported = self.unreported.min(bytes);
        self.unreported -= reported;
        reported
    }
}

/// The increment of the packet counter by an acknowledgement of `packets`; `least` is the increment that ACE
/// shows.
fn marked_packets(least: u64, packets: u64, marked_bytes: Option<u64>, mss: u64) -> u64 {
    if packets < ACE {
        return least;
    }
    // Appendix A.2.1: the most that the newly acknowledged packets allow.
    let safe = packets.saturating_sub(packets.saturating_sub(least) % ACE).max(least);
    match marked_bytes {
        Some(0) => least,
        // Appendix A.2.2: the bytes decide. They exceed what `least` packets can carry; or they are so few
        // that ACE cannot have cycled.
        Some(bytes) if bytes > least * mss => {
            (least + (bytes.div_ceil(mss) - least).div_ceil(ACE) * ACE).min(safe)
        }
        Some(_) => least,
        None => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACE begins at 5 (section 3.2.2): two marks make it 7, a third makes it 0.
    #[test]
    fn the_field_has_three_bits_of_a_counter_that_begins_at_five() {
        for (marks, ace) in [(0, 5), (2, 7), (3, 0), (8, 5)] {
            assert_eq!(MarkCounts { ce_packets: marks, ..MarkCounts::default() }.ace(), ace);
        }
    }

    /// Without the option. An ACK of seven packets or fewer is unambiguous. An ACK of twenty that shows one
    /// mark may mean one, nine or seventeen: the safest case is seventeen.
    #[test]
    fn an_acknowledgement_of_many_packets_takes_the_safest_case() {
        for (least, packets, marked) in
            [(0, 2, 0), (2, 2, 2), (3, 7, 3), (1, 20, 17), (4, 20, 20), (5, 20, 13), (0, 9, 8)]
        {
            assert_eq!(marked_packets(least, packets, None, 1000), marked, "{least} of {packets}");
        }
    }

    /// With the option, the bytes decide: 9000 bytes in segments of 1000 are nine packets, and ACE shows one.
    #[test]
    fn the_bytes_of_the_option_tell_how_often_the_field_has_cycled() {
        for (least, bytes, marked) in [(1, 1000, 1), (1, 9000, 9), (1, 17_000, 17), (0, 0, 0), (0, 8000, 8)] {
            assert_eq!(marked_packets(least, 24, Some(bytes), 1000), marked, "{least} with {bytes}");
        }
    }

    /// Counters wrap: the least increments that fit are taken, and their sum is what the receiver has
    /// counted.
    #[test]
    fn what_the_sender_reconstructs_is_what_the_receiver_has_counted() {
        let mut counts = MarkCounts::default();
        let mut sender = AccurateEcn::default();
        let mut marked = 0;
        for i in 0..60_000_u64 {
            // Every third ACK arrives, of up to nine segments; the marks come in runs.
            let ce = i % 13 < 5;
            counts.ce_packets += u64::from(ce);
            counts.ce_bytes += 1448 * u64::from(ce);
            if i % 9 == 8 {
                let [_, bytes] = counts.fields();
                sender.tell(counts.ace(), Some(bytes));
                marked += sender.take(9, 9 * 1448, 1448, true);
            }
        }
        assert!(counts.ce_bytes > BYTES, "it has wrapped");
        assert_eq!(sender.packets, (0..59_994_u64).filter(|i| i % 13 < 5).count() as u64);
        assert_eq!(marked, 1448 * sender.packets);
    }

    /// An acknowledgement that a later one has overtaken reports nothing.
    #[test]
    fn an_old_acknowledgement_tells_nothing() {
        let mut sender = AccurateEcn::default();
        sender.tell(7, Some(2000));
        assert_eq!(sender.take(2, 2000, 1000, true), 2000);
        sender.tell(6, Some(1000));
        assert_eq!(sender.take(0, 0, 1000, false), 0);
        sender.tell(0, Some(3000));
        assert_eq!(sender.take(1, 1000, 1000, true), 1000);
    }
}
