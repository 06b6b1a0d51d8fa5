//! A connection to a node, on which many statements are under way at once.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::wire::{Answer, Ask, HEAD, Head};
use crate::destination::Host;
use crate::patience::Failure;

/// Errors that may pass: unavailable, overloaded, starting, write timeout, read timeout, write failure, unprepared. Source: §9 of
/// the protocol's specification.
const PASSING: [i32; 7] = [0x1000, 0x1001, 0x1002, 0x1100, 0x1200, 0x1500, 0x2500];

/// A connection; unusable after a failure.
pub(super) struct Connection {
    stream: TcpStream,
    within: Duration,
}

impl Connection {
    /// Connects to `node`; `within` bounds the wait for answers.
    pub(super) fn open(node: &Host, within: Duration) -> Result<Connection, Failure> {
        let found = (node.name.as_str(), node.port).to_socket_addrs();
        let found = found.map_err(|e| Failure::passing(format!("its address is not known: {e}")))?;
        let mut problem = "it has no address".to_owned();
        for address in found {
            match TcpStream::connect_timeout(&address, within) {
                Ok(stream) => return Connection { stream, within }.greeted(),
                Err(error) => problem = format!("{address}: {error}"),
            }
        }
        Err(Failure::passing(problem))
    }

    fn greeted(mut self) -> Result<Connection, Failure> {
        let set =
            self.stream.set_nodelay(true).and_then(|()| self.stream.set_write_timeout(Some(self.within)));
        set.map_err(|e| Failure::passing(e.to_string()))?;
        match self.asked(&[Ask::startup()])?.pop() {
            Some(Answer::Ready) => Ok(self),
            Some(Answer::Authenticate(class)) => Err(Failure::Final(format!(
                "it asks for a name and a password ({class}), which are not sent; set AllowAllAuthenticator for a node that only \
                 this machine reaches"
            ))),
            _ => Err(Failure::Final("it does not say that it is ready".into())),
        }
    }

    /// The answers to `asked`, in its order.
    ///
    /// Errors: the first error among the answers, or an answer that does not come in time.
    pub(super) fn asked(&mut self, asked: &[Ask]) -> Result<Vec<Answer>, Failure> {
        let frames = (0..).zip(asked).flat_map(|(stream, ask)| ask.frame(stream));
        let until = Instant::now() + self.within;
        self.stream.write_all(&frames.collect::<Vec<_>>()).map_err(|e| self.failed(&e))?;
        let mut answers: Vec<Option<Answer>> = vec![None; asked.len()];
        for _ in asked {
            let mut head = [0; HEAD];
            self.fill(&mut head, until)?;
            let head = Head::read(head).map_err(Failure::Final)?;
            let mut body = vec![0; head.length as usize];
            self.fill(&mut body, until)?;
            let place = answers.get_mut(usize::from(head.stream)).filter(|place| place.is_none());
            match (place, Answer::read(head, &body)) {
                (_, Some(Answer::Error { code, message })) => {
                    let problem = format!("it answers error {code:#06x}: {message}");
                    let passing = PASSING.contains(&code);
                    return Err(if passing { Failure::passing(problem) } else { Failure::Final(problem) });
                }
                (Some(place), Some(answer)) => *place = Some(answer),
                (None, _) => return Err(Failure::Final("it answers what was not asked".into())),
                (_, None) => return Err(Failure::Final("it answers what is not of its protocol".into())),
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Fills `bytes`, however slowly they come, but not beyond `until`.
    fn fill(&mut self, bytes: &mut [u8], until: Instant) -> Result<(), Failure> {
        let mut at = 0;
        while at < bytes.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.failed(&ErrorKind::TimedOut.into()));
            }
            self.stream.set_read_timeout(Some(left)).map_err(|e| self.failed(&e))?;
            match self.stream.read(&mut bytes[at..]) {
                Ok(0) => return Err(Failure::passing("it closed the connection")),
                Ok(read) => at += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                Failure::passing(format!("no answer within {} ms", self.within.as_millis()))
            }
            _ => Failure::passing(error.to_string()),
        }
    }
}
