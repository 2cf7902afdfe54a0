//! What the user wants, from the arguments.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quinn_proto::congestion::ControllerFactory;

use super::{Failure, own};

/// The port, unless one is given.
const PORT: u16 = 4433;
/// Environment variable with the address of the far end, which `bentpipe emulate` sets.
const PEER: &str = "BENTPIPE_PEER";

pub(crate) const HELP: &str = "\
bentpipe-quic sends over QUIC with any congestion controller of bentpipe.

  bentpipe-quic serve [--listen ADDRESS:PORT] [--to FILE] [--once]
      receives. Each transfer is one line of JSON. --to keeps what is received; --once ends after one.

  bentpipe-quic send [HOST[:PORT]] --cc NAME [--set PARAMETER=VALUE]... (--file FILE | --bytes N | --for SECONDS)
                     [--initial-window DATAGRAMS] [--interval SECONDS]
      sends a file, N bytes, or for a time; prints JSON. HOST is BENTPIPE_PEER unless it is given.

  bentpipe-quic simulate SCENARIO --cc NAME [--set PARAMETER=VALUE]... (--bytes N | --for SECONDS)
                     [--seed N] [--initial-window DATAGRAMS] [--interval SECONDS]
      the same in simulated time, over the link of a scenario file: its first flow's, which must cross one link, or its
      only one, if it has no flows.

NAME is a controller of `bentpipe cc list`, or quinn-newreno, quinn-cubic or quinn-bbr. The port is 4433 unless it is given.
The certificate is made on the spot and not checked: this measures, and protects nothing.
";

/// What is to be done.
pub(crate) enum Request {
    Help,
    Work(Work),
}

pub(crate) enum Work {
    Serve(Serve),
    Send(Send),
    Simulate(Simulate),
}

#[derive(Debug)]
pub(crate) struct Serve {
    pub(crate) listen: SocketAddr,
    pub(crate) to: Option<PathBuf>,
    pub(crate) once: bool,
}

/// The sender's side, real or simulated.
pub(crate) struct Sending {
    pub(crate) name: String,
    pub(crate) controller: Arc<dyn ControllerFactory + core::marker::Send + Sync>,
    pub(crate) amount: Amount,
    pub(crate) interval: Duration,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Amount {
    File(PathBuf),
    Bytes(u64),
    For(Duration),
}

pub(crate) struct Send {
    pub(crate) peer: SocketAddr,
    pub(crate) sending: Sending,
}

pub(crate) struct Simulate {
    pub(crate) scenario: PathBuf,
    pub(crate) seed: Option<u64>,
    pub(crate) sending: Sending,
}

/// Reads the arguments.
///
/// # Errors
/// [`Failure::Request`] says which one is wrong and what would be right.
pub(crate) fn read(arguments: &[String]) -> Result<Request, Failure> {
    let (verb, rest) = match arguments.split_first() {
        None => return Ok(Request::Help),
        Some((first, _)) if matches!(first.as_str(), "--help" | "-h" | "help") => return Ok(Request::Help),
        Some((first, rest)) => (first.as_str(), rest),
    };
    if rest.iter().any(|argument| argument == "--help") {
        return Ok(Request::Help);
    }
    let mut given = Given::read(rest)?;
    let work = match verb {
        "serve" => Work::Serve(serve(&mut given)?),
        "send" => Work::Send(Send { peer: peer(&mut given)?, sending: sending(&mut given)? }),
        "simulate" => Work::Simulate(simulate(&mut given)?),
        other => return Err(wrong(format!("there is no {other:?}; there are serve, send and simulate"))),
    };
    given.finish(verb)?;
    Ok(Request::Work(work))
}

fn wrong(message: String) -> Failure {
    Failure::Request(message)
}

fn serve(given: &mut Given) -> Result<Serve, Failure> {
    let listen = match given.take("listen")? {
        None => (Ipv4Addr::UNSPECIFIED, PORT).into(),
        Some(text) => text
            .parse()
            .map_err(|_| wrong(format!("--listen {text}: not ADDRESS:PORT, as 0.0.0.0:{PORT}")))?,
    };
    Ok(Serve { listen, to: given.take("to")?.map(PathBuf::from), once: given.flag("once") })
}

fn peer(given: &mut Given) -> Result<SocketAddr, Failure> {
    let host = match given.place() {
        Some(host) => host,
        None => std::env::var(PEER).ok().filter(|host| !host.is_empty()).ok_or_else(|| {
            wrong(format!(
                "send to whom? Give HOST, or run this within `bentpipe emulate`, which sets {PEER}"
            ))
        })?,
    };
    let bare = host.parse().map(|ip| SocketAddr::new(ip, PORT)).ok();
    let named = || (host.as_str(), PORT).to_socket_addrs().ok()?.next();
    let whole = || host.to_socket_addrs().ok()?.next();
    bare.or_else(whole).or_else(named).ok_or_else(|| wrong(format!("{host}: no such host")))
}

fn simulate(given: &mut Given) -> Result<Simulate, Failure> {
    let scenario = given.place().ok_or_else(|| wrong("simulate which SCENARIO?".to_owned()))?;
    let seed = given.number("seed")?;
    let sending = sending(given)?;
    if let Amount::File(_) = sending.amount {
        return Err(wrong("simulate takes --bytes or --for: no file is read".to_owned()));
    }
    Ok(Simulate { scenario: scenario.into(), seed, sending })
}

fn sending(given: &mut Given) -> Result<Sending, Failure> {
    let name =
        given.take("cc")?.ok_or_else(|| wrong("--cc NAME is missing: which controller?".to_owned()))?;
    let mut params = Vec::new();
    while let Some(text) = given.take_one("set") {
        let (param, value) =
            text.split_once('=').ok_or_else(|| wrong(format!("--set {text}: not PARAMETER=VALUE")))?;
        params.push((param.trim().to_owned(), value.trim().to_owned()));
    }
    let initial_window: Option<f64> = given.number("initial-window")?;
    if initial_window.is_some_and(|datagrams| !(1.0..=1e6).contains(&datagrams)) {
        return Err(wrong("--initial-window must be from 1 to 1000000 datagrams".to_owned()));
    }
    let controller = own::controller(&name, &params, initial_window).map_err(wrong)?;
    let amounts = [
        given.take("file")?.map(|path| Ok(Amount::File(path.into()))),
        given.number("bytes")?.map(|bytes| Ok(Amount::Bytes(bytes))),
        given.number("for")?.map(|seconds| duration("for", seconds).map(Amount::For)),
    ];
    let mut amounts = amounts.into_iter().flatten();
    let amount = match (amounts.next(), amounts.next()) {
        (Some(amount), None) => amount?,
        _ => return Err(wrong("how much? Give one of --file, --bytes and --for".to_owned())),
    };
    let interval = duration("interval", given.number("interval")?.unwrap_or(0.1))?;
    Ok(Sending { name, controller, amount, interval })
}

fn duration(name: &str, seconds: f64) -> Result<Duration, Failure> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if (0.001..=1e6).contains(&seconds) => Ok(time),
        _ => Err(wrong(format!("--{name} {seconds}: it must be from 0.001 to 1000000 seconds"))),
    }
}

/// Options that stand alone.
const FLAGS: [&str; 1] = ["once"];

/// The arguments behind the verb, taken out one by one.
struct Given {
    options: Vec<(String, String)>,
    places: Vec<String>,
}

impl Given {
    fn read(arguments: &[String]) -> Result<Self, Failure> {
        let mut new = Self { options: Vec::new(), places: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix("--") else {
                new.places.push(argument.clone());
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None if FLAGS.contains(&option) => (option, String::new()),
                None => {
                    let value = rest.next().ok_or_else(|| wrong(format!("--{option} of what?")))?;
                    (option, value.clone())
                }
            };
            new.options.push((name.to_owned(), value));
        }
        Ok(new)
    }

    fn take_one(&mut self, name: &str) -> Option<String> {
        let at = self.options.iter().position(|(option, _)| option == name)?;
        Some(self.options.remove(at).1)
    }

    fn take(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let value = self.take_one(name);
        match self.take_one(name) {
            Some(_) => Err(wrong(format!("--{name} is given twice"))),
            None => Ok(value),
        }
    }

    fn flag(&mut self, name: &str) -> bool {
        self.take_one(name).is_some()
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        let plain = text.replace('_', "");
        plain.parse().map(Some).map_err(|_| wrong(format!("--{name} {text}: not a number that fits here")))
    }

    fn place(&mut self) -> Option<String> {
        (!self.places.is_empty()).then(|| self.places.remove(0))
    }

    /// Nothing may be left.
    fn finish(self, verb: &str) -> Result<(), Failure> {
        match (self.options.first(), self.places.first()) {
            (Some((name, _)), _) => Err(wrong(format!("{verb} takes no --{name}; see bentpipe-quic --help"))),
            (None, Some(place)) => Err(wrong(format!("{verb} takes no {place:?}; see bentpipe-quic --help"))),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Work, String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match read(&arguments) {
            Ok(Request::Work(work)) => Ok(work),
            Ok(Request::Help) => Err("help".to_owned()),
            Err(Failure::Request(why)) => Err(why),
            Err(_) => Err("not the request".to_owned()),
        }
    }

    #[test]
    fn requests_are_read() {
        let Ok(Work::Send(send)) = read_text("send 127.0.0.1 --cc star --bytes 1_000 --interval=0.5") else {
            panic!("a request")
        };
        assert_eq!((send.peer, send.sending.amount), (([127, 0, 0, 1], 4433).into(), Amount::Bytes(1000)));
        assert_eq!((send.sending.name.as_str(), send.sending.interval.as_millis()), ("star", 500));
        let Ok(Work::Serve(serve)) = read_text("serve --once --listen [::1]:77") else { panic!("a request") };
        assert!(serve.once && serve.to.is_none() && serve.listen.port() == 77);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, message) in [
            ("fly", "there is no \"fly\"; there are serve, send and simulate"),
            ("send 127.0.0.1 --cc reno", "how much? Give one of --file, --bytes and --for"),
            ("send 127.0.0.1 --cc reno --bytes 1 --for 2", "how much? Give one of --file, --bytes and --for"),
            ("send 127.0.0.1 --bytes 1", "--cc NAME is missing: which controller?"),
            ("send 127.0.0.1 --cc reno --bytes -1", "--bytes -1: not a number that fits here"),
            ("send 127.0.0.1 --cc reno --for 0", "--for 0: it must be from 0.001 to 1000000 seconds"),
            ("send 127.0.0.1 --cc reno --for nan", "--for NaN: it must be from 0.001 to 1000000 seconds"),
            ("send 127.0.0.1 --cc reno --set a --for 1", "--set a: not PARAMETER=VALUE"),
            ("send 127.0.0.1 --cc reno --for", "--for of what?"),
            ("send 127.0.0.1 --cc reno --cc cubic --for 1", "--cc is given twice"),
            ("send 127.0.0.1 --cc reno --for 1 --once", "send takes no --once; see bentpipe-quic --help"),
            ("serve here", "serve takes no \"here\"; see bentpipe-quic --help"),
            ("serve --listen here", "--listen here: not ADDRESS:PORT, as 0.0.0.0:4433"),
            ("simulate --cc reno --for 1", "simulate which SCENARIO?"),
            ("simulate x --cc reno --file y", "simulate takes --bytes or --for: no file is read"),
        ] {
            assert_eq!(read_text(text).err().as_deref(), Some(message), "{text}");
        }
    }
}
