//! The bytes that are sent where no file is. Each follows from its position, so the receiver can check them.

/// Prime, so that a piece that is lost or doubled is noticed.
const PERIOD: usize = 251;
/// The most bytes at a time.
pub(crate) const LONGEST: usize = 1 << 14;
/// The pattern, long enough that the largest piece can start at every position within a period.
static BYTES: [u8; PERIOD + LONGEST] = {
    let mut bytes = [0; PERIOD + LONGEST];
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] = (i % PERIOD) as u8;
        i += 1;
    }
    bytes
};

/// At most `n` bytes, and at most [`LONGEST`], from `offset` on.
pub(crate) fn bytes(offset: u64, n: usize) -> &'static [u8] {
    let first = (offset % PERIOD as u64) as usize;
    &BYTES[first..first + n.min(LONGEST)]
}

/// The position of the first byte that differs from what was sent; `None` if all agree.
pub(crate) fn mistake(offset: u64, got: &[u8]) -> Option<u64> {
    let mut at = offset;
    for piece in got.chunks(LONGEST) {
        let sent = bytes(at, piece.len());
        if piece != sent {
            let same = piece.iter().zip(sent).take_while(|(got, sent)| got == sent).count();
            return Some(at + same as u64);
        }
        at += piece.len() as u64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, bytes, mistake};

    #[test]
    fn a_shifted_piece_is_noticed() {
        assert_eq!(mistake(1000, bytes(1000, 300)), None);
        assert_eq!(mistake(1001, bytes(1000, 300)), Some(1001));
        let mut piece = bytes(7, LONGEST).to_vec();
        piece.extend(bytes(7 + LONGEST as u64, 300));
        assert_eq!(mistake(7, &piece), None);
        for at in [0, 40, LONGEST - 1, LONGEST, LONGEST + 299] {
            let mut wrong = piece.clone();
            wrong[at] ^= 1;
            assert_eq!(mistake(7, &wrong), Some(7 + at as u64));
        }
    }
}
