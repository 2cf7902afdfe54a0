//! How the ends of a flow agree on marks.

use bentpipe_cc::registry::{Entry, Marks};
use bentpipe_tcp::{EcnEcho, Options};

use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key};
use crate::scenario::{EcnKey, Flow};

/// Explicit congestion notification: what is given, else what the controller asks for.
pub(super) fn agree(flow: &Flow, controller: Option<&Entry>, o: &mut Options) {
    let marks = controller.map_or(Marks::Any, |entry| entry.sender.marks);
    let wished = match marks {
        Marks::Any => EcnKey::Flag(o.ecn),
        Marks::Dctcp => EcnKey::By(EcnEcho::Dctcp),
        Marks::L4s => EcnKey::By(EcnEcho::AccEcn),
    };
    (o.ecn, o.echo) = match flow.ecn.unwrap_or(wished) {
        EcnKey::Flag(ecn) => (ecn, EcnEcho::Rfc3168),
        EcnKey::By(echo) => (true, echo),
    };
    if flow.ect1.is_none() {
        o.ect1 |= marks == Marks::L4s && o.ecn;
    }
}

/// Refuses two ways to tell more that do not fit in one acknowledgement.
pub(super) fn check(work: &Work<'_>, key: &Key, o: &Options) -> Result<(), Error> {
    if o.snack.is_some() && o.echo == EcnEcho::AccEcn {
        let message =
            "and AccECN's counters have no room in one acknowledgement; write false, or choose another ecn";
        return Err(work.error(&key.with("snack"), message));
    }
    Ok(())
}
