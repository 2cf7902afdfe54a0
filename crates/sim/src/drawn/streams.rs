//! The random numbers of drawn time lines: those of numpy's `PCG64(SeedSequence(seed, spawn_key=(stream,)))`,
//! which numpy promises not to change.
//!
//! The generator is PCG XSL RR 128/64 (M. E. O'Neill, PCG: A Family of Simple Fast Space-Efficient
//! Statistically Good Algorithms for Random Number Generation, HMC-CS-2014-0905). Its seed is spread by the
//! hash of a seed sequence (M. E. O'Neill, Developing a seed_seq Alternative, 2015), with the constants and
//! the pool of four words of numpy.

use rand_core::Rng;
use rand_pcg::Lcg128Xsl64;

const POOL: usize = 4;
const MULTIPLIER: u32 = 0x931e_8875;
const OUTPUT_MULTIPLIER: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;

/// A hash whose constant changes with each word.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let word = word.wrapping_mul(self.constant);
        word ^ word >> 16
    }
}

fn mix(x: u32, y: u32) -> u32 {
    let mixed = MIX_LEFT.wrapping_mul(x).wrapping_sub(MIX_RIGHT.wrapping_mul(y));
    mixed ^ mixed >> 16
}

/// The generator of a stream.
fn generator(seed: u64, stream: u32) -> Lcg128Xsl64 {
    let entropy = [seed as u32, (seed >> 32) as u32, 0, 0, stream];
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: MULTIPLIER };
    let mut pool = [0; POOL];
    for (word, &given) in pool.iter_mut().zip(&entropy) {
        *word = hash.of(given);
    }
    for from in 0..POOL {
        for to in (0..POOL).filter(|to| *to != from) {
            pool[to] = mix(pool[to], hash.of(pool[from]));
        }
    }
    for word in &mut pool {
        *word = mix(*word, hash.of(entropy[POOL]));
    }
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: OUTPUT_MULTIPLIER };
    let words: [u64; 8] = std::array::from_fn(|i| u64::from(hash.of(pool[i % POOL])));
    let [high, low, stream_high, stream_low] =
        [0, 2, 4, 6].map(|i| u128::from(words[i] | words[i + 1] << 32));
    Lcg128Xsl64::new(high << 64 | low, stream_high << 64 | stream_low)
}

/// Numbers above 0 and below 1: the upper 53 bits of the words of a stream, and a half.
pub(super) fn uniform(seed: u64, stream: u32, count: usize) -> Vec<f64> {
    let mut words = generator(seed, stream);
    (0..count).map(|_| ((words.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[hex(w) for w in PCG64(SeedSequence(seed, spawn_key=(stream,))).random_raw(2)]` of numpy 2.4.
    #[test]
    fn the_words_are_those_of_numpy() {
        for (seed, stream, words) in WORDS {
            let mut found = generator(seed, stream);
            assert_eq!([found.next_u64(), found.next_u64()], words, "seed {seed}, stream {stream}");
        }
    }

    const WORDS: [(u64, u32, [u64; 2]); 5] = [
        (0, 0, [0xf1645affcd5f76ee, 0x50fb78bc01675596]),
        (1, 3, [0x1d3745f42eb88be3, 0xda760b358ed08855]),
        (7, 13, [0x805f304a3da31c99, 0x699a8ec445cec251]),
        (4294967296, 1, [0x1fc4d66afb609de3, 0xa0d7c8d502508f71]),
        (18446744073709551615, 5, [0xd3a3bb8f5d1239d4, 0xd52c81a7dd012735]),
    ];
}
