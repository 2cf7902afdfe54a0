//! One end of a connection: quinn's endpoint, its connection, and the application on it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    StreamEvent, StreamId, WriteError,
};

use super::SimulationError;
use crate::certificate;
use crate::pattern;
use crate::transport;

/// A datagram that an end sends.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) bytes: Vec<u8>,
    pub(super) ecn: bool,
}

/// One end.
#[derive(Debug)]
pub(super) struct End {
    endpoint: Endpoint,
    peer: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    application: Application,
    /// Answers of the endpoint itself.
    answers: Vec<Datagram>,
}

/// What an end does with its connection.
#[derive(Debug)]
enum Application {
    /// Writes bytes to a stream; `left`: how many are to be written.
    Writer { stream: Option<StreamId>, written: u64, left: u64, connected: bool },
    /// Reads them.
    Reader { stream: Option<StreamId>, received: u64, ended: bool },
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn endpoint(server: Option<quinn_proto::ServerConfig>, seed: u64) -> Endpoint {
    let mut config = EndpointConfig::default();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8] = u8::from(server.is_some());
    config.rng_seed(Some(bytes));
    Endpoint::new(Arc::new(config), server.map(Arc::new), true, None)
}

impl End {
    /// The end that opens the connection and sends `bytes`.
    pub(super) fn sender(
        transport: quinn_proto::TransportConfig,
        bytes: u64,
        seed: u64,
        now: Instant,
    ) -> Result<Self, SimulationError> {
        let mut endpoint = endpoint(None, seed);
        let tls = certificate::client().map_err(SimulationError::Tls)?;
        let mut config = quinn_proto::ClientConfig::new(tls);
        config.transport_config(Arc::new(transport));
        let peer = address(2);
        let connection = endpoint
            .connect(now, config, peer, certificate::NAME)
            .map_err(|why| SimulationError::Lost(why.to_string()))?;
        let application = Application::Writer { stream: None, written: 0, left: bytes, connected: false };
        Ok(Self { endpoint, peer, connection: Some(connection), application, answers: Vec::new() })
    }

    /// The end that waits for the connection and reads what is sent.
    pub(super) fn receiver(seed: u64) -> Result<Self, SimulationError> {
        let tls = certificate::server().map_err(SimulationError::Tls)?;
        let mut config = quinn_proto::ServerConfig::with_crypto(tls);
        config.transport_config(Arc::new(transport::config()));
        let application = Application::Reader { stream: None, received: 0, ended: false };
        Ok(Self {
            endpoint: endpoint(Some(config), seed),
            peer: address(1),
            connection: None,
            application,
            answers: Vec::new(),
        })
    }

    /// Its connection, once there is one.
    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Bytes read, and whether that was all.
    pub(super) fn received(&self) -> (u64, bool) {
        match self.application {
            Application::Reader { received, ended, .. } => (received, ended),
            Application::Writer { .. } => (0, false),
        }
    }

    /// A datagram has arrived.
    pub(super) fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &[u8],
        ecn: Option<EcnCodepoint>,
    ) -> Result<(), SimulationError> {
        let mut answer = Vec::new();
        let data = BytesMut::from(datagram);
        match self.endpoint.handle(now, self.peer, None, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|why| SimulationError::Lost(why.cause.to_string()))?);
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push(Datagram { bytes: answer, ecn: false });
            }
            None => {}
        }
        Ok(())
    }

    /// Its next timer.
    pub(super) fn timer(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout()
    }

    /// Its timer has come.
    pub(super) fn on_timer(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    /// Does what is to be done at `now`, and hands over what is to be sent.
    pub(super) fn work(
        &mut self,
        now: Instant,
        send: &mut dyn FnMut(Datagram),
    ) -> Result<(), SimulationError> {
        self.answers.drain(..).for_each(&mut *send);
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                if let Event::ConnectionLost { reason } = event {
                    return Err(SimulationError::Lost(reason.to_string()));
                }
                self.application.on_event(&event);
            }
            self.application.work(connection)?;
            let mut bytes = Vec::new();
            match connection.poll_transmit(now, 1, &mut bytes) {
                Some(transmit) => {
                    bytes.truncate(transmit.size);
                    send(Datagram { bytes, ecn: transmit.ecn.is_some() });
                }
                None => return Ok(()),
            }
        }
    }
}

impl Application {
    fn on_event(&mut self, event: &Event) {
        match (self, event) {
            (Self::Writer { connected, .. }, Event::Connected) => *connected = true,
            (Self::Reader { stream, .. }, Event::Stream(StreamEvent::Readable { id })) => {
                stream.get_or_insert(*id);
            }
            _ => {}
        }
    }

    fn work(&mut self, connection: &mut Connection) -> Result<(), SimulationError> {
        match self {
            Self::Writer { connected: false, .. } => Ok(()),
            Self::Writer { stream, written, left, .. } => {
                let Some(id) = stream.or_else(|| connection.streams().open(Dir::Uni)) else { return Ok(()) };
                *stream = Some(id);
                write(connection, id, written, left)
            }
            Self::Reader { stream, received, ended } => {
                if stream.is_none() {
                    *stream = connection.streams().accept(Dir::Uni);
                }
                match *stream {
                    Some(id) if !*ended => read(connection, id, received, ended),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn write(
    connection: &mut Connection,
    id: StreamId,
    written: &mut u64,
    left: &mut u64,
) -> Result<(), SimulationError> {
    let mut stream = connection.send_stream(id);
    while *left > 0 {
        let wanted = (*left).min(pattern::LONGEST as u64) as usize;
        match stream.write(pattern::bytes(*written, wanted)) {
            Ok(n) => {
                *written += n as u64;
                *left -= n as u64;
            }
            Err(WriteError::Blocked) => return Ok(()),
            Err(why) => return Err(SimulationError::Lost(why.to_string())),
        }
        if *left == 0 {
            stream.finish().map_err(|why| SimulationError::Lost(why.to_string()))?;
        }
    }
    Ok(())
}

fn read(
    connection: &mut Connection,
    id: StreamId,
    received: &mut u64,
    ended: &mut bool,
) -> Result<(), SimulationError> {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                if let Some(at) = pattern::mistake(*received, &chunk.bytes) {
                    return Err(SimulationError::Corrupt(at));
                }
                *received += chunk.bytes.len() as u64;
            }
            Ok(None) => {
                *ended = true;
                break;
            }
            Err(_) => break, // no more for now
        }
    }
    let _ = chunks.finalize(); // the loop of `work` sends what is to be sent in any case
    Ok(())
}
