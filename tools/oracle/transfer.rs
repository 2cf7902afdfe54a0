//! The guest's traffic: `transfer receive PORT` takes what comes, `transfer send HOST PORT SECONDS` sends as fast as it may.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut piece = [0; 65_536];
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive", port] => {
            let (mut from, _) = TcpListener::bind(("0.0.0.0", port.parse()?))?.accept()?;
            while from.read(&mut piece)? > 0 {}
        }
        ["send", host, port, seconds] => {
            let end = Instant::now() + Duration::from_secs_f64(seconds.parse()?);
            let mut to = TcpStream::connect((host, port.parse()?))?;
            while Instant::now() < end {
                to.write_all(&piece)?;
            }
        }
        _ => return Err("transfer receive PORT, or transfer send HOST PORT SECONDS".into()),
    }
    Ok(())
}
