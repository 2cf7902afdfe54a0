//! Files that scenarios name. A page has no disk, so it gives them before the first run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

static FILES: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
static HOOK: Once = Once::new();

/// From now on a scenario may name a file `name` with these contents. Files of the machine are no longer
/// read.
pub fn give(name: &str, contents: Vec<u8>) {
    HOOK.call_once(|| bentpipe_sim::read_files_by(Box::new(find)));
    FILES.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), contents);
}

fn find(path: &Path) -> Option<Vec<u8>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner).get(path.to_str()?).cloned()
}
