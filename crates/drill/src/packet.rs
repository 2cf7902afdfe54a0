//! One packet of a script: `< P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`.

use super::Error;

/// Which way it goes, seen from the connection under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

/// The codepoint in the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codepoint {
    NotEct,
    Ect0,
    Ce,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) way: Way,
    pub(crate) codepoint: Option<Codepoint>,
    /// Flags as written: S, F, R, P, ., E, W and others.
    pub(crate) flags: String,
    /// First byte, and the one behind the last.
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) ack: Option<u64>,
    pub(crate) window: Option<u64>,
    pub(crate) options: TcpOptions,
    /// What of it the runner does not know, if anything.
    pub(crate) foreign: Option<String>,
}

/// Its TCP options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpOptions {
    pub(crate) mss: Option<u64>,
    pub(crate) wscale: Option<u64>,
    pub(crate) sack_ok: bool,
    /// Value and echo.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u64, u64)>,
    /// `<...>`: whatever options.
    pub(crate) any: bool,
}

impl Packet {
    pub(crate) fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Payload bytes.
    pub(crate) fn len(&self) -> u64 {
        self.end - self.seq
    }
}

/// Reads the text of a packet, from its arrow to the end of the line.
pub(crate) fn parse(line: usize, text: &str) -> Result<Packet, Error> {
    let way = if text.starts_with('<') { Way::In } else { Way::Out };
    let mut packet = Packet {
        way,
        codepoint: None,
        flags: String::new(),
        seq: 0,
        end: 0,
        ack: None,
        window: None,
        options: TcpOptions::default(),
        foreign: None,
    };
    let mut rest = text.get(1..).unwrap_or("").trim();
    while let Some(inner) = rest.strip_prefix('[') {
        let (mark, tail) =
            inner.split_once(']').ok_or_else(|| Error::syntax(line, "[ without ] in a packet"))?;
        match mark.trim() {
            "noecn" => packet.codepoint = Some(Codepoint::NotEct),
            "ect0" => packet.codepoint = Some(Codepoint::Ect0),
            "ect1" if way == Way::In => packet.codepoint = Some(Codepoint::Ect0), // a receiver treats both alike
            "ce" => packet.codepoint = Some(Codepoint::Ce),
            other => packet.foreign = Some(format!("the IP header's [{other}]")),
        }
        rest = tail.trim_start();
    }
    let flags = rest.split_whitespace().next().unwrap_or("");
    for protocol in ["icmp", "udp", "ipv4", "ipv6", "gre", "mpls", "sock", "("] {
        if flags.starts_with(protocol) {
            packet.foreign = Some(format!("packets of {protocol}"));
            return Ok(packet);
        }
    }
    let known = |c: char| "SFRPUEWCA.-".contains(c) || c.is_ascii_digit();
    if flags.is_empty() || !flags.chars().all(known) {
        return Err(Error::syntax(
            line,
            format!("{flags:?} are no TCP flags; like S, S., ., P., F., .E or W."),
        ));
    }
    packet.flags = flags.to_string();
    let mut rest = rest.get(flags.len()..).unwrap_or("").trim();
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        // Up to the parenthesis, before which there may be blanks.
        let word = &rest[..rest.find(')').map_or(rest.len(), |n| n + 1)];
        (packet.seq, packet.end) = sequence(line, word)?;
        rest = rest.get(word.len()..).unwrap_or("").trim();
    } else {
        return Err(Error::syntax(line, "after the flags comes first:last(length), like 1:1001(1000)"));
    }
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('<') {
            let (list, tail) =
                inner.split_once('>').ok_or_else(|| Error::syntax(line, "options: < without >"))?;
            options(line, list, &mut packet)?;
            rest = tail.trim();
            continue;
        }
        let mut words = rest.split_whitespace();
        let (key, value) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        // An option list may follow without a blank.
        let value = value.split('<').next().unwrap_or("");
        match key {
            "ack" => packet.ack = Some(number(line, value)?),
            "win" => packet.window = Some(number(line, value)?),
            "urg" => packet.foreign = Some("urgent data".to_string()),
            _ => {
                return Err(Error::syntax(
                    line,
                    format!("{key:?} in a packet; known are ack, win, urg and <options>"),
                ));
            }
        }
        let behind = rest.get(key.len()..).unwrap_or("").trim_start();
        rest = behind.get(value.len()..).unwrap_or("").trim();
    }
    Ok(packet)
}

fn number(line: usize, text: &str) -> Result<u64, Error> {
    match text.parse::<u32>() {
        Ok(n) => Ok(u64::from(n)),
        Err(_) => Err(Error::syntax(line, format!("{text:?} is no number from 0 to 2^32 - 1"))),
    }
}

/// `first:last(length)`.
fn sequence(line: usize, word: &str) -> Result<(u64, u64), Error> {
    let wrong = || Error::syntax(line, format!("{word:?}: first:last(length), like 1:1001(1000)"));
    let (range, len) = word.strip_suffix(')').and_then(|w| w.split_once('(')).ok_or_else(wrong)?;
    let (range, len) = (range.trim(), len.trim());
    let (from, to) = range.split_once(':').ok_or_else(wrong)?;
    let (from, to, len) = (number(line, from)?, number(line, to)?, number(line, len)?);
    if from.checked_add(len) != Some(to) {
        return Err(Error::syntax(line, format!("{word:?}: {from} and {len} bytes are not {to}")));
    }
    Ok((from, to))
}

fn options(line: usize, list: &str, packet: &mut Packet) -> Result<(), Error> {
    let into = &mut packet.options;
    for option in list.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words[..] {
            [] | ["nop" | "eol" | "NOP" | "EOL"] => {}
            ["..."] => into.any = true,
            ["mss", n] => into.mss = Some(number(line, n)?),
            ["wscale", n] => into.wscale = Some(number(line, n)?),
            ["sackOK"] => into.sack_ok = true,
            ["TS", "val", val, "ecr", ecr] => {
                into.timestamps = Some((number(line, val)? as u32, number(line, ecr)? as u32));
            }
            ["sack", ref blocks @ ..] => {
                for block in blocks {
                    let (from, to) = block
                        .split_once(':')
                        .ok_or_else(|| Error::syntax(line, format!("SACK block {block:?}: first:last")))?;
                    let (from, to) = (number(line, from)?, number(line, to)?);
                    if from >= to {
                        return Err(Error::syntax(line, format!("SACK block {block:?} is empty")));
                    }
                    into.sack.push((from, to));
                }
            }
            [other, ..] => packet.foreign = Some(format!("TCP option {other:?}")),
        }
    }
    Ok(())
}
