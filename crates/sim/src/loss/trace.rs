//! A trace of losses: the packets whose numbers a file lists are lost.

use std::sync::Arc;

use bentpipe_cc::Time;

use crate::keys::error::quoted_name;
use crate::keys::file;
use crate::keys::table::keys;
use crate::link::random::Stream;
use crate::loss::kind::{LossKeys, LossRule, PlannedLoss, Wrong};

/// Largest trace file, in bytes.
const MAX_FILE: u64 = 256 << 20;

keys! {
    /// The packets whose numbers a file lists are lost.
    pub struct LossTrace {
        /// Text file with one number per line, counted from 0 in this direction; empty lines and what follows
        /// `#` are skipped. A relative name starts from the directory of the scenario file.
        pub file: String,
    }
}

/// The packets with these 0-based numbers, counted in this direction, are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossTracePlan {
    /// Packet numbers, in order.
    pub lost: Arc<[u64]>,
}

impl LossKeys for LossTrace {
    type Plan = LossTracePlan;

    fn resolve(&self) -> Result<LossTracePlan, Wrong> {
        read(&self.file).map(|lost| LossTracePlan { lost }).map_err(|message| ("file", message))
    }

    fn file_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.file)
    }
}

/// Reads a trace file. No message quotes a line, because the file may not be the one that was meant.
fn read(file: &str) -> Result<Arc<[u64]>, String> {
    let in_file = |message: String| format!("trace file {}: {message}", quoted_name(file));
    let text = file::text(file.as_ref(), MAX_FILE).map_err(in_file)?;
    let mut lost = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if !number.is_empty() {
            let wrong = |_| in_file(format!("line {} is not a packet number from 0", i + 1));
            lost.push(number.parse().map_err(wrong)?);
        }
    }
    lost.sort_unstable();
    lost.dedup();
    Ok(lost.into())
}

impl PlannedLoss for LossTracePlan {
    fn start(&self, _: &mut Stream) -> Box<dyn LossRule> {
        Box::new(Numbered { lost: self.lost.clone(), seen: 0, next: 0 })
    }
}

#[derive(Debug)]
struct Numbered {
    lost: Arc<[u64]>,
    /// The number of the next packet.
    seen: u64,
    /// The position in the trace of the next packet to be lost.
    next: usize,
}

impl LossRule for Numbered {
    fn strikes(&mut self, _: Time, _: u16, _: &mut Stream) -> bool {
        let struck = self.lost.get(self.next) == Some(&self.seen);
        self.seen += 1;
        self.next += usize::from(struck);
        struck
    }
}
