//! `bentpipe-quic serve`: takes what is sent, checks or keeps it, and tells the sender how much came when.

use std::path::Path;
use std::sync::Arc;

use quinn::{Connection, Endpoint, ReadError, RecvStream, ServerConfig};
use serde_json::json;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::Failure;
use super::request::Serve;
use super::tally::{Stopwatch, Tally};
use crate::{certificate, pattern, transport};

/// What a sender puts in front: the bytes are those of [`pattern`], or a file.
pub(crate) const PATTERN: u8 = 0;
pub(crate) const FILE: u8 = 1;

/// Receives until it is interrupted, or once.
pub(crate) async fn run(request: Serve) -> Result<(), Failure> {
    let tls = certificate::server().map_err(|why| Failure::Work(why.to_string()))?;
    let mut config = ServerConfig::with_crypto(tls);
    config.transport_config(Arc::new(transport::config()));
    let endpoint = Endpoint::server(config, request.listen)
        .map_err(|why| Failure::work(&format!("cannot listen on {}", request.listen), why))?;
    while let Some(incoming) = endpoint.accept().await {
        let since = Stopwatch::start();
        let from = incoming.remote_address();
        let result = match incoming.await {
            Ok(connection) => take(&connection, since, request.to.as_deref()).await,
            Err(why) => Err(Failure::work("the handshake failed", why)),
        };
        match result {
            Ok((tally, complete)) => {
                let (took, received) = tally.total();
                let report = json!({
                    "from": from.to_string(), "received_bytes": received, "complete": complete,
                    "seconds": took.as_secs_f64(),
                });
                println!("{report}");
            }
            Err(Failure::Work(why)) => eprintln!("bentpipe-quic: {from}: {why}"),
            Err(other) => return Err(other),
        }
        if request.once {
            endpoint.wait_idle().await;
            break;
        }
    }
    Ok(())
}

/// Takes one transfer. Was it ended by the sender, rather than broken off?
async fn take(
    connection: &Connection,
    since: Stopwatch,
    to: Option<&Path>,
) -> Result<(Tally, bool), Failure> {
    let mut stream = connection.accept_uni().await.map_err(|why| Failure::work("nothing was sent", why))?;
    let mut file = match to {
        Some(path) => {
            Some(File::create(path).await.map_err(|why| Failure::work(&path.display().to_string(), why))?)
        }
        None => None,
    };
    let mut tally = Tally::default();
    let complete = read(&mut stream, &mut tally, since, file.as_mut()).await?;
    if let Some(file) = &mut file {
        file.flush().await.map_err(|why| Failure::work("the file", why))?;
    }
    answer(connection, &tally).await?;
    Ok((tally, complete))
}

async fn read(
    stream: &mut RecvStream,
    tally: &mut Tally,
    since: Stopwatch,
    mut file: Option<&mut File>,
) -> Result<bool, Failure> {
    let mut kind = None;
    let mut received = 0;
    loop {
        match stream.read_chunk(usize::MAX, true).await {
            Ok(Some(chunk)) => {
                let mut bytes = &chunk.bytes[..];
                if kind.is_none() {
                    kind = bytes.split_off_first().copied();
                }
                if kind == Some(PATTERN)
                    && let Some(at) = pattern::mistake(received, bytes)
                {
                    return Err(Failure::Work(format!("byte {at} is not as it was sent")));
                }
                if let Some(file) = &mut file {
                    file.write_all(bytes).await.map_err(|why| Failure::work("the file", why))?;
                }
                received += bytes.len() as u64;
                tally.add(since.passed(), received);
            }
            Ok(None) => return Ok(true),
            Err(ReadError::Reset(_)) => return Ok(false), // its time is over
            Err(why) => return Err(Failure::work("the transfer broke off", why)),
        }
    }
}

/// Tells the sender; the sender closes.
async fn answer(connection: &Connection, tally: &Tally) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::work("the sender did not wait for the answer", why);
    let mut stream = connection.open_uni().await.map_err(|why| failed(&why))?;
    stream.write_all(&tally.to_bytes()).await.map_err(|why| failed(&why))?;
    stream.finish().map_err(|why| failed(&why))?;
    connection.closed().await;
    Ok(())
}
