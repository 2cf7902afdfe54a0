//! The TCP options of a flow: the options of its profile, overridden by the flow's own keys.

use bentpipe_cc::Span;
use bentpipe_cc::registry::{self, Entry, Marks};
use bentpipe_tcp::{AckRule, EcnEcho, LossRecovery, Need, OptionValue, Options, Reading, SpuriousTimeout};

use crate::keys::error::{Error, Key};
use crate::keys::units::{Duration, MAX_PACKET, Size, WindowSize};
use crate::resolve::controller_needs;
use crate::resolve::subflows;
use crate::resolve::work::Work;
use crate::resolve::workload;
use crate::scenario::{EcnKey, Flow};

/// Makes the functions that go through all rows of the table of options.
macro_rules! each_option {
    (
        {}
        $($group:ident { $(
            $(#[$help:meta])*
            $name:ident: $type:ident = $values:tt
            $(within $least:tt..=$most:tt)? $(needs($($need:ident),+))? from $source:literal;
        )* })*
    ) => {
        /// Takes over the options that the flow gives.
        fn take(flow: &Flow, o: &mut Options) {
            $($(if let Some(given) = flow.$name {
                o.$name = given.into();
            })*)*
        }

        /// Refuses an option of the flow that lacks what it needs.
        fn check_needs(work: &Work<'_>, flow: &Flow, key: &Key, o: &Options) -> Result<(), Error> {
            $($($($(
                if flow.$name.is_some() && o.$name.asks() && !Need::$need.holds(o) {
                    return Err(work.error(&key.with(stringify!($name)), Need::$need.refusal));
                }
            )+)?)*)*
            Ok(())
        }

        /// Refuses times of zero length.
        fn check_times(work: &Work<'_>, key: &Key, o: &Options) -> Result<(), Error> {
            $($(if o.$name.is_no_time() {
                let message = "must be longer than zero; write e.g. \"200 ms\"";
                return Err(work.error(&key.with(stringify!($name)), message));
            })*)*
            Ok(())
        }

        /// Writes out the options that all senders of the flow have in common and that a scenario may give.
        pub(super) fn write_out(flow: &mut Flow, senders: &[Options]) {
            $($(if let Some(value) = common(senders, |o| o.$name)
                $(&& (!value.asks() || $(common(senders, |o| Need::$need.holds(o)) == Some(true))&&+))?
            {
                flow.$name.get_or_insert(value.into());
            })*)*
        }
    };
}

bentpipe_tcp::option_table! { each_option! {} }

/// All options.
pub(super) fn of(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Options, Error> {
    let mut o = sizes(work, flow, key)?;
    ask(flow, &mut o);
    if let Some(window) = flow.receive_window {
        let segments = match window {
            WindowSize::Segments(n) => n,
            WindowSize::Bytes(n) => n / u64::from(o.mss),
        };
        if segments == 0 {
            let message =
                format!("{window} is less than one segment of {} bytes; write e.g. \"432 segments\"", o.mss);
            return Err(work.error(&key.with("receive_window"), message));
        }
        o.receive_window = Some(segments);
    }
    if let Some(rate) = flow.read_rate {
        let key = key.with("read_rate");
        if o.receive_window.is_none() {
            let message =
                "needs the size of the buffer; add e.g. receive_window = \"1 MB\", or leave this out";
            return Err(work.error(&key, message));
        }
        o.reading = Reading::Paced(work.rate(rate, &key)?);
    }
    check_snack(work, flow, key, &o)?;
    check_needs(work, flow, key, &o)?;
    o.fit();
    let delay = match (flow.delayed_ack_timeout, o.delayed_ack) {
        (Some(given), _) => given.0,
        (None, Some(of_profile)) => of_profile,
        (None, None) => Span::from_millis(200),
    };
    let delayed = flow.delayed_ack.unwrap_or(o.delayed_ack.is_some());
    if flow.delayed_ack_timeout.is_some() && !delayed {
        let message = "acknowledgements are not delayed; add delayed_ack = true, or leave this out";
        return Err(work.error(&key.with("delayed_ack_timeout"), message));
    }
    o.delayed_ack = delayed.then_some(delay);
    let alone = flow.both_ways.is_none() && flow.subflow.is_empty();
    if o.acks == AckRule::Linux
        && delayed
        && o.reading == Reading::AtOnce
        && o.receive_window.is_none()
        && alone
    {
        o.reading = Reading::Growing;
    }
    check_marks(work, key, &o)?;
    check_times(work, key, &o)?;
    if o.max_rto < o.min_rto {
        let message = format!("{} is less than min_rto = {}", Duration(o.max_rto), Duration(o.min_rto));
        return Err(work.error(&key.with("max_rto"), format!("{message}; it must not be")));
    }
    if o.spurious == SpuriousTimeout::Eifel && !o.timestamps {
        let message = "Eifel detection needs timestamps; add timestamps = true, or write \"f-rto\"";
        return Err(work.error(&key.with("spurious"), message));
    }
    o.idle_restart = workload::idle_restart(work, flow, o.idle_restart, key)?;
    Ok(o)
}

/// What the flow asks for, whether or not it fits together.
pub(crate) fn asked_for(flow: &Flow) -> Options {
    let mut options = flow.profile.unwrap_or_default().options();
    ask(flow, &mut options);
    options
}

/// Overrides the profile's options with those that the flow and its controller ask for. Sizes and windows are
/// left alone.
fn ask(flow: &Flow, o: &mut Options) {
    let entry = flow.cc.as_ref().and_then(|cc| registry::find(&cc.name));
    if let Some(entry) = entry {
        (o.aen, o.bulk_repeat, o.fixed_rto) =
            (entry.sender.aen, entry.sender.bulk_repeat, entry.sender.fixed_rto);
    }
    take(flow, o);
    let other = is_without_snack(flow);
    o.snack = match flow.snack.unwrap_or(o.snack.is_some()) && !other {
        true => Some(flow.snack_vector.unwrap_or(0)),
        false => None,
    };
    if o.snack.is_some() {
        o.recovery = LossRecovery::NewReno;
    }
    agree_on_marks(flow, entry, o);
}

/// Does the flow ask for a loss recovery that excludes SNACK?
fn is_without_snack(flow: &Flow) -> bool {
    flow.recovery.is_some_and(|recovery| recovery != LossRecovery::NewReno)
}

/// Explicit congestion notification: what the flow gives, else what the controller asks for.
fn agree_on_marks(flow: &Flow, controller: Option<&Entry>, o: &mut Options) {
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

/// Refuses two kinds of feedback that do not fit in one acknowledgement.
fn check_marks(work: &Work<'_>, key: &Key, o: &Options) -> Result<(), Error> {
    if o.snack.is_some() && o.echo == EcnEcho::AccEcn {
        let message =
            "and AccECN's counters have no room in one acknowledgement; write false, or choose another ecn";
        return Err(work.error(&key.with("snack"), message));
    }
    Ok(())
}

/// SNACK replaces SACK.
fn check_snack(work: &Work<'_>, flow: &Flow, key: &Key, o: &Options) -> Result<(), Error> {
    if flow.snack == Some(true) && is_without_snack(flow) {
        let message = "goes with recovery = \"newreno\" alone; write that, or leave this out";
        return Err(work.error(&key.with("snack"), message));
    }
    if flow.snack_vector.is_some() && o.snack.is_none() {
        return Err(work.error(&key.with("snack_vector"), "needs snack = true; add that, or leave this out"));
    }
    Ok(())
}

/// The profile's options with the flow's own sizes.
pub(super) fn sizes(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Options, Error> {
    let mut options = flow.profile.unwrap_or_default().options();
    // A header for the controller takes its bytes from the segment, so that packets keep their size, unless
    // the user gives the size of the segment.
    let carried = controller_needs::header(flow);
    options.mss -= controller_needs::largest_header(flow);
    if let Some(mss) = flow.mss {
        options.mss = bytes(work, mss, 1, &key.with("mss"))?;
    }
    if let Some(header) = flow.header {
        options.header = bytes(work, header, 0, &key.with("header"))?;
    }
    subflows::fit(flow, &mut options);
    options.header += carried;
    if u64::from(options.mss) + u64::from(options.header) > MAX_PACKET {
        let message =
            format!("with a header of {} bytes, a packet is larger than {MAX_PACKET} bytes", options.header);
        return Err(work.error(&key.with("mss"), message));
    }
    if let Some(size) = flow.ack_size {
        options.ack_size = bytes(work, size, 1, &key.with("ack_size"))?;
        options.ack_grows = false;
    }
    options.ack_size += carried;
    Ok(options)
}

/// A size of at least `least` bytes that fits a packet.
pub(crate) fn bytes(work: &Work<'_>, size: Size, least: u64, key: &Key) -> Result<u32, Error> {
    size.of_packet(least).map_err(|message| work.error(key, message))
}

/// The value that all senders have in common, if there is one.
pub(super) fn common<V: PartialEq>(senders: &[Options], of: impl Fn(&Options) -> V) -> Option<V> {
    let mut values = senders.iter().map(of);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
