//! Attaches a controller on an old kernel and reports how it went, for `tools/oracle kernels`
//! (docs/oracle.md): `oracle_guest agent star 10` or `oracle_guest native star 10`. It stays attached for the
//! given number of seconds, then prints one line of JSON: the status while a flow ran.

use std::error::Error;
use std::time::Duration;

use bentpipe_cc::{Controller, Start, registry};
use bentpipe_kernel::agent::{Agent, Maker, Manner};
use bentpipe_kernel::clock::now_ns;
use bentpipe_kernel::datapath::{Datapath, Native, Settings, available, usual_name};
use bentpipe_kernel::status;

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// A registered controller with its defaults.
struct Usual(String);

impl Maker for Usual {
    fn make(&mut self, _flow: &str, start: Start) -> Result<Box<dyn Controller>, String> {
        registry::build(&self.0, &[], start).map_err(|error| error.to_string())
    }
}

fn agent(cc: &str, seconds: u64) -> Result<serde_json::Value, Box<dyn Error>> {
    let datapath = Datapath::open(&Settings::new(&usual_name(cc)))?;
    let manner = Manner { cc: cc.to_owned(), ..Manner::default() };
    let mut agent = Agent::new(datapath, manner, Box::new(Usual(cc.to_owned())))?;
    let end = now_ns() + seconds * SECOND;
    let mut seen = status::of(agent.slots());
    let mut next = now_ns();
    while now_ns() < end {
        agent.step(now_ns() + SECOND / 10)?;
        if now_ns() >= next {
            next += SECOND / 2;
            let now = status::of(agent.slots());
            if now["flows"].as_array().is_some_and(|flows| !flows.is_empty()) {
                seen = now;
            }
        }
    }
    Ok(seen)
}

fn native(cc: &str, seconds: u64) -> Result<serde_json::Value, Box<dyn Error>> {
    let program = Native::open(cc, None)?;
    std::thread::sleep(Duration::from_secs(seconds));
    let name = program.name();
    let registered = available().contains(&name.to_owned());
    Ok(serde_json::json!({ "name": name, "cc": cc, "native": true, "registered": registered }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let status = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["agent", cc, seconds] => agent(cc, seconds.parse()?)?,
        ["native", cc, seconds] => native(cc, seconds.parse()?)?,
        _ => return Err("oracle_guest agent|native ALGORITHM SECONDS".into()),
    };
    println!("{status}");
    Ok(())
}
