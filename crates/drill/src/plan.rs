//! From events to steps: the options that the handshake leaves, and bytes as whole segments.
//!
//! The sender and the receiver count segments from 0, and byte 1 of a script is the first of segment 0.
//! What we send has full segments, only the last may be shorter; what arrives at us has those into
//! which the script cuts it.

use bentpipe_tcp::{AckSegment, Block, Data, LossRecovery, MAX_BLOCKS, Options, Reading, Sack};

use super::expression::{self, Assertion};
use super::packet::{Codepoint, Packet, TcpOptions, Way};
use super::parser::{Body, Call, Event, Script, When};
use super::settings::Settings;
use super::{Error, Kind, Manner};

/// What happens at a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Time passes.
    Pass,
    /// The handshake sends this timestamp: what later ones count from.
    Clock(u32),
    /// The application writes this many bytes.
    Write(u64),
    /// The application has read up to this segment in all.
    Read(u64),
    /// An acknowledgement arrives, echoing this timestamp of the script and telling this window in
    /// segments, if windows change.
    Ack(AckSegment, Option<u32>, Option<u64>),
    /// A data segment arrives.
    Arrive(Data),
    /// These segments are sent, the first with this CWR flag, with this codepoint and this timestamp.
    ExpectData {
        segments: Block,
        cwr: bool,
        codepoint: Option<Codepoint>,
        tsval: Option<u32>,
    },
    /// The closed window is probed, with the number before this segment's first byte.
    ExpectProbe(u64),
    /// This is acknowledged; `None` of the echo or of the window: any.
    ExpectAck {
        ack: u64,
        blocks: Option<Vec<Block>>,
        ece: bool,
        tsecr: Option<u32>,
        window: Option<u64>,
    },
    Assert(Vec<Assertion>),
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) when: When,
    pub(crate) source: String,
    pub(crate) action: Action,
}

/// Bytes as segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Bytes of a full segment that we send, and of the longest that may arrive.
    unit: u64,
    longest: u64,
    /// Bytes that we send in all.
    total: u64,
    /// Where the segments begin that arrive at us, and where the last one ends; nothing if we send.
    cuts: Vec<u64>,
}

impl Grid {
    /// The segment that begins with byte `byte`, or the one behind the last.
    fn segment(&self, line: usize, byte: u64) -> Result<u64, Error> {
        let inside = |of: String| Error::refused(line, format!("byte {byte} is inside a segment; {of}"));
        if !self.cuts.is_empty() {
            let place = self.cuts.binary_search(&byte);
            return place.map(|n| n as u64).map_err(|_| inside("no packet begins or ends there".to_string()));
        }
        let (unit, total) = (self.unit.max(1), self.total);
        match byte.checked_sub(1) {
            Some(b) if b == total => Ok(b.div_ceil(unit)),
            Some(b) if b < total && b % unit == 0 => Ok(b / unit),
            Some(b) if b < total => Err(inside(format!("those here have {unit} bytes"))),
            _ => {
                Err(Error::refused(line, format!("byte {byte} lies outside the {total} bytes of the script")))
            }
        }
    }

    /// The same for an acknowledgement that arrives, which may lie: beyond what is ever sent.
    fn acknowledged(&self, line: usize, byte: u64) -> Result<u64, Error> {
        let end = self.total.div_ceil(self.unit.max(1));
        if byte > self.total.saturating_add(1) { Ok(end + 1) } else { self.segment(line, byte) }
    }

    fn block(&self, line: usize, (from, to): (u64, u64)) -> Result<Block, Error> {
        Ok(Block { start: self.segment(line, from)?, end: self.segment(line, to)? })
    }

    /// The first byte of a segment.
    pub(crate) fn byte(&self, segment: u64) -> u64 {
        match self.cuts.last() {
            Some(last) => {
                usize::try_from(segment).ok().and_then(|n| self.cuts.get(n)).copied().unwrap_or(*last)
            }
            None => 1 + segment.saturating_mul(self.unit).min(self.total),
        }
    }
}

/// A script made ready.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) options: Options,
    pub(crate) cc: String,
    /// Nanoseconds.
    pub(crate) tolerance: u64,
    pub(crate) grid: Grid,
    pub(crate) steps: Vec<Step>,
    pub(crate) manner: Manner,
    /// Blocks of code passed over, and why the first was.
    pub(crate) skipped: (usize, Option<Error>),
    pub(crate) closed_at: Option<usize>,
}

/// Prepares `script`.
pub(crate) fn plan(script: &Script, manner: Manner) -> Result<Plan, Error> {
    let tolerance = tolerance(script)?;
    let closed = script.events.iter().position(|event| closes(event, &script.events));
    let events = &script.events[..closed.unwrap_or(script.events.len())];
    let mut settings = settings(script, events)?;
    let shake = Handshake::find(events)?;
    let (writes, arrivals) = payload(events, &shake)?;
    let sends = !writes.is_empty();
    let grid = shake.grid(&writes, &arrivals)?;
    shake.agree(&mut settings, &grid);
    if sends {
        (settings.options.receive_window, settings.options.reading) = receive_window(events, &shake, &grid)?;
    }
    let Options { timestamps, reading, .. } = settings.options;
    let shift = if sends { shake.peer_shift() } else { shake.own_shift() };
    let shift = (reading == Reading::OnDemand).then_some(shift);
    let mut builder =
        Builder { grid, sends, manner, read: 0, timestamps, shift, skipped: (0, None), steps: Vec::new() };
    for (n, event) in events.iter().enumerate() {
        builder.event(event, shake.is_part(n))?;
    }
    Ok(Plan {
        options: settings.options,
        cc: settings.cc,
        tolerance,
        grid: builder.grid,
        steps: builder.steps,
        manner,
        skipped: builder.skipped,
        closed_at: closed.map(|n| script.events[n].line),
    })
}

/// packetdrill's own tolerance is 4 ms.
fn tolerance(script: &Script) -> Result<u64, Error> {
    let mut nanos = 4_000_000;
    for (line, setting) in &script.settings {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        match (name, value.trim().parse::<u32>()) {
            ("tolerance_usecs", Ok(n)) => nanos = u64::from(n) * 1000,
            ("tcp_ts_tick_usecs", Ok(1000)) => {}
            // Addresses and devices that are not here, and the size of what a device merges.
            ("ip_version" | "local_ip" | "remote_ip", _) | ("mtu" | "mss", Ok(_)) => {}
            _ => return Err(Error::refused(*line, format!("--{setting} is not understood"))),
        }
    }
    Ok(nanos)
}

/// Does the script close the connection here? Not by closing the socket that had listened for it.
fn closes(event: &Event, all: &[Event]) -> bool {
    match &event.body {
        Body::Call(call) if matches!(call.name.as_str(), "close" | "shutdown") => !of_listener(call, all),
        Body::Packet(packet) => packet.has('F'),
        _ => false,
    }
}

fn of_listener(call: &Call, all: &[Event]) -> bool {
    let listens = |event: &Event| match &event.body {
        Body::Call(other) => other.name == "listen" && other.args.first() == call.args.first(),
        _ => false,
    };
    call.name == "close" && all.iter().any(listens)
}

fn settings(script: &Script, events: &[Event]) -> Result<Settings, Error> {
    let mut settings = Settings::new();
    let mut pragmas = script.pragmas.iter().peekable();
    for event in events {
        while let Some((line, word)) = pragmas.next_if(|(line, _)| *line < event.line) {
            settings.pragma(*line, word)?;
        }
        match &event.body {
            Body::Shell(text) => settings.shell(event.line, text)?,
            Body::Call(Call { name, args, .. }) if name == "setsockopt" => {
                settings.setsockopt(event.line, args)?
            }
            _ => {}
        }
    }
    for (line, word) in pragmas {
        settings.pragma(*line, word)?;
    }
    Ok(settings)
}

/// What each line of the handshake says.
#[derive(Debug)]
struct Handshake<'a> {
    /// Places of SYN, SYN-ACK and ACK among the events.
    lines: Vec<usize>,
    /// The peer's SYN or SYN-ACK, and ours.
    peer: &'a Packet,
    own: &'a Packet,
    /// The options of our own; `<...>` offers what the peer does.
    offered: &'a TcpOptions,
    line: usize,
}

impl<'a> Handshake<'a> {
    fn find(events: &'a [Event]) -> Result<Self, Error> {
        let (mut lines, mut peer, mut own) = (Vec::new(), None, None);
        let mut first = None;
        for (n, event) in events.iter().enumerate() {
            let Body::Packet(packet) = &event.body else { continue };
            if let Some(foreign) = &packet.foreign {
                return Err(Error::refused(event.line, format!("{foreign}: not known here")));
            }
            if packet.has('S') {
                if packet.len() > 0 {
                    return Err(Error::refused(event.line, "data with the SYN"));
                }
                first.get_or_insert(packet.way);
                let side = if packet.way == Way::In { &mut peer } else { &mut own };
                if side.replace(packet).is_some() {
                    return Err(Error::refused(event.line, "a second SYN of the same side"));
                }
                lines.push(n);
            } else if lines.len() == 2 && peer.is_some() && own.is_some() {
                if Some(packet.way) == first && packet.len() == 0 {
                    lines.push(n);
                }
                break;
            } else {
                return Err(Error::refused(event.line, "a packet before the handshake is complete"));
            }
        }
        let line = events.last().map_or(1, |e| e.line);
        match (peer, own) {
            (Some(peer), Some(own)) => {
                let line = lines.first().and_then(|&n| events.get(n)).map_or(line, |e| e.line);
                let offered = if own.options.any { &peer.options } else { &own.options };
                Ok(Self { lines, peer, own, offered, line })
            }
            _ => Err(Error::refused(line, "no SYN and SYN-ACK that say which options hold")),
        }
    }

    /// Bits by which the windows that the peer tells are shifted (RFC 7323 section 2.2: if
    /// both offer it), and ours.
    fn peer_shift(&self) -> u64 {
        self.peer.options.wscale.filter(|_| self.offered.wscale.is_some()).unwrap_or(0).min(14)
    }

    fn own_shift(&self) -> u64 {
        self.offered.wscale.filter(|_| self.peer.options.wscale.is_some()).unwrap_or(0).min(14)
    }

    fn is_part(&self, event: usize) -> bool {
        self.lines.contains(&event)
    }

    fn timestamps(&self) -> bool {
        self.peer.options.timestamps.is_some() && self.offered.timestamps.is_some()
    }

    /// Payload of a full segment that we send (RFC 9293 section 3.7.1: 536 unless the peer says more;
    /// RFC 7323 appendix A: less the timestamps' twelve bytes).
    fn mss(&self) -> u64 {
        let peer = self.peer.options.mss.unwrap_or(536);
        let mss = self.offered.mss.map_or(peer, |own| own.min(peer));
        mss.saturating_sub(if self.timestamps() { 12 } else { 0 })
    }

    fn grid(&self, writes: &[u64], arrivals: &[(u64, u64)]) -> Result<Grid, Error> {
        let unit = self.mss();
        if !(1..=65_535).contains(&unit) {
            return Err(Error::refused(self.line, format!("a segment of {unit} bytes")));
        }
        let mut cuts: Vec<u64> = arrivals.iter().flat_map(|&(from, to)| [from, to]).collect();
        if !cuts.is_empty() {
            cuts.push(1);
            cuts.sort_unstable();
            cuts.dedup();
        }
        let longest = self.offered.mss.unwrap_or(536);
        Ok(Grid { unit, longest, total: writes.iter().sum(), cuts })
    }

    /// What both sides offered holds.
    fn agree(&self, settings: &mut Settings, grid: &Grid) {
        let options = &mut settings.options;
        options.mss = u32::try_from(grid.unit).unwrap_or(u32::MAX);
        options.timestamps = self.timestamps();
        if !(settings.sack_allowed && self.peer.options.sack_ok && self.offered.sack_ok)
            && options.recovery == LossRecovery::Sack
        {
            options.recovery = LossRecovery::NewReno;
        }
        // RFC 3168 section 6.1.1: both ECE and CWR in the SYN, ECE alone in the SYN-ACK.
        let (syn, syn_ack) = if self.peer.has('.') { (self.own, self.peer) } else { (self.peer, self.own) };
        options.ecn =
            settings.ecn_allowed && syn.has('E') && syn.has('W') && syn_ack.has('E') && !syn_ack.has('W');
    }
}

/// Lengths of what the application writes, and first and last byte of what arrives.
type Payload = (Vec<u64>, Vec<(u64, u64)>);

/// Who carries data: we or the peer, not both.
fn payload(events: &[Event], shake: &Handshake<'_>) -> Result<Payload, Error> {
    let (mut writes, mut arrivals, mut both) = (Vec::new(), Vec::new(), None);
    for (n, event) in events.iter().enumerate() {
        match &event.body {
            Body::Call(call) if matches!(call.name.as_str(), "write" | "send" | "sendto") => {
                writes.push(amount(event.line, call)?);
            }
            Body::Packet(p) if p.way == Way::In && p.len() > 0 && !shake.is_part(n) => {
                both = both.or(Some(event.line));
                arrivals.push((p.seq, p.end));
            }
            _ => {}
        }
    }
    let line = events.last().map_or(1, |e| e.line);
    match (writes.is_empty(), both) {
        (false, Some(line)) => Err(Error::refused(line, "data in both directions")),
        (true, None) => Err(Error::refused(line, "no data in either direction")),
        _ => Ok((writes, arrivals)),
    }
}

/// The bytes of `write(4, ..., N) = N`.
fn amount(line: usize, call: &Call) -> Result<u64, Error> {
    let asked = call.args.get(2).and_then(|n| n.parse::<u32>().ok());
    match asked {
        Some(n) if n > 0 && n <= 1_000_000_000 && call.result == n.to_string() => Ok(u64::from(n)),
        _ => Err(Error::refused(
            line,
            format!(
                "{}: takes {:?} bytes and answers {:?}; here all is taken at once",
                call.name, asked, call.result
            ),
        )),
    }
}

/// The first window in segments, if it can bind, and whether it changes.
fn receive_window(
    events: &[Event],
    shake: &Handshake<'_>,
    grid: &Grid,
) -> Result<(Option<u64>, Reading), Error> {
    let shift = shake.peer_shift();
    // An answer to our SYN is the peer's last word on it; a SYN is followed by an acknowledgement.
    // Neither's window is scaled.
    let mut first = shake.peer.window.filter(|_| shake.peer.has('.'));
    for event in events {
        let Body::Packet(packet) = &event.body else { continue };
        let (Way::In, Some(window), false) = (packet.way, packet.window, packet.has('S')) else { continue };
        let window = window << shift;
        let known = *first.get_or_insert(window);
        if window != known && window.min(known) < grid.total {
            return Ok((Some(known / grid.unit), Reading::OnDemand));
        }
    }
    let binding = first.filter(|&w| w < grid.total).map(|w| w / grid.unit);
    if binding == Some(0) {
        return Err(Error::refused(shake.line, "a receive window that is always less than a segment"));
    }
    Ok((binding, Reading::AtOnce))
}

struct Builder {
    grid: Grid,
    sends: bool,
    manner: Manner,
    read: u64,
    timestamps: bool,
    /// If windows change: bits by which those of the script are shifted.
    shift: Option<u64>,
    skipped: (usize, Option<Error>),
    steps: Vec<Step>,
}

impl Builder {
    fn event(&mut self, event: &Event, of_handshake: bool) -> Result<(), Error> {
        let line = event.line;
        let action = match &event.body {
            Body::Shell(_) => Action::Pass,
            Body::Code(code) => match (expression::assertions(line, code), self.manner) {
                (Err(error), Manner::Lenient) if error.kind == Kind::Refused => {
                    self.skipped.0 += 1;
                    self.skipped.1.get_or_insert(error);
                    Action::Pass
                }
                (assertions, _) => Action::Assert(assertions?),
            },
            Body::Call(call) if event.blocks && !matches!(call.name.as_str(), "accept" | "connect") => {
                return Err(Error::refused(line, format!("a {} that blocks", call.name)));
            }
            Body::Call(call) => self.call(line, call)?,
            Body::Packet(packet) if of_handshake => match (packet.way, packet.options.timestamps) {
                (Way::Out, Some((val, _))) => Action::Clock(val),
                _ => Action::Pass,
            },
            Body::Packet(packet) => self.packet(line, packet)?,
        };
        self.steps.push(Step { line, when: event.when, source: event.source.clone(), action });
        Ok(())
    }

    fn call(&mut self, line: usize, call: &Call) -> Result<Action, Error> {
        match call.name.as_str() {
            "socket" | "bind" | "listen" | "accept" | "connect" | "setsockopt" | "fcntl" => Ok(Action::Pass),
            "close" => Ok(Action::Pass), // of the listening socket
            "getsockopt" if call.args.get(2).is_some_and(|a| a == "SO_ERROR") => Ok(Action::Pass),
            "write" | "send" | "sendto" => Ok(Action::Write(amount(line, call)?)),
            "read" | "recv" if !self.sends => {
                let bytes: u32 = call.result.parse().map_err(|_| {
                    Error::refused(line, format!("{} that answers {:?}", call.name, call.result))
                })?;
                let read = self.read + u64::from(bytes);
                if !call.args.iter().any(|a| a.contains("MSG_PEEK")) {
                    self.read = read;
                }
                Ok(Action::Read(self.grid.segment(line, read + 1)?))
            }
            name => Err(Error::refused(line, format!("the system call {name} needs the sockets API"))),
        }
    }

    fn packet(&self, line: usize, packet: &Packet) -> Result<Action, Error> {
        if let Some(flag) = packet.flags.chars().find(|c| !"P.EW".contains(*c)) {
            return Err(Error::refused(line, format!("the flag {flag} on an open connection")));
        }
        if let Some(foreign) = &packet.foreign {
            return Err(Error::refused(line, format!("{foreign}: not known here")));
        }
        if self.timestamps && packet.options.timestamps.is_none() && !packet.options.any {
            return Err(Error::refused(line, "the handshake agreed on timestamps and this packet has none"));
        }
        let stamps = packet.options.timestamps.filter(|_| self.timestamps);
        let ack = packet.ack.ok_or_else(|| Error::refused(line, "a packet without acknowledgement"));
        match (self.sends, packet.way, packet.len() > 0) {
            (true, Way::In, false) => {
                let mut seg =
                    AckSegment { ack: self.grid.acknowledged(line, ack?)?, ..AckSegment::default() };
                if packet.options.sack.len() > MAX_BLOCKS {
                    return Err(Error::refused(line, format!("more than {MAX_BLOCKS} SACK blocks")));
                }
                let mut sack = Sack::default();
                for &block in &packet.options.sack {
                    sack.push(self.grid.block(line, block)?);
                }
                seg.sack = sack;
                seg.ece = packet.has('E');
                let window = self.shift.map(|shift| match packet.window {
                    Some(window) => Ok((window << shift) / self.grid.unit),
                    None => {
                        Err(Error::refused(line, "an acknowledgement without win, where the window changes"))
                    }
                });
                Ok(Action::Ack(seg, stamps.map(|(_, ecr)| ecr), window.transpose()?))
            }
            (true, Way::Out, true) => Ok(Action::ExpectData {
                segments: self.grid.block(line, (packet.seq, packet.end))?,
                cwr: packet.has('W'),
                codepoint: packet.codepoint,
                tsval: stamps.map(|(val, _)| val),
            }),
            (false, Way::In, true) => {
                let block = self.grid.block(line, (packet.seq, packet.end))?;
                if block.end != block.start + 1 || packet.len() > self.grid.longest {
                    return Err(Error::refused(line, "a packet of several segments"));
                }
                Ok(Action::Arrive(Data {
                    cwr: packet.has('W'),
                    ce: packet.codepoint == Some(Codepoint::Ce),
                    push: packet.has('P'),
                    ..Data::new(block.start, packet.len() as u32, stamps.map_or(0, |(val, _)| val))
                }))
            }
            (false, Way::Out, false) => {
                let blocks: Result<Vec<Block>, Error> =
                    packet.options.sack.iter().map(|&b| self.grid.block(line, b)).collect();
                Ok(Action::ExpectAck {
                    ack: self.grid.segment(line, ack?)?,
                    blocks: if packet.options.any { None } else { Some(blocks?) },
                    ece: packet.has('E'),
                    tsecr: stamps.map(|(_, ecr)| ecr),
                    window: self
                        .shift
                        .zip(packet.window)
                        .map(|(shift, w)| (w << shift) / self.grid.longest.max(1)),
                })
            }
            (true, Way::Out, false) if self.shift.is_some() => {
                Ok(Action::ExpectProbe(self.grid.segment(line, packet.seq.saturating_add(1))?))
            }
            (false, Way::In, false) => Err(Error::refused(line, "a segment without data to a receiver")),
            (true, Way::Out, false) => {
                Err(Error::refused(line, "an acknowledgement or probe without data by the sender"))
            }
            (false, Way::Out, true) => Err(Error::refused(line, "data that nothing has written")),
            (true, Way::In, true) => Err(Error::refused(line, "data in both directions")),
        }
    }
}
