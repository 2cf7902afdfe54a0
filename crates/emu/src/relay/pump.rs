//! Moves bytes between two connections, each way until its end, and no faster than they are taken.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::socket;

/// Bytes in transit between the sockets, each way. While the receiving socket is full, the kernel
/// acknowledges arrivals when this many more bytes have been read, or after 40 ms (`__tcp_ack_snd_check`,
/// `tcp_cleanup_rbuf`); at 10 Mbit/s these bytes take 13 ms.
const BETWEEN: usize = 16 * 1024;

/// One way: what was read from one end and not yet written to the other.
struct Way {
    held: Box<[u8]>,
    from: usize,
    to: usize,
    /// The end that sends has sent all.
    at_end: bool,
    /// True once the close has been passed to the receiving end.
    closed: bool,
}

impl Way {
    fn new() -> Self {
        Self { held: vec![0; BETWEEN].into(), from: 0, to: 0, at_end: false, closed: false }
    }

    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Reads, if there is room, and writes what there is if `takes`: the sink has said that it can
    /// take it. A window that is closed at one end closes that of the other, because nothing is read
    /// before everything is written.
    ///
    /// A sink that is not asked takes more, until its buffer is full, and then nothing before a third of that
    /// is free (`sk_stream_is_writeable`): the source would send in bursts of that size.
    fn step(
        &mut self,
        mut source: &TcpStream,
        mut sink: &TcpStream,
        takes: bool,
        bytes: &AtomicU64,
    ) -> io::Result<()> {
        if self.is_empty() && !self.at_end {
            match source.read(&mut self.held) {
                Ok(0) => self.at_end = true,
                Ok(n) => (self.from, self.to) = (0, n),
                Err(error) if later(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if takes && !self.is_empty() {
            match sink.write(&self.held[self.from..self.to]) {
                Ok(n) => {
                    self.from += n;
                    bytes.fetch_add(n as u64, Ordering::Relaxed);
                }
                Err(error) if later(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_empty() && self.at_end && !self.closed {
            self.closed = true;
            sink.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }
}

fn later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Moves bytes both ways until both have ended, or until `stop` can be read. The sockets do not block.
///
/// # Errors
/// That of a connection which was broken off; what was under way is lost.
pub(super) fn between(ends: &[TcpStream; 2], stop: BorrowedFd<'_>, bytes: &AtomicU64) -> io::Result<()> {
    let [a, b] = ends;
    let (mut there, mut back) = (Way::new(), Way::new());
    while !(there.closed && back.closed) {
        // In the place of what need not be asked: `stop`, again.
        let at_stop = (stop, libc::POLLIN);
        // An end that has sent everything and received everything has nothing more to report, but would
        // report so again and again.
        let [at_a, at_b] = [(a, &there, &back), (b, &back, &there)].map(|(end, out, into)| {
            let reads = if out.is_empty() && !out.at_end { libc::POLLIN } else { 0 };
            if out.at_end && into.closed { at_stop } else { (end.as_fd(), reads) }
        });
        let [to_a, to_b] = [(a, &back), (b, &there)]
            .map(|(end, into)| if into.is_empty() { at_stop } else { (end.as_fd(), libc::POLLOUT) });
        let [_, _, a_takes, b_takes, stopped] = socket::wait([at_a, at_b, to_a, to_b, at_stop])?;
        if stopped {
            return Ok(());
        }
        for end in ends {
            if let Some(error) = end.take_error()? {
                return Err(error);
            }
        }
        there.step(a, b, b_takes, bytes)?;
        back.step(b, a, a_takes, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A connection over loopback: both of its ends.
    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        for_tests(&near);
        [near, listener.accept().unwrap().0]
    }

    fn for_tests(end: &TcpStream) {
        end.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        end.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    }

    /// A client, a server, and a pump between them, with what it comes to in the end and how
    /// many bytes it has moved.
    fn relayed() -> (TcpStream, TcpStream, thread::JoinHandle<(io::Result<()>, u64)>) {
        let ([client, a], [server, b]) = (pair(), pair());
        let pumping = thread::spawn(move || {
            for end in [&a, &b] {
                end.set_nonblocking(true).unwrap();
            }
            let (stop, bytes) = (socket::event().unwrap(), AtomicU64::new(0));
            let ends = [a, b];
            let done = between(&ends, stop.as_fd(), &bytes);
            if done.is_err() {
                ends.iter().for_each(|end| socket::reset_at_close(end.as_fd()));
            }
            (done, bytes.into_inner())
        });
        (client, server, pumping)
    }

    fn pattern(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i * 31 + i / 251) as u8).collect()
    }

    #[test]
    fn everything_arrives_in_order_both_ways_at_once() {
        let (client, server, pumping) = relayed();
        let sent = pattern(5_000_000);
        let send = |mut to: &TcpStream, data: &[u8]| {
            to.write_all(data).unwrap();
            to.shutdown(Shutdown::Write).unwrap();
        };
        let receive = |mut from: &TcpStream| {
            let mut all = Vec::new();
            from.read_to_end(&mut all).unwrap();
            all
        };
        thread::scope(|scope| {
            scope.spawn(|| send(&client, &sent));
            scope.spawn(|| send(&server, &sent[7..]));
            let at_server = scope.spawn(|| receive(&server));
            assert!(receive(&client) == sent[7..]);
            assert!(at_server.join().unwrap() == sent);
        });
        let (done, bytes) = pumping.join().unwrap();
        assert!(done.is_ok());
        assert_eq!(bytes, 2 * 5_000_000 - 7);
    }

    #[test]
    fn an_end_that_has_sent_all_still_receives() {
        let (mut client, mut server, pumping) = relayed();
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut question = String::new();
        server.read_to_string(&mut question).unwrap();
        assert_eq!(question, "question");
        // Much later, and in several pieces.
        for part in 0..3 {
            thread::sleep(Duration::from_millis(20));
            server.write_all(format!("answer {part};").as_bytes()).unwrap();
        }
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer 0;answer 1;answer 2;");
        assert!(pumping.join().unwrap().0.is_ok());
    }

    #[test]
    fn an_end_that_does_not_read_holds_up_the_other() {
        let (client, server, pumping) = relayed();
        client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        // Buffers of loopback take some megabytes; without back-pressure this would never end.
        let data = vec![1; 1 << 20];
        let mut taken = 0;
        while let Ok(n) = (&client).write(&data) {
            taken += n;
            assert!(taken < 1 << 30);
        }
        drop(client);
        let mut received = Vec::new();
        (&server).read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), taken);
        drop(server);
        assert!(pumping.join().unwrap().0.is_ok());
    }

    #[test]
    fn a_connection_that_breaks_is_no_orderly_end_for_the_other_side() {
        let (mut client, mut server, pumping) = relayed();
        client.write_all(b"half of").unwrap();
        let mut half = [0; 7];
        server.read_exact(&mut half).unwrap();
        socket::reset_at_close(client.as_fd());
        drop(client);
        let broken = server.read(&mut half).unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::ConnectionReset);
        assert!(pumping.join().unwrap().0.is_err());
    }
}
