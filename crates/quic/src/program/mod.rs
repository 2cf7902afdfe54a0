//! The program `bentpipe-quic`: a QUIC sender with any controller of the registry, its receiver, and
//! the same in simulated time.

mod own;
mod receive;
mod request;
mod send;
mod simulate;
mod tally;

use std::process::ExitCode;

use request::{Request, Work};

/// Why the program ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request is wrong: exit status 2.
    Request(String),
    /// The work failed: exit status 1.
    Work(String),
    /// The user has interrupted: exit status 130.
    Interrupted,
}

impl Failure {
    /// The work failed, because of `why`.
    pub(crate) fn work(what: &str, why: impl std::fmt::Display) -> Self {
        Self::Work(format!("{what}: {why}"))
    }
}

/// Does what the arguments ask for; the answer goes to standard output as JSON.
pub fn main() -> ExitCode {
    let (status, message) = match try_main() {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Request(why)) => (2, why),
        Err(Failure::Work(why)) => (1, why),
        Err(Failure::Interrupted) => (130, "interrupted".to_owned()),
    };
    eprintln!("bentpipe-quic: {message}");
    ExitCode::from(status)
}

fn try_main() -> Result<(), Failure> {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.into_string());
    let arguments: Vec<String> = arguments
        .collect::<Result<_, _>>()
        .map_err(|bad| Failure::Request(format!("{bad:?} is not text")))?;
    match request::read(&arguments)? {
        Request::Help => {
            println!("{}", request::HELP.trim_end());
            Ok(())
        }
        Request::Work(Work::Simulate(request)) => simulate::run(&request),
        Request::Work(Work::Send(request)) => wait_for(send::run(request)),
        Request::Work(Work::Serve(request)) => wait_for(receive::run(request)),
    }
}

/// Runs `work` until it is done or the user interrupts.
fn wait_for(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| Failure::work("no runtime", why))?;
    runtime.block_on(async {
        tokio::select! {
            result = work => result,
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
        }
    })
}
