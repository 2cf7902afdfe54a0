//! How the ends of a flow agree on marks.

use bentpipe_cc::registry::{self, Marks};
use bentpipe_tcp::{EcnEcho, Options};

use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key};
use crate::scenario::{EcnKey, Flow, MarkEcho};

/// Explicit congestion notification: what is given, else what the controller asks for.
pub(super) fn agree(work: &Work<'_>, flow: &Flow, key: &Key, o: &mut Options) -> Result<(), Error> {
    let entry = flow.cc.as_ref().and_then(|cc| registry::find(&cc.name));
    let wished = match entry.map_or(Marks::Any, |entry| entry.sender.marks) {
        Marks::Any => EcnKey::Flag(o.ecn),
        Marks::Dctcp => EcnKey::By(MarkEcho::Dctcp),
        Marks::L4s => EcnKey::By(MarkEcho::AccEcn),
    };
    let l4s = entry.is_some_and(|entry| entry.sender.marks == Marks::L4s);
    (o.ecn, o.echo) = match flow.ecn.unwrap_or(wished) {
        EcnKey::Flag(ecn) => (ecn, EcnEcho::Rfc3168),
        EcnKey::By(MarkEcho::Rfc3168) => (true, EcnEcho::Rfc3168),
        EcnKey::By(MarkEcho::Dctcp) => (true, EcnEcho::Dctcp),
        EcnKey::By(MarkEcho::AccEcn) => (true, EcnEcho::AccEcn),
    };
    if o.snack.is_some() && o.echo == EcnEcho::AccEcn {
        let message =
            "and AccECN's counters have no room in one acknowledgement; write false, or choose another ecn";
        return Err(work.error(&key.with("snack"), message));
    }
    o.ect1 = flow.ect1.unwrap_or(o.ect1 || l4s && o.ecn);
    if o.ect1 && !o.ecn {
        let message = "ECT(1) says that marks are understood; add ecn = true, or leave this out";
        return Err(work.error(&key.with("ect1"), message));
    }
    Ok(())
}
