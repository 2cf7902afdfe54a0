//! What a script asks of the connection: options by shell commands (`sysctl`, the public scripts' set-up), by
//! `setsockopt`, and by comments of our own, `// bentpipe: cc=reno initial_window=4 prr=off`. What is not
//! understood is refused by name.

use bentpipe_cc::{Span, registry};
use bentpipe_tcp::{OptionValue, Options, Reading, RtoRule, SpuriousTimeout};

use super::Error;

/// Sysctls that are no part of a state machine without kernel: buffers, coalescing, handshake, routes.
const WITHOUT_EFFECT: &[&str] = &[
    "tcp_rmem",
    "tcp_wmem",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_syncookies",
    "tcp_tso_win_divisor",
    "tcp_min_tso_segs",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_ecn_option",
    "tcp_fack",
    "tcp_no_metrics_save",
    "tcp_moderate_rcvbuf",
    "tcp_adv_win_scale",
    "tcp_timestamps",
];

/// The same of FreeBSD, below `net.inet.tcp.`.
const WITHOUT_EFFECT_FREEBSD: &[&str] = &[
    "recvspace",
    "sendspace",
    "hostcache.enable",
    "hostcache.purgenow",
    "rfc1323",
    "syncookies",
    "blackhole",
    "keepinit",
    "keepidle",
    "keepintvl",
    "keepcnt",
    "rexmit_slop",
];

/// Options that the lines of the handshake set.
const BY_HANDSHAKE: [&str; 2] = ["handshake", "timestamps"];

/// A profile for a connection that is open already: the lines of a handshake say which options
/// hold and are not played.
fn opened(profile: Options) -> Options {
    Options { handshake: false, ..profile }
}

/// Options so far, and what may be negotiated.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) cc: String,
    pub(crate) sack_allowed: bool,
    pub(crate) ecn_allowed: bool,
}

impl Settings {
    /// As the RFCs advise (profile `modern` with the timer of RFC 6298), with Reno's window, whose numbers
    /// can be worked out by hand.
    pub(crate) fn new() -> Self {
        Self {
            options: Options { rto: RtoRule::Rfc6298, ..opened(Options::modern()) },
            cc: "reno".to_string(),
            sack_allowed: true,
            ecn_allowed: true,
        }
    }

    /// What the public scripts take for granted: Linux with CUBIC and its least timeout.
    fn linux(&mut self) {
        let min_rto = Span::from_millis(200);
        let delayed_ack = Some(Span::from_millis(40));
        self.options = Options { min_rto, delayed_ack, ..opened(Options::modern()) }; // and Linux's timer
        self.cc = "cubic".to_string();
        self.ecn_allowed = false;
    }

    /// Commands between backticks that begin on `line`.
    pub(crate) fn shell(&mut self, line: usize, text: &str) -> Result<(), Error> {
        let joined = text.replace("\\\n", " ");
        for command in joined.split(['\n', ';']).flat_map(|c| c.split("&&")) {
            let command = command.split('#').next().unwrap_or("").replace('"', "");
            let words: Vec<&str> = command.split_whitespace().collect();
            let Some(first) = words.first() else { continue };
            let assignments = words[1..].iter().filter(|w| w.contains('='));
            if first.ends_with("defaults.sh") {
                self.linux();
            } else if *first == "sysctl" {
                for word in assignments {
                    match word.strip_prefix("net.inet.tcp.") {
                        Some(word) => self.sysctl_freebsd(line, word)?,
                        None if word.starts_with("kern.ipc.") => {} // sizes of buffers
                        None => {
                            let name = word.strip_prefix("net.ipv4.").or(word.strip_prefix("net/ipv4/"));
                            self.sysctl(line, name.unwrap_or(word))?;
                        }
                    }
                }
            } else if first.ends_with("set_sysctls.py") {
                for word in assignments {
                    let name = word.strip_prefix("/proc/sys/net/ipv4/").unwrap_or(word);
                    self.sysctl(line, name)?;
                }
            } else if let Some(n) = words.iter().position(|w| *w == "initcwnd") {
                let value = words.get(n + 1).copied().unwrap_or("");
                self.pragma(line, &format!("initial_window={value}"))?;
            } else if *first == "tc" && words.contains(&"fq") {
                self.options.pacing = true; // the queue that carries out Linux's pacing rate
            } else if !(first.contains("sysctl_restore")
                || words.starts_with(&["ip", "tcp_metrics"])
                || (*first == "tc" && words.contains(&"pfifo")))
            {
                return Err(Error::refused(
                    line,
                    format!("the command {:?} is not understood", words.join(" ")),
                ));
            }
        }
        Ok(())
    }

    fn sysctl(&mut self, line: usize, assignment: &str) -> Result<(), Error> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let unknown = || Err(Error::refused(line, format!("sysctl {name}={value} is not understood")));
        let flag = || match value {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(Error::refused(line, format!("sysctl {name}={value} is not understood; 0 or 1"))),
        };
        match (name, value) {
            ("tcp_congestion_control", _) => self.controller(line, value)?,
            ("tcp_sack", _) => self.sack_allowed = flag()?,
            ("tcp_dsack", _) => self.options.dsack = flag()?,
            ("tcp_recovery", "0" | "1") => self.options.rack = flag()?,
            ("tcp_early_retrans", "0") => self.options.tlp = false,
            ("tcp_early_retrans", "3" | "4") => self.options.tlp = true,
            ("tcp_frto", "0") => self.options.spurious = SpuriousTimeout::Off,
            ("tcp_frto", "1" | "2") => self.options.spurious = SpuriousTimeout::FRto,
            ("tcp_ecn", "0") => self.ecn_allowed = false,
            ("tcp_ecn", "1" | "2") => self.ecn_allowed = true,
            ("tcp_reordering", "3") | ("tcp_slow_start_after_idle", "0") => {}
            ("tcp_rto_min_us", _) => match value.parse::<u32>() {
                Ok(n) if n > 0 => self.options.min_rto = Span(u64::from(n) * 1000),
                _ => return unknown(),
            },
            _ if WITHOUT_EFFECT.contains(&name) => {}
            _ => return unknown(),
        }
        Ok(())
    }

    fn sysctl_freebsd(&mut self, line: usize, assignment: &str) -> Result<(), Error> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        match (name, value) {
            ("sack.enable", "0") => self.sack_allowed = false,
            ("sack.enable", "1") => self.sack_allowed = true,
            ("ecn.enable", "0") => self.ecn_allowed = false,
            ("ecn.enable", "1" | "2") => self.ecn_allowed = true,
            ("delayed_ack", "0") => self.options.delayed_ack = None,
            ("delacktime", _) if value.parse::<u16>().is_ok_and(|n| n > 0) => {
                self.options.delayed_ack = value.parse().ok().map(Span::from_millis);
            }
            _ if WITHOUT_EFFECT_FREEBSD.contains(&name) => {}
            _ => {
                let setting = format!("sysctl net.inet.tcp.{name}={value}");
                return Err(Error::refused(line, format!("{setting} is not understood")));
            }
        }
        Ok(())
    }

    fn controller(&mut self, line: usize, name: &str) -> Result<(), Error> {
        if registry::find(name).is_none() {
            let known: Vec<&str> = registry::all().iter().map(|e| e.id).collect();
            return Err(Error::refused(
                line,
                format!("no controller {name:?}; known are {}", known.join(", ")),
            ));
        }
        self.cc = name.to_string();
        Ok(())
    }

    /// `setsockopt(3, SOL_TCP, TCP_CONGESTION, "reno", 4)`.
    pub(crate) fn setsockopt(&mut self, line: usize, args: &[String]) -> Result<(), Error> {
        let option = args.get(2).map_or("", String::as_str);
        let value = args.get(3).map_or("", String::as_str).trim_matches(['"', '[', ']', ' ']);
        match option {
            "TCP_CONGESTION" => self.controller(line, value),
            // SO_SNDBUF: what a script writes is taken at once, whatever the buffer.
            "SO_REUSEADDR" | "SO_SNDBUF" | "SO_RCVBUF" | "TCP_NODELAY" | "IP_TOS" | "IP_MTU_DISCOVER"
            | "IPV6_MTU_DISCOVER" => Ok(()),
            _ => Err(Error::refused(line, format!("setsockopt {option} is not understood"))),
        }
    }

    /// `key=value` of a comment; the keys are those of docs/tcp.md.
    pub(crate) fn pragma(&mut self, line: usize, word: &str) -> Result<(), Error> {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let wrong = |right: &str| Error::refused(line, format!("{key}={value}: {right}"));
        let options = &mut self.options;
        match key {
            "profile" => {
                *options = match value {
                    "paper" => opened(Options::paper()),
                    "modern" => opened(Options::modern()),
                    "linux" => opened(Options::linux()),
                    _ => return Err(wrong("paper, modern or linux")),
                }
            }
            "cc" => return self.controller(line, value),
            // The receive buffer of an application that reads when the script says so.
            "receive_window" => {
                let segments = f64::read(value).map_err(|right| wrong(&right))?;
                (options.receive_window, options.reading) = (Some(segments as u64), Reading::OnDemand);
            }
            "delayed_ack" if value == "off" => options.delayed_ack = None,
            "delayed_ack" => options.delayed_ack = Some(Span::read(value).map_err(|right| wrong(&right))?),
            _ => {
                let settable = |name: &str| !BY_HANDSHAKE.contains(&name);
                let unknown = || {
                    let names: Vec<&str> =
                        Options::NAMES.iter().copied().filter(|name| settable(name)).collect();
                    let names = names.join(", ");
                    let known = format!("profile, cc, receive_window, delayed_ack, {names}");
                    Error::refused(line, format!("{key:?} is no option; known are {known}"))
                };
                if !settable(key) {
                    return Err(unknown());
                }
                options.set(key, value).map_err(|right| right.map_or_else(unknown, |right| wrong(&right)))?;
            }
        }
        Ok(())
    }
}
