//! Mends a scenario where it is wrong, so that its other mistakes can be found. The result is never run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::keys::error::Key;
use crate::scenario::schema;

/// The prefix of the names of added links. No file contains it.
const ADDED: char = '\u{1}';

/// Was the link of this name added?
pub(crate) fn is_added(link: &str) -> bool {
    link.starts_with(ADDED)
}

/// A tree that is being mended.
pub(crate) struct Mender {
    tree: Value,
    /// How often each key was mended.
    tries: BTreeMap<Key, u32>,
    /// Links that were added.
    added: usize,
}

impl Mender {
    pub(crate) fn new(tree: Value) -> Self {
        Self { tree, tries: BTreeMap::new(), added: 0 }
    }

    pub(crate) fn tree(&self) -> &Value {
        &self.tree
    }

    /// Mends the value of a key, more thoroughly each time; false if nothing is left to try.
    pub(crate) fn mend(&mut self, key: &Key) -> bool {
        let of_network = key.parts().first().is_some_and(|top| top == "network");
        if of_network && key.parts().len() == 1 {
            return false; // without its constellation, a flow between stations says nothing
        }
        let tries = self.tries.entry(key.clone()).or_insert(0);
        let from = *tries;
        for step in from..3 {
            self.tries.insert(key.clone(), step + 1);
            let done = match step {
                0 => self.replace(key),
                1 => self.remove(key),
                _ => !of_network && self.replace_whole(key),
            };
            if done {
                return true;
            }
        }
        false
    }

    /// Replaces a wrong or missing value by a right one.
    fn replace(&mut self, key: &Key) -> bool {
        let (Some(name), Some(above)) = (key.last(), key.parent()) else { return false };
        if name == "kind" {
            return self.remove(&above);
        }
        let is_item = find(&mut self.tree, above.parts()).is_some_and(|v| v.is_array())
            && name.parse::<usize>().is_ok();
        if is_item {
            if !matches!(above.last(), Some("path" | "ack_path")) {
                return false;
            }
            let link = Value::from(self.add_link());
            return self.put(key, link);
        }
        let is_there = find(&mut self.tree, key.parts()).is_some();
        if is_there && !schema::is_required(key) {
            return self.remove(key);
        }
        self.add(key)
    }

    /// Adds a right value where there is none.
    fn add(&mut self, key: &Key) -> bool {
        let right = match key.last().unwrap_or_default() {
            "path" => Some(json!([self.add_link()])),
            "link" if key.parts().len() == 1 => Some(json!({})),
            "flow" if key.parts().len() == 1 => Some(json!([self.flow()])),
            "cc" => Some(json!("reno")),
            _ => schema::example_at(key),
        };
        right.is_some_and(|right| self.put(key, right))
    }

    /// Removes a wrong value, and an item together with its whole list. A key that is
    /// missing by now is added.
    fn remove(&mut self, key: &Key) -> bool {
        let (Some(name), Some(above)) = (key.last(), key.parent()) else { return false };
        if find(&mut self.tree, key.parts()).is_none() {
            return self.add(key);
        }
        if key.parts().len() <= 2 && matches!(key.parts()[0].as_str(), "link" | "flow") {
            return self.replace_whole(key);
        }
        match find(&mut self.tree, above.parts()) {
            Some(Value::Object(map)) => map.remove(name).is_some(),
            Some(Value::Array(_)) => self.remove(&above),
            _ => false,
        }
    }

    /// Replaces the whole link or flow that has the mistake.
    fn replace_whole(&mut self, key: &Key) -> bool {
        let (link, flow) = (link(), self.flow());
        match (key.parts(), &mut self.tree) {
            ([table, name, ..], Value::Object(map)) if table == "link" => map
                .get_mut("link")
                .and_then(Value::as_object_mut)
                .map(|links| links.insert(name.clone(), link))
                .is_some(),
            ([list, number, ..], Value::Object(map)) if list == "flow" => {
                let item = number.parse().ok().and_then(|i: usize| map.get_mut("flow")?.get_mut(i));
                item.map(|item| *item = flow).is_some()
            }
            ([top, ..], Value::Object(map)) => map.remove(top).is_some(),
            _ => false,
        }
    }

    fn put(&mut self, key: &Key, value: Value) -> bool {
        let (Some(name), Some(above)) = (key.last(), key.parent()) else { return false };
        match find(&mut self.tree, above.parts()) {
            Some(Value::Object(map)) => {
                map.insert(name.to_owned(), value);
                true
            }
            Some(Value::Array(items)) => {
                let item = name.parse().ok().and_then(|i: usize| items.get_mut(i));
                item.map(|item| *item = value).is_some()
            }
            _ => false,
        }
    }

    /// A flow that is right.
    fn flow(&mut self) -> Value {
        let link = self.add_link();
        // No other flow has this name.
        json!({ "name": format!("{link}-flow"), "cc": "reno", "path": [link] })
    }

    /// The name of a link that no other flow crosses.
    fn add_link(&mut self) -> String {
        self.added += 1;
        let name = format!("{ADDED}{}", self.added);
        if let Value::Object(map) = &mut self.tree {
            let links = map.entry("link").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(links) = links {
                links.insert(name.clone(), link());
            }
        }
        name
    }
}

fn link() -> Value {
    json!({ "rate": "10 Mbit/s", "delay": "250 ms" })
}

/// The value at a key. A single table counts as a list of one.
fn find<'a>(tree: &'a mut Value, parts: &[String]) -> Option<&'a mut Value> {
    let Some((part, rest)) = parts.split_first() else { return Some(tree) };
    match tree {
        Value::Object(map) => find(map.get_mut(part)?, rest),
        Value::Array(items) => match part.parse::<usize>() {
            Ok(i) => find(items.get_mut(i)?, rest),
            Err(_) if items.len() == 1 => find(&mut items[0], parts),
            Err(_) => None,
        },
        _ => None,
    }
}
