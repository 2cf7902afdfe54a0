//! The TCP options of a flow: those of its profile, with the flow's own keys in their place.

use bentpipe_cc::Span;
use bentpipe_tcp::{AckRule, Options, Reading, RtoRule, SpuriousTimeout};

use crate::resolve::congestion_header;
use crate::resolve::loss_recovery;
use crate::resolve::marks;
use crate::resolve::subflows;
use crate::resolve::work::Work;
use crate::resolve::workload;
use crate::scenario::error::{Error, Key};
use crate::scenario::units::{Duration, MAX_PACKET, Size, WindowSize};
use crate::scenario::{Acks, Flow, Profile, Rto, Spurious};

/// All options but those that follow from the controller.
pub(super) fn of(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Options, Error> {
    let mut o = sizes(work, flow, key)?;
    o.initial_window = flow.initial_window.unwrap_or(o.initial_window);
    o.initial_ssthresh = flow.initial_ssthresh.unwrap_or(o.initial_ssthresh);
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
    loss_recovery::choose(work, flow, key, &mut o)?;
    o.prr = flow.prr.unwrap_or(o.prr);
    o.byte_counting = flow.byte_counting.unwrap_or(o.byte_counting);
    o.slow_start_limit = flow.slow_start_limit.unwrap_or(o.slow_start_limit);
    o.limited_transmit = flow.limited_transmit.unwrap_or(o.limited_transmit);
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
    o.acks = flow.acks.map_or(o.acks, |rule| match rule {
        Acks::Rfc5681 => AckRule::Rfc5681,
        Acks::Linux => AckRule::Linux,
    });
    let alone = flow.both_ways.is_none() && flow.subflow.is_empty();
    if o.acks == AckRule::Linux
        && delayed
        && o.reading == Reading::AtOnce
        && o.receive_window.is_none()
        && alone
    {
        o.reading = Reading::Growing;
    }
    o.timestamps = flow.timestamps.unwrap_or(o.timestamps);
    marks::agree(work, flow, key, &mut o)?;
    o.handshake = flow.handshake.unwrap_or(o.handshake);
    o.initial_rto = flow.initial_rto.map_or(o.initial_rto, |d| d.0);
    o.rto = flow.rto.map_or(o.rto, |rule| match rule {
        Rto::Rfc6298 => RtoRule::Rfc6298,
        Rto::Linux => RtoRule::Linux,
    });
    o.min_rto = flow.min_rto.map_or(o.min_rto, |d| d.0);
    o.max_rto = flow.max_rto.map_or(o.max_rto, |d| d.0);
    o.granularity = flow.granularity.map_or(o.granularity, |d| d.0);
    for (name, value) in [
        ("initial_rto", o.initial_rto),
        ("min_rto", o.min_rto),
        ("max_rto", o.max_rto),
        ("granularity", o.granularity),
    ] {
        if value == Span::ZERO {
            return Err(work.error(&key.with(name), "must be longer than zero; write e.g. \"200 ms\""));
        }
    }
    if o.max_rto < o.min_rto {
        let message = format!("{} is less than min_rto = {}", Duration(o.max_rto), Duration(o.min_rto));
        return Err(work.error(&key.with("max_rto"), format!("{message}; it must not be")));
    }
    o.spurious = match flow.spurious {
        None => o.spurious,
        Some(Spurious::Off) => SpuriousTimeout::Off,
        Some(Spurious::FRto) => SpuriousTimeout::FRto,
        Some(Spurious::Eifel) if o.timestamps => SpuriousTimeout::Eifel,
        Some(Spurious::Eifel) => {
            let message = "Eifel detection needs timestamps; add timestamps = true, or write \"f-rto\"";
            return Err(work.error(&key.with("spurious"), message));
        }
    };
    o.idle_restart = workload::idle_restart(work, flow, key)?;
    o.pacing = flow.pacing.unwrap_or(o.pacing);
    Ok(o)
}

/// The profile's options with the flow's own sizes.
pub(super) fn sizes(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Options, Error> {
    let mut options = match flow.profile.unwrap_or_default() {
        Profile::Modern => Options::modern(),
        Profile::Paper => Options::paper(),
        Profile::Linux => Options::linux(),
        Profile::Scps => Options::scps(),
    };
    // A header for the controller takes its bytes from the segment, so that packets keep their size, unless the user gives the segment.
    let carried = congestion_header::bytes(flow);
    options.mss -= carried;
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
pub(super) fn bytes(work: &Work<'_>, size: Size, least: u64, key: &Key) -> Result<u32, Error> {
    match u32::try_from(size.0) {
        Ok(bytes) if (least..=MAX_PACKET).contains(&size.0) => Ok(bytes),
        _ => {
            Err(work
                .error(key, format!("{size} is out of range; it must be from {least} to {MAX_PACKET} bytes")))
        }
    }
}
