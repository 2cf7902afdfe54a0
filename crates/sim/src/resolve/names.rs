//! The names of flows: names from the scenario, default names, and numbers where several flows share a name.

use std::collections::{BTreeMap, BTreeSet};

use crate::keys::error::{Error, Key, quoted};
use crate::resolve::plan::ConnectionPart;
use crate::resolve::work::{Work, default_name};
use crate::scenario::Flow;

/// Checks a name: it must not be empty, nor contain the `/` that separates names in rows, traces and random
/// streams, as in "sat/reverse" and "web/3/responses".
fn check(work: &Work<'_>, name: &str, key: &Key, example: &str) -> Result<(), Error> {
    if name.is_empty() {
        Err(work.error(key, format!("a name is not empty; {example}")))
    } else if name.contains('/') {
        let name = quoted(name);
        Err(work.error(
            key,
            format!("{name} has a \"/\", which only separates names (\"sat/reverse\"); {example}"),
        ))
    } else {
        Ok(())
    }
}

/// Checks that every link has a valid name.
pub(super) fn check_links(work: &Work<'_>) -> Result<(), Error> {
    let mut names = work.scenario.link.keys();
    names.try_for_each(|name| check(work, name, &Key::of(["link", name]), "write e.g. [link.sat]"))
}

/// Gives flows their names.
pub(super) struct Names<'a> {
    /// How many flows without a name of their own share a default.
    sharing: BTreeMap<&'a str, u64>,
    numbered: BTreeMap<&'a str, u64>,
    /// How many flows between stations have a name.
    between: BTreeMap<String, u64>,
    taken: BTreeSet<String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(flows: &'a [Flow]) -> Names<'a> {
        let mut sharing = BTreeMap::new();
        for flow in flows.iter().filter(|flow| flow.name.is_none()) {
            *sharing.entry(default_name(flow)).or_insert(0) += flow.count;
        }
        Names { sharing, numbered: BTreeMap::new(), between: BTreeMap::new(), taken: BTreeSet::new() }
    }

    pub(super) fn next(
        &mut self,
        work: &Work<'_>,
        flow: &'a Flow,
        copy: u64,
        key: &Key,
    ) -> Result<String, Error> {
        let name = match &flow.name {
            Some(name) if flow.count == 1 => name.clone(),
            Some(name) => format!("{name}-{copy}"),
            None => {
                let name = default_name(flow);
                let number = self.numbered.entry(name).or_insert(0);
                *number += 1;
                if self.sharing.get(name) == Some(&1) { name.to_owned() } else { format!("{name}-{number}") }
            }
        };
        let key = key.with("name");
        check(work, &name, &key, "leave it out, or write e.g. name = \"star\"")?;
        self.take(work, name, &key)
    }

    /// The name of a flow between two stations: "cubic:Tokyo>Paris". Further ones between these have numbers.
    pub(super) fn between(
        &mut self,
        work: &Work<'_>,
        flow: &Flow,
        [from, to]: [&str; 2],
        key: &Key,
    ) -> Result<String, Error> {
        let whole = format!("{}:{from}>{to}", flow.name.as_deref().unwrap_or(default_name(flow)));
        let number = self.between.entry(whole.clone()).or_insert(0_u64);
        *number += 1;
        let name = if *number == 1 { whole } else { format!("{whole}-{number}") };
        self.take(work, name, &key.with("name"))
    }

    /// The name of a part of flow `name`; the flow's own name if the part is the whole flow.
    pub(super) fn part(
        &mut self,
        work: &Work<'_>,
        name: &str,
        part: ConnectionPart,
        key: &Key,
    ) -> Result<String, Error> {
        if part.is_whole() {
            return Ok(name.to_owned());
        }
        self.take(work, format!("{name}/{}", part.name()), &key.with("name"))
    }

    /// Takes a name that no other flow has.
    pub(super) fn take(&mut self, work: &Work<'_>, name: String, key: &Key) -> Result<String, Error> {
        if self.taken.insert(name.clone()) {
            return Ok(name);
        }
        Err(work.error(key, format!("another flow is called {}, too; names must differ", quoted(&name))))
    }
}
