//! `bentpipe-quic send`: sends to a `bentpipe-quic serve`, and says what came of it.

use std::io::IsTerminal;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::{ClientConfig, Connection, Endpoint, SendStream, VarInt};
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::Failure;
use super::receive::{FILE, PATTERN};
use super::request::{Amount, Send};
use super::tally::{Stopwatch, Tally};
use crate::{certificate, pattern, transport};

/// How often the live line is written, on a terminal.
const LINE: Duration = Duration::from_millis(500);

/// Sends, and prints the report.
pub(crate) async fn run(request: Send) -> Result<(), Failure> {
    let Send { peer, sending } = &request;
    let tls = certificate::client().map_err(|why| Failure::Work(why.to_string()))?;
    let mut config = ClientConfig::new(tls);
    let mut transport = transport::config();
    transport.congestion_controller_factory(sending.controller.clone());
    config.transport_config(Arc::new(transport));
    let local: SocketAddr =
        if peer.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let endpoint = Endpoint::client(local).map_err(|why| Failure::work("no socket", why))?;
    let since = Stopwatch::start();
    let connecting = endpoint
        .connect_with(config, *peer, certificate::NAME)
        .map_err(|why| Failure::work(&format!("cannot send to {peer}"), why))?;
    let connection =
        connecting.await.map_err(|why| Failure::work(&format!("{peer} does not answer"), why))?;
    let handshake = since.passed();
    let mut samples = Samples::default();
    let sent = tokio::select! {
        sent = deliver(&connection, &sending.amount, since) => sent?,
        never = watch(&connection, sending.interval, since, &mut samples) => match never {},
    };
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    let report = report(&request, &connection, &sent, handshake, samples);
    println!("{report}");
    Ok(())
}

/// What was sent.
struct Sent {
    written: u64,
    complete: bool,
    tally: Tally,
}

/// Sends all, or until the time is over, and waits for the receiver's answer.
async fn deliver(connection: &Connection, amount: &Amount, since: Stopwatch) -> Result<Sent, Failure> {
    let mut stream = connection.open_uni().await.map_err(|why| broke_off(&why))?;
    let mut written = 0;
    let complete = match amount {
        Amount::For(time) => {
            let left = time.saturating_sub(since.passed());
            let endless = write_pattern(&mut stream, u64::MAX, &mut written);
            if let Ok(result) = tokio::time::timeout(left, endless).await {
                result?;
            }
            stream.reset(VarInt::from_u32(0)).map_err(|why| broke_off(&why))?;
            false
        }
        Amount::Bytes(bytes) => {
            write_pattern(&mut stream, *bytes, &mut written).await?;
            stream.finish().map_err(|why| broke_off(&why))?;
            true
        }
        Amount::File(path) => {
            let cannot = |why: std::io::Error| Failure::work(&path.display().to_string(), why);
            let mut file = File::open(path).await.map_err(cannot)?;
            stream.write_all(&[FILE]).await.map_err(|why| broke_off(&why))?;
            let mut buffer = vec![0; 1 << 16];
            loop {
                let n = file.read(&mut buffer).await.map_err(cannot)?;
                if n == 0 {
                    break;
                }
                stream.write_all(&buffer[..n]).await.map_err(|why| broke_off(&why))?;
                written += n as u64;
            }
            stream.finish().map_err(|why| broke_off(&why))?;
            true
        }
    };
    let mut answer = connection.accept_uni().await.map_err(|why| broke_off(&why))?;
    let message = answer.read_to_end(Tally::LONGEST).await.map_err(|why| broke_off(&why))?;
    let tally = Tally::from_bytes(&message)
        .ok_or_else(|| Failure::Work("the receiver's answer makes no sense".into()))?;
    Ok(Sent { written, complete, tally })
}

fn broke_off(why: &dyn std::fmt::Display) -> Failure {
    Failure::work("the transfer broke off", why)
}

async fn write_pattern(stream: &mut SendStream, bytes: u64, written: &mut u64) -> Result<(), Failure> {
    stream.write_all(&[PATTERN]).await.map_err(|why| broke_off(&why))?;
    while *written < bytes {
        let wanted = usize::try_from(bytes - *written).unwrap_or(usize::MAX);
        let n = stream.write(pattern::bytes(*written, wanted)).await.map_err(|why| broke_off(&why))?;
        *written += n as u64;
    }
    Ok(())
}

/// The sender over time.
#[derive(Default)]
struct Samples {
    rows: Vec<Value>,
    rtt_sum: f64,
    /// How late the latest was taken: for so long the machine did not let the program run.
    late_max: Duration,
}

/// Samples the connection for ever.
async fn watch(
    connection: &Connection,
    interval: Duration,
    since: Stopwatch,
    samples: &mut Samples,
) -> std::convert::Infallible {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let live = std::io::stderr().is_terminal();
    let mut line = Duration::ZERO;
    loop {
        let due = ticks.tick().await;
        samples.late_max = samples.late_max.max(due.elapsed());
        let path = connection.stats().path;
        let (now, rtt) = (since.passed(), path.rtt.as_secs_f64());
        samples.rtt_sum += rtt;
        samples.rows.push(json!({
            "t_s": now.as_secs_f64(), "cwnd_bytes": path.cwnd, "rtt_s": rtt, "lost_packets": path.lost_packets,
        }));
        if live && now >= line {
            line = now + LINE;
            eprint!(
                "\r{:6.1} s  cwnd {:8} B  rtt {:6.1} ms  sent {}  lost {} ",
                now.as_secs_f64(),
                path.cwnd,
                1e3 * rtt,
                path.sent_packets,
                path.lost_packets
            );
        }
    }
}

fn report(
    request: &Send,
    connection: &Connection,
    sent: &Sent,
    handshake: Duration,
    samples: Samples,
) -> Value {
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
    let path = connection.stats().path;
    let one_way = path.min_rtt / 2;
    // The receiver's clock starts when the first packet arrives, half a round trip after ours.
    let (seconds, received) = match request.sending.amount {
        Amount::For(time) => (time, sent.tally.at(time.saturating_sub(one_way))),
        Amount::Bytes(_) | Amount::File(_) => {
            let (took, bytes) = sent.tally.total();
            (took + one_way, bytes)
        }
    };
    let seconds = seconds.as_secs_f64();
    json!({
        "controller": request.sending.name,
        "peer": request.peer.to_string(),
        "simulated": false,
        "complete": sent.complete,
        "seconds": seconds,
        "written_bytes": sent.written,
        "received_bytes": received,
        "goodput_bps": 8.0 * received as f64 / seconds.max(1e-9),
        "handshake_s": handshake.as_secs_f64(),
        "rtt_min_s": path.min_rtt.as_secs_f64(),
        "rtt_mean_s": samples.rtt_sum / samples.rows.len().max(1) as f64,
        "sent_packets": path.sent_packets,
        "lost_packets": path.lost_packets,
        "lost_bytes": path.lost_bytes,
        "congestion_events": path.congestion_events,
        "mtu_bytes": path.current_mtu,
        "late_max_s": samples.late_max.as_secs_f64(),
        "samples": samples.rows,
    })
}
