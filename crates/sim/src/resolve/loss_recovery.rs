//! How a flow's losses are found and repaired, and the options that need SACK or exclude it.

use bentpipe_tcp::{LossRecovery, NewRenoExit, Options};

use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key};
use crate::scenario::{Flow, FullAck, Recovery};

/// Sets what the flow says of it.
pub(super) fn choose(work: &Work<'_>, flow: &Flow, key: &Key, o: &mut Options) -> Result<(), Error> {
    snack(work, flow, key, o)?;
    o.recovery = match flow.recovery {
        None => o.recovery,
        Some(Recovery::Sack) => LossRecovery::Sack,
        Some(Recovery::NewReno) => LossRecovery::NewReno,
        Some(Recovery::Reno) => LossRecovery::Reno,
        Some(Recovery::Tahoe) => LossRecovery::Tahoe,
    };
    detection(work, flow, key, o)
}

/// SNACK, which takes the place of SACK.
fn snack(work: &Work<'_>, flow: &Flow, key: &Key, o: &mut Options) -> Result<(), Error> {
    let other = flow.recovery.filter(|recovery| *recovery != Recovery::NewReno);
    if flow.snack.unwrap_or(o.snack.is_some() && other.is_none()) {
        if other.is_some() {
            let message = "goes with recovery = \"newreno\" alone; write that, or leave this out";
            return Err(work.error(&key.with("snack"), message));
        }
        o.recovery = LossRecovery::NewReno;
        o.snack = Some(flow.snack_vector.unwrap_or(0));
        return Ok(());
    }
    o.snack = None;
    if flow.snack_vector.is_some() {
        return Err(work.error(&key.with("snack_vector"), "needs snack = true; add that, or leave this out"));
    }
    Ok(())
}

/// How losses are detected, and the options that need SACK or exclude it.
fn detection(work: &Work<'_>, flow: &Flow, key: &Key, o: &mut Options) -> Result<(), Error> {
    let with_sack = o.recovery == LossRecovery::Sack;
    for (name, given, option) in
        [("rack", flow.rack, &mut o.rack), ("tlp", flow.tlp, &mut o.tlp), ("dsack", flow.dsack, &mut o.dsack)]
    {
        if given == Some(true) && !with_sack {
            let message = "needs selective acknowledgements; write recovery = \"sack\", or leave this out";
            return Err(work.error(&key.with(name), message));
        }
        *option = given.unwrap_or(*option && with_sack);
    }
    if flow.sack_restarts_rto == Some(true) && !o.rack {
        let message = "needs RACK; add rack = true, or leave this out";
        return Err(work.error(&key.with("sack_restarts_rto"), message));
    }
    o.sack_restarts_rto = flow.sack_restarts_rto.unwrap_or(o.sack_restarts_rto && o.rack);
    o.newreno_exit = match flow.newreno_exit {
        None => o.newreno_exit,
        Some(_) if with_sack => {
            let message =
                "concerns recovery without SACK; add recovery = \"newreno\" or \"reno\", or leave this out";
            return Err(work.error(&key.with("newreno_exit"), message));
        }
        Some(_) if o.recovery == LossRecovery::Tahoe => {
            let message = "Tahoe has no fast recovery that could end; leave this out";
            return Err(work.error(&key.with("newreno_exit"), message));
        }
        Some(FullAck::FlightSize) => NewRenoExit::FlightSize,
        Some(FullAck::Ssthresh) => NewRenoExit::Ssthresh,
    };
    Ok(())
}
