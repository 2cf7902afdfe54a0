//! The segments that open and close a connection, as packets: their bits in a packet's flags, and their size.

use bentpipe_tcp::{Control, LossRecovery, Options, Signal};

use crate::link::packet::{ACK, CONTROL, Packet};

/// The lowest bit of [`CONTROL`].
const SHIFT: u32 = CONTROL.trailing_zeros();

/// In the order of their numbers among the flags, from 1.
const SIGNALS: [Signal; 6] =
    [Signal::Syn, Signal::SynAck, Signal::Ack, Signal::Fin, Signal::FinAck, Signal::LastAck];

/// A wake-up has the last number of the bits (`packet.rs`).
const _: () = assert!(SIGNALS.len() < (CONTROL >> SHIFT) as usize);

/// The control segment as a packet at hop `hop`.
#[cold]
pub(crate) fn packet(control: Control, options: &Options, flow: u32, hop: u32) -> Packet {
    let number = SIGNALS.iter().position(|s| *s == control.signal).unwrap_or_default() as u16 + 1;
    let answer = matches!(control.signal, Signal::SynAck | Signal::FinAck);
    let flags = number << SHIFT | if answer { ACK } else { 0 };
    Packet { flow, ts: control.ts, hop, size: size(control.signal, options), flags, ..Packet::default() }
}

/// The control signal of a packet; `None` for data and its acknowledgements.
pub(crate) fn signal(packet: &Packet) -> Option<Signal> {
    let number = (packet.flags & CONTROL) >> SHIFT;
    SIGNALS.get(usize::from(number).wrapping_sub(1)).copied()
}

/// The sizes of all such segments.
pub(crate) fn sizes(options: &Options) -> [u16; 6] {
    SIGNALS.map(|signal| size(signal, options))
}

/// Bytes on the wire: 20 of IPv4, 20 of TCP, and the options. The header sizes that the scenario gives to
/// data do not apply.
fn size(signal: Signal, options: &Options) -> u16 {
    // Timestamps take 10 bytes and are padded to 12 (RFC 7323 appendix A).
    let timestamps = 12 * u16::from(options.timestamps);
    let more = match signal {
        Signal::Syn | Signal::SynAck => {
            // Maximum segment size takes 4; window scale takes 3 and one of padding. SACK permitted takes 2,
            // in the padding of the timestamps or with two bytes of its own.
            let sack = options.recovery == LossRecovery::Sack && !options.timestamps;
            // The capabilities of SCPS-TP take 4 bytes; SNACK is one of them.
            8 + 4 * u16::from(sack) + 4 * u16::from(options.snack.is_some())
        }
        Signal::Ack | Signal::Fin | Signal::FinAck | Signal::LastAck => 0,
    };
    40 + timestamps + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_survives_as_a_packet() {
        for signal in SIGNALS {
            let sent = packet(Control { signal, ts: 7 }, &Options::modern(), 3, 5);
            assert_eq!((super::signal(&sent), sent.ts, sent.flow, sent.hop), (Some(signal), 7, 3, 5));
        }
        assert_eq!(super::signal(&Packet::default()), None);
    }

    /// A SYN of Linux has 40 + 20 bytes; its other segments without data have 40 + 12.
    #[test]
    fn sizes_are_those_of_the_wire() {
        let plain = Options { timestamps: false, ..Options::modern() };
        let reno = Options { recovery: LossRecovery::Reno, ..plain };
        let sizes = |o: &Options| (size(Signal::Syn, o), size(Signal::SynAck, o), size(Signal::Fin, o));
        assert_eq!(sizes(&Options::modern()), (60, 60, 52));
        assert_eq!(sizes(&plain), (52, 52, 40));
        assert_eq!(sizes(&reno), (48, 48, 40));
    }
}
