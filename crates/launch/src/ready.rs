use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::capture::Next;
use crate::listeners::{Owner, owner};
use crate::process::LAST_WORDS_WAIT;
use crate::{Error, Process};

/// Interval between readiness checks of a starting server: well below any server's start-up time.
const POLL: Duration = Duration::from_millis(2);
/// How often the end of a process is checked for while its output stays open, as a child of its own may hold it.
const LOOK: Duration = Duration::from_millis(20);
/// Limit for a process that keeps writing to standard error, as a multiple of the wait for a silent one.
const PATIENCE: u32 = 5;
/// Time limit for a connection over loopback; after it the connection counts as refused.
const CONNECT_WAIT: Duration = Duration::from_millis(500);

impl Process {
    /// Waits for a line of its standard output that starts with `prefix`; returns the line.
    ///
    /// Bounds: `within` from the last line on its standard error (a server that is still allocating its memory writes some), five
    /// times that in total. Earlier lines are consumed. Errors: the process ended, with its last words; or a timeout.
    pub fn await_line(&mut self, prefix: &str, within: Duration) -> Result<String, Error> {
        let start = Instant::now();
        let (mut heard, mut said) = (start, self.stderr.count());
        loop {
            let (now, count) = (Instant::now(), self.stderr.count());
            if count != said {
                (heard, said) = (now, count);
            }
            let left = (heard + within).min(start + PATIENCE * within).saturating_duration_since(now);
            match self.stdout.next(left.min(LOOK)) {
                Next::Line(line) if line.starts_with(prefix) => return Ok(line),
                Next::Line(_) => {}
                end => {
                    let closed = end == Next::Closed;
                    let patience = if closed { left } else { Duration::ZERO };
                    if let Some(status) = self.poll_end(patience)? {
                        // Its last line may have come between the two checks.
                        let last = self.stdout.tail_at_end(LAST_WORDS_WAIT);
                        if let Some(line) = last.into_iter().find(|line| line.starts_with(prefix)) {
                            return Ok(line);
                        }
                        return Err(self.died("before it was ready", status));
                    }
                    if left.is_zero() || closed {
                        return Err(self.not_ready(format!("print a line '{prefix}…'"), within));
                    }
                }
            }
        }
    }

    /// Waits up to `within` for a line of its standard output that starts with `prefix`, and returns the address that
    /// follows. A server that prints where it listens can be started on port 0, so that no port is ever taken.
    ///
    /// Errors: as those of [`Process::await_line`]; no address follows.
    pub fn await_address(&mut self, prefix: &str, within: Duration) -> Result<SocketAddr, Error> {
        let line = self.await_line(prefix, within)?;
        // Words behind the address are for people.
        let address = line[prefix.len()..].split_whitespace().next().and_then(|word| word.parse().ok());
        address.ok_or_else(|| Error::Unexpected {
            name: self.spec().name.clone(),
            got: line.clone(),
            expected: "the line that it is ready, with ADDRESS:PORT behind it",
        })
    }

    /// Waits up to `within` until it, and no other process, accepts connections at `address`.
    ///
    /// Errors: it ended, with its last words; another process listens there; or it does not listen in time.
    pub fn await_port(&mut self, address: SocketAddr, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        loop {
            let ended = self.poll_end(Duration::ZERO)?;
            let answers = TcpStream::connect_timeout(&address, CONNECT_WAIT).is_ok();
            if let Some(status) = ended {
                // It has ended, so another process answers there.
                let died = self.died("before it was ready", status);
                return Err(if answers { self.port_taken(address) } else { died });
            }
            let found = if answers { owner(self.pid(), address) } else { Ok(Owner::None) };
            match found {
                Ok(Owner::Itself) => return Ok(()),
                Ok(Owner::Both) => return Err(self.port_taken(address)),
                // It may still report itself that the port is taken; a process that has just ended cannot be read.
                Ok(Owner::Another | Owner::None) | Err(_) => {}
            }
            if Instant::now() >= deadline {
                return Err(match found {
                    Ok(Owner::Another) => self.port_taken(address),
                    Ok(_) => self.not_ready(format!("listen on {address}"), within),
                    Err(source) => self.os("cannot read which ports it has")(source),
                });
            }
            thread::sleep(POLL);
        }
    }

    /// Waits up to `within` until it accepts connections at `address`, which is its own alone.
    ///
    /// Errors: it ended, with its last words; or it does not answer in time.
    pub(crate) fn await_answer(&mut self, address: SocketAddr, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        while TcpStream::connect_timeout(&address, CONNECT_WAIT).is_err() {
            self.still_runs("before it was ready")?;
            if Instant::now() >= deadline {
                return Err(self.not_ready(format!("listen on {address}"), within));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Errors: it has ended, `when` it should not have, with its last words.
    pub fn still_runs(&mut self, when: &'static str) -> Result<(), Error> {
        match self.poll_end(Duration::ZERO)? {
            None => Ok(()),
            Some(status) => Err(self.died(when, status)),
        }
    }

    fn port_taken(&self, address: SocketAddr) -> Error {
        Error::PortTaken { name: self.spec().name.clone(), address, stderr: self.stderr_tail() }
    }

    /// The error that it did not reach the state `what` in time: `listen on 127.0.0.1:80`.
    pub fn not_ready(&self, what: String, within: Duration) -> Error {
        Error::NotReady { name: self.spec().name.clone(), what, within, stderr: self.stderr_tail() }
    }
}
