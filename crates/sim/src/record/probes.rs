//! Samples of the probes of controllers ([`Controller::probe`]).

use bentpipe_cc::{Controller, Time};

use crate::record::trace::ProbeTrace;

/// Samples of probes in the order in which they were taken, and the names of the probes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSamples {
    names: Vec<String>,
    rows: Vec<ProbeRow>,
}

/// A value, stored as its bits: a value that is not known yet is NaN, which would equal no other value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProbeRow {
    at: Time,
    flow: u32,
    name: u32,
    bits: u64,
}

impl ProbeSamples {
    /// How many samples there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The index of the probe `name`.
    fn number(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u32
    }

    /// The names behind the numbers of the column `probe`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The samples as columns.
    pub fn trace(&self) -> ProbeTrace {
        let rows = || self.rows.iter();
        ProbeTrace {
            t_s: rows().map(|row| row.at.secs()).collect(),
            flow: rows().map(|row| row.flow).collect(),
            probe: rows().map(|row| row.name).collect(),
            value: rows().map(|row| f64::from_bits(row.bits)).collect(),
        }
    }
}

/// The recorder of the probes of one run.
#[derive(Debug)]
pub(super) struct ProbeRecorder {
    samples: ProbeSamples,
    /// The last value of each probe of each flow: the probe's index and the value's bits.
    last: Vec<Vec<(u32, u64)>>,
}

impl ProbeRecorder {
    /// A recorder for a run with this many flows.
    pub(super) fn new(flows: usize) -> Self {
        Self { samples: ProbeSamples::default(), last: vec![Vec::new(); flows] }
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Samples the probes of flow `f` at `now`: all of them, or those whose values have changed.
    #[inline(never)]
    pub(super) fn take(&mut self, now: Time, f: usize, cc: &dyn Controller, all: bool) {
        let Self { samples, last } = self;
        let last = &mut last[f];
        let mut i = 0;
        cc.probe(&mut |name, value| {
            let bits = value.to_bits();
            let known = last.get(i).filter(|&&(number, _)| samples.names[number as usize] == name).copied();
            let number = known.map_or_else(|| samples.number(name), |(number, _)| number);
            if all || known != Some((number, bits)) {
                samples.rows.push(ProbeRow { at: now, flow: f as u32, name: number, bits });
            }
            if known.is_none() {
                last.truncate(i);
                last.push((number, bits));
            }
            last[i].1 = bits;
            i += 1;
        });
    }

    pub(super) fn finish(self) -> ProbeSamples {
        self.samples
    }
}
