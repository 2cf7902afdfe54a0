//! Sizes of a list or of a file: an empirical law.

use std::sync::Arc;

use crate::keys::error::quoted_name;
use crate::keys::file;
use crate::keys::table::keys;
use crate::keys::units::Size;
use crate::link::random::Stream;
use crate::workload::laws::kind::{Law, LawKeys, MeanLaw, WrongKey};

/// Largest file of sizes, bytes.
const MAX_FILE: u64 = 16 << 20;

keys! {
    /// One of these sizes, drawn in proportion to its weight.
    pub struct SizeList {
        /// The sizes.
        #[schemars(extend("examples" = [["1 kB", "10 kB", "1 MB"]]))]
        pub sizes: Vec<Size>,
        /// How often each is drawn, in proportion. Default: equally often.
        pub weights?: Vec<f64>,
    }

    /// One of the sizes in a file, all equally often.
    pub struct SizeFile {
        /// Text file with one number of bytes per line; empty lines and what follows `#` are skipped. A
        /// relative name starts from the directory of the scenario file.
        pub file: String,
    }
}

/// Sizes in bytes, and how often each is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedSizes {
    sizes: Arc<[u64]>,
    /// For each size, the sum of its share and the shares before it; the last is 1.
    shares: Arc<[f64]>,
}

impl LawKeys<u64> for SizeList {
    type AtWork = ListedSizes;

    fn resolve(&self) -> Result<ListedSizes, WrongKey> {
        let listed: Vec<u64> = self.sizes.iter().map(|size| size.0).collect();
        if listed.is_empty() || listed.contains(&0) {
            let message = "needs sizes of at least one byte; write e.g. [\"1 kB\", \"10 kB\"]";
            return Err(("sizes", message.to_owned()));
        }
        let weights = self.weights.clone().unwrap_or_else(|| vec![1.0; listed.len()]);
        let sum: f64 = weights.iter().sum();
        let usable = weights.iter().all(|w| *w >= 0.0 && w.is_finite()) && sum > 0.0;
        if weights.len() != listed.len() || !usable {
            let n = listed.len();
            let message = format!("has to have a weight of 0 or more for each of {n} sizes, and one above 0");
            return Err(("weights", message));
        }
        Ok(ListedSizes::new(listed, &weights))
    }
}

impl LawKeys<u64> for SizeFile {
    type AtWork = ListedSizes;

    fn resolve(&self) -> Result<ListedSizes, WrongKey> {
        let sizes = read(&self.file).map_err(|message| ("file", message))?;
        let weights = vec![1.0; sizes.len()];
        Ok(ListedSizes::new(sizes, &weights))
    }
}

impl ListedSizes {
    fn new(sizes: Vec<u64>, weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let mut upto = 0.0;
        let mut shares: Vec<f64> = weights
            .iter()
            .map(|weight| {
                upto += weight / sum;
                upto
            })
            .collect();
        // Sizes after the last weight above zero are never drawn.
        let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
        shares[last..].fill(1.0);
        Self { sizes: sizes.into(), shares: shares.into() }
    }
}

impl Law<u64> for ListedSizes {
    fn draw(&self, stream: &mut Stream) -> u64 {
        let share = stream.uniform();
        let i = self.shares.partition_point(|&upto| upto < share).min(self.sizes.len() - 1);
        self.sizes[i]
    }
}

impl MeanLaw<u64> for ListedSizes {
    fn mean(&self) -> f64 {
        let before = std::iter::once(&0.0).chain(self.shares.iter());
        let parts = self.sizes.iter().zip(self.shares.iter()).zip(before);
        parts.map(|((&size, upto), before)| size as f64 * (upto - before)).sum()
    }
}

/// The sizes in a file, one number of bytes per line. No message quotes a line, because the file may not be
/// the one that was meant.
fn read(file: &str) -> Result<Vec<u64>, String> {
    let in_file = |message: String| format!("file of sizes {}: {message}", quoted_name(file));
    let text = file::text(file.as_ref(), MAX_FILE).map_err(in_file)?;
    let mut sizes = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if number.is_empty() {
            continue;
        }
        match number.parse::<u64>() {
            Ok(size) if size > 0 => sizes.push(size),
            _ => {
                return Err(in_file(format!("line {} is not a number of bytes from 1", i + 1)));
            }
        }
    }
    if sizes.is_empty() {
        return Err(in_file("there is no size in it; write one number of bytes a line".to_owned()));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::laws::tests::{DRAWS, drawn};

    /// A quarter, a half and a quarter: the mean is 526.75 bytes.
    #[test]
    fn a_list_is_drawn_by_its_weights() {
        let sizes = [100, 1_000, 7].map(Size).into();
        let listed = SizeList { sizes, weights: Some(vec![0.5, 1.0, 0.5]) }.resolve().expect("a list");
        let found = drawn(&listed);
        for (size, share) in [(100.0, 0.25), (1_000.0, 0.5), (7.0, 0.25)] {
            let part = found.iter().filter(|s| **s == size).count() as f64 / f64::from(DRAWS);
            assert!((part - share).abs() < 0.005, "{size}: {part}");
        }
        assert_eq!(listed.mean(), 526.75);
    }
}
