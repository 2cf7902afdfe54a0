//! Builds a scenario from a tree of values that the schema allows, and resolves the names of its files.

use std::path::Path;

use serde_json::Value;
use serde_path_to_error::Segment;

use crate::keys::error::{Error, Key, Origin};
use crate::scenario::document::{Scenario, Timeline};
use crate::scenario::network::Pairs;

/// The scenario of a tree that the schema allows.
pub(super) fn build(tree: Value, origin: &Origin, directory: Option<&Path>) -> Result<Scenario, Error> {
    let read: Result<Scenario, _> = serde_path_to_error::deserialize(tree);
    let mut scenario = read.map_err(|e| {
        let key = e.path().iter().fold(Key::default(), |key, part| match part {
            Segment::Seq { index } => key.with(index),
            part => key.with(part),
        });
        origin.error(&key, e.inner().to_string())
    })?;
    scenario.origin = origin.clone();
    if let Some(directory) = directory {
        scenario.anchor(directory);
    }
    Ok(scenario)
}

impl Scenario {
    /// Makes the names of files relative to the working directory instead of to `directory`.
    fn anchor(&mut self, directory: &Path) {
        for file in self
            .flow
            .iter_mut()
            .filter_map(|flow| flow.traffic.as_mut())
            .flat_map(crate::scenario::Traffic::files_mut)
        {
            *file = directory.join(&*file).display().to_string();
        }
        let pairs = self.flow.iter_mut().filter_map(|flow| match &mut flow.pairs {
            Some(Pairs::File(of)) => Some(&mut of.file),
            _ => None,
        });
        let network = self.network.iter_mut().flat_map(|network| {
            for station in network.stations.iter_mut().filter(|station| station.ends_with(".csv")) {
                // A track may have a name, "Liner = track.csv".
                let file = station.find('=').map_or(0, |equals| equals + 1);
                let path = directory.join(station[file..].trim()).display().to_string();
                station.replace_range(file.., &path);
            }
            network.tle.iter_mut().chain(&mut network.hypatia)
        });
        for file in pairs.chain(network) {
            *file = directory.join(&*file).display().to_string();
        }
        for link in self.link.values_mut() {
            let reverse = link.reverse.iter_mut().flat_map(|r| &mut r.opportunities);
            for file in link.opportunities.iter_mut().chain(reverse) {
                *file = directory.join(&*file).display().to_string();
            }
            let reverse = link.reverse.iter_mut().flat_map(|r| &mut r.loss);
            for loss in link.loss.iter_mut().chain(reverse) {
                if let Some(file) = loss.file_mut() {
                    *file = directory.join(&*file).display().to_string();
                }
            }
            let back = link.reverse.iter_mut().flat_map(|reverse| &mut reverse.timeline);
            for file in link.timeline.iter_mut().chain(back).filter_map(Timeline::file_mut) {
                *file = directory.join(&*file).display().to_string();
            }
        }
    }
}
