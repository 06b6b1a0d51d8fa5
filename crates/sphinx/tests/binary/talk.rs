use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use proto_memcache::binary::testing::{self, Packet, Response};
use proto_memcache::binary::{Header, Status, opcode};

use crate::differential::random::Random;
use crate::support::PATIENCE;

/// How requests are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pieces {
    Whole,
    Bytes,
    /// At places that the seed decides.
    Random(u64),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) header: Header,
    pub(crate) extras: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> Status {
        Status::of(self.header.status).expect("a status that is known")
    }
}

/// The transport of a connection.
pub(crate) trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// A connection whose every wait is bounded.
pub(crate) struct Talk {
    stream: Box<dyn Stream>,
    pieces: Pieces,
    input: Vec<u8>,
    opaque: u32,
}

/// The longest body that is taken. Units: bytes.
const BODY_MAX: usize = 4 << 20;

impl Talk {
    pub(crate) fn connect(address: SocketAddr, pieces: Pieces) -> Talk {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Talk::over(stream, pieces)
    }

    pub(crate) fn over(stream: impl Stream + 'static, pieces: Pieces) -> Talk {
        Talk { stream: Box::new(stream), pieces, input: Vec::new(), opaque: 0 }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = match &mut self.pieces {
                Pieces::Whole => rest.len(),
                Pieces::Bytes => (bytes.len() / 1000 + 1).min(rest.len()),
                Pieces::Random(seed) => {
                    *seed = seed.wrapping_add(1);
                    1 + Random::new(*seed).below(rest.len())
                }
            };
            let (piece, after) = rest.split_at(length);
            rest = after;
            match self.stream.write_all(piece) {
                Ok(()) => {}
                // The server has closed; reading shows when.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                    return;
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.stream.flush().unwrap();
    }

    /// The next answer; `None` if the server closed instead.
    pub(crate) fn next(&mut self) -> Option<Answer> {
        loop {
            match testing::read(&self.input, BODY_MAX) {
                testing::Read::Done { consumed, response } => {
                    let Response { header, extras, key, value } = response;
                    let answer =
                        Answer { header, extras: extras.into(), key: key.into(), value: value.into() };
                    self.input.drain(..consumed);
                    return Some(answer);
                }
                testing::Read::NeedMore { .. } => {}
                testing::Read::Malformed => panic!("no answer: {}", self.input.escape_ascii()),
            }
            let mut part = [0; 64 << 10];
            match self.stream.read(&mut part) {
                Ok(0) => {
                    assert!(self.input.is_empty(), "closed within an answer: {}", self.input.escape_ascii());
                    return None;
                }
                Ok(length) => self.input.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The answers to these requests, sent at once followed by a `noop`, and whether the server closed before that was
    /// answered. Each must match one of them, in their order.
    pub(crate) fn ask_all(&mut self, packets: &[Packet<'_>]) -> (Vec<Answer>, bool) {
        let first = self.opaque + 1;
        let mut bytes = Vec::new();
        for packet in packets {
            self.opaque += 1;
            packet.opaque(self.opaque).append(&mut bytes);
        }
        self.opaque += 1;
        Packet::new(opcode::NOOP).opaque(self.opaque).append(&mut bytes);
        self.send(&bytes);
        let (mut answers, mut last) = (Vec::new(), first);
        loop {
            let Some(answer) = self.next() else { return (answers, true) };
            let opaque = answer.header.opaque;
            assert!((last..=self.opaque).contains(&opaque), "{opaque} comes behind {last}");
            last = opaque;
            if opaque == self.opaque {
                assert_eq!((answer.header.opcode, answer.status()), (opcode::NOOP, Status::Done));
                return (answers, false);
            }
            answers.push(answer);
        }
    }

    pub(crate) fn ask(&mut self, packet: Packet<'_>) -> Vec<Answer> {
        let (answers, closed) = self.ask_all(&[packet]);
        assert!(!closed, "closed after {packet:?}");
        answers
    }

    fn one(&mut self, packet: Packet<'_>) -> Answer {
        let mut answers = self.ask(packet);
        assert_eq!(answers.len(), 1, "{packet:?}: {answers:?}");
        answers.remove(0)
    }

    /// The answer has this status and its text.
    #[track_caller]
    pub(crate) fn says(&mut self, packet: Packet<'_>, status: Status) {
        let answer = self.one(packet);
        let expect = (status, status.text(), 0);
        assert_eq!((answer.status(), &answer.value[..], answer.header.cas), expect, "{packet:?}");
        assert!(answer.extras.is_empty() && answer.key.is_empty(), "{answer:?}");
    }

    /// It is done, and the answer has a unique number.
    #[track_caller]
    pub(crate) fn stored(&mut self, packet: Packet<'_>) -> u64 {
        let answer = self.one(packet);
        assert_eq!((answer.status(), answer.header.body), (Status::Done, 0), "{packet:?}");
        assert!(answer.header.cas != 0, "{packet:?}");
        answer.header.cas
    }

    /// The answer has an item; returns its unique number.
    #[track_caller]
    pub(crate) fn shows(&mut self, packet: Packet<'_>, flags: u32, key: &[u8], value: &[u8]) -> u64 {
        let answer = self.one(packet);
        assert_eq!(answer.status(), Status::Done, "{packet:?}");
        assert_eq!((&answer.key[..], answer.extras), (key, flags.to_be_bytes().to_vec()), "{packet:?}");
        assert!(answer.value == value, "{packet:?}: {} B", answer.value.len());
        answer.header.cas
    }

    /// The answer has a number; returns its unique number.
    #[track_caller]
    pub(crate) fn counts(&mut self, packet: Packet<'_>, number: u64) -> u64 {
        let answer = self.one(packet);
        assert_eq!(
            (answer.status(), answer.value),
            (Status::Done, number.to_be_bytes().into()),
            "{packet:?}"
        );
        assert!(answer.extras.is_empty() && answer.key.is_empty() && answer.header.cas != 0);
        answer.header.cas
    }

    /// Expects no answer.
    #[track_caller]
    pub(crate) fn silent(&mut self, packet: Packet<'_>) {
        let answers = self.ask(packet);
        assert!(answers.is_empty(), "{packet:?}: {answers:?}");
    }

    /// The answer has this status and its text, and the connection is closed after it.
    #[track_caller]
    pub(crate) fn refuses(&mut self, packet: Packet<'_>, status: Status) {
        let (answers, closed) = self.ask_all(&[packet]);
        assert!(closed, "{packet:?} closed nothing");
        // memcached may close while the `noop` is unread, which takes the answer away.
        if let [answer] = &answers[..] {
            assert_eq!((answer.status(), &answer.value[..]), (status, status.text()), "{packet:?}");
        } else {
            assert!(answers.is_empty(), "{answers:?}");
        }
    }

    pub(crate) fn flush(&mut self) {
        let answer = self.one(Packet::new(opcode::FLUSH));
        assert_eq!((answer.status(), answer.header.body), (Status::Done, 0));
    }

    /// The names and values of a group of statistics.
    pub(crate) fn stats(&mut self, group: &[u8]) -> Vec<(String, String)> {
        let answers = self.ask(Packet::new(opcode::STAT).key(group));
        let (last, lines) = answers.split_last().expect("an end");
        assert_eq!((last.status(), last.header.body), (Status::Done, 0));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        lines.iter().map(|line| (text(&line.key), text(&line.value))).collect()
    }
}

pub(crate) fn get(key: &[u8]) -> Packet<'_> {
    Packet::new(opcode::GET).key(key)
}

pub(crate) fn set<'p>(key: &'p [u8], value: &'p [u8]) -> Packet<'p> {
    Packet::new(opcode::SET).key(key).store(0, 0).value(value)
}
