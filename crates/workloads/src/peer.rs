//! Which kind of server listens at an address, by the first bytes that it sends.

use std::fmt;
use std::io::{Read, Write};

/// A kind of server that is found where another was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A cache that speaks memcached's text protocol.
    Memcached,
    /// Redis, or a server of its protocol.
    Redis,
    /// An HTTP/1 server.
    Http,
    /// An HTTP/2 server.
    Http2,
    /// A server that expects TLS.
    Tls,
    /// An SSH server.
    Ssh,
    /// A mail or file server: SMTP, IMAP, POP3 or FTP.
    Mail,
    /// MySQL or MariaDB.
    Mysql,
}

/// The caches that are measured, by their protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// memcached and servers of its protocol.
    Memcached,
    /// Redis, Valkey and other servers of RESP.
    Redis,
}

impl Family {
    /// The kind of server.
    pub(crate) fn peer(self) -> Peer {
        match self {
            Family::Memcached => Peer::Memcached,
            Family::Redis => Peer::Redis,
        }
    }

    /// The server, and the protocol that is meant if it has several.
    pub(crate) fn in_full(self) -> String {
        match self {
            Family::Memcached => format!("{self}, with its text protocol (not -B binary)"),
            Family::Redis => self.to_string(),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Family::Memcached => "a memcached-compatible server",
            Family::Redis => "a server of RESP such as Redis or Valkey",
        })
    }
}

/// A line that each kind answers, unless it has spoken before: a command of memcached.
const QUESTION: &[u8] = b"version\r\n";
/// Bytes that tell the kind. Source: the longest prefix below is `<!DOCTYPE HTML`, of 14.
const ENOUGH: usize = 16;

impl Peer {
    /// The kind of server that begins with these bytes, if they tell it.
    pub fn of(bytes: &[u8]) -> Option<Peer> {
        let begins = |words: &[&str]| {
            let is = |word: &&str| {
                bytes.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
            };
            words.iter().any(is)
        };
        Some(match bytes {
            // Records of TLS: change of cipher, alert, handshake, data; versions 3.0 to 3.4.
            [0x14..=0x17, 3, 0..=4, ..] => Peer::Tls,
            // SETTINGS on stream 0. Source: RFC 9113 §3.4, §4.1.
            [0, 0, _, 4, 0 | 1, 0, 0, 0, 0, ..] => Peer::Http2,
            // The first packet of a connection: the greeting of version 10, or an error.
            [_, _, 0, 0, 10 | 0xff, ..] => Peer::Mysql,
            [b'-', b'A'..=b'Z', b'A'..=b'Z', ..] | [b'$', b'-' | b'0'..=b'9', ..] => Peer::Redis,
            [b'2' | b'4' | b'5', b'0'..=b'9', b'0'..=b'9', b' ' | b'-', ..] => Peer::Mail,
            _ if begins(&["+OK", "* OK", "* BYE"]) => Peer::Mail,
            _ if begins(&["SSH-"]) => Peer::Ssh,
            _ if begins(&["HTTP/", "<!DOCTYPE HTML", "<HTML"]) => Peer::Http,
            _ if begins(&["VERSION ", "ERROR", "CLIENT_ERROR", "SERVER_ERROR"]) => Peer::Memcached,
            _ => return None,
        })
    }

    /// Asks a server of unknown kind, over a stream that gives up by itself.
    pub fn ask(stream: &mut (impl Read + Write)) -> Option<Stranger> {
        // A failed write does not matter to a server that has spoken first.
        let _ = stream.write_all(QUESTION).and_then(|()| stream.flush());
        Stranger::read(Vec::new(), "version", stream)
    }

    /// How to measure such a server, or another, where a cache of this family was expected at `server`.
    pub fn instead_of_cache(self, server: &str, family: Family) -> String {
        match self {
            Peer::Memcached if family == Family::Redis => "leave out --protocol resp".into(),
            Peer::Redis if family == Family::Memcached => "add --protocol resp".into(),
            Peer::Http => format!("measure it by taillight load web --target http://{server}/"),
            Peer::Tls => "add --tls-ca FILE, or --tls-insecure on a test bed".into(),
            Peer::Memcached | Peer::Redis => {
                "leave out --tls-ca, --tls-insecure and the other TLS options".into()
            }
            _ => format!("give the HOST:PORT of {family}"),
        }
    }

    /// The same where an HTTP server was expected at this authority.
    pub fn instead_of_web(self, server: &str) -> String {
        match self {
            Peer::Memcached => format!("measure it by taillight load cache --target {server}"),
            Peer::Redis => format!("measure it by taillight load cache --protocol resp --target {server}"),
            Peer::Tls => format!("write https://{server}/"),
            Peer::Http => format!("write http://{server}/"),
            Peer::Http2 => "add --http 2".into(),
            _ => "give the URL of an HTTP server".into(),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Peer::Memcached => "a memcached-compatible cache",
            Peer::Redis => "Redis",
            Peer::Http => "an HTTP server",
            Peer::Http2 => "an HTTP/2 server",
            Peer::Tls => "a server that expects TLS",
            Peer::Ssh => "an SSH server",
            Peer::Mail => "a mail or file server (SMTP, IMAP, POP3, FTP)",
            Peer::Mysql => "MySQL or MariaDB",
        })
    }
}

/// A server that was found where another was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Its kind.
    pub peer: Peer,
    /// The request that it answered.
    pub asked: &'static str,
    /// The beginning of its answer, printable.
    pub answer: String,
}

impl Stranger {
    /// The server that answers `asked` so, if that tells its kind.
    pub(crate) fn of(received: &[u8], asked: &'static str) -> Option<Stranger> {
        Some(Stranger { peer: Peer::of(received)?, asked, answer: excerpt(received) })
    }

    /// The same after reading on, until that must tell.
    pub(crate) fn read(
        mut received: Vec<u8>,
        asked: &'static str,
        stream: &mut impl Read,
    ) -> Option<Stranger> {
        let mut piece = [0; 512];
        while received.len() < ENOUGH {
            match stream.read(&mut piece) {
                Ok(length @ 1..) => received.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        Stranger::of(&received, asked)
    }
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: it answered '{}' with '{}'", self.peer, self.asked, self.answer)
    }
}

/// The first line of an answer as messages quote it, unprintable bytes escaped.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    /// Source: two thirds of a terminal's line of 120 characters.
    const MOST: usize = 80;
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let cut = if line.len() > MOST { "…" } else { "" };
    format!("{}{cut}", line[..line.len().min(MOST)].escape_ascii()).replace("\\'", "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Said;

    #[test]
    fn a_server_is_known_by_its_first_bytes() {
        let check = |bytes: &[u8], expect: Option<Peer>| {
            assert_eq!(Peer::of(bytes), expect, "{}", bytes.escape_ascii());
            let found = Peer::ask(&mut Said(bytes, Vec::new()));
            assert_eq!(found.map(|found| found.peer), expect, "{}", bytes.escape_ascii());
        };
        check(b"VERSION 1.6.18\r\n", Some(Peer::Memcached));
        check(b"ERROR\r\n", Some(Peer::Memcached));
        check(b"ERROR Too many open connections\r\n", Some(Peer::Memcached));
        check(b"CLIENT_ERROR unauthenticated\r\n", Some(Peer::Memcached));
        check(b"-ERR unknown command 'version', with args beginning with: \r\n", Some(Peer::Redis));
        check(b"-NOAUTH Authentication required.\r\n", Some(Peer::Redis));
        check(b"-DENIED Redis is running in protected mode\r\n", Some(Peer::Redis));
        check(b"$-1\r\n", Some(Peer::Redis));
        check(b"HTTP/1.1 400 Bad Request\r\n\r\n", Some(Peer::Http));
        check(b"<html>\r\n<head><title>400 Bad Request", Some(Peer::Http));
        check(b"<!doctype html>", Some(Peer::Http));
        check(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\x00", Some(Peer::Http2));
        check(b"\x15\x03\x01\x00\x02\x02\x46", Some(Peer::Tls));
        check(b"\x15\x03\x03\x00\x02\x02\x0a", Some(Peer::Tls));
        check(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", Some(Peer::Ssh));
        check(b"220 mail.example ESMTP Postfix\r\n", Some(Peer::Mail));
        check(b"554-mx refused\r\n", Some(Peer::Mail));
        check(b"* OK [CAPABILITY IMAP4rev1]\r\n", Some(Peer::Mail));
        check(b"+OK POP3 ready\r\n", Some(Peer::Mail));
        check(b"\x5b\x00\x00\x00\x0a5.5.5-10.11.6-MariaDB\x00", Some(Peer::Mysql));
        check(b"\x46\x00\x00\x00\xff\x6a\x04Host '10.0.0.1' is not allowed", Some(Peer::Mysql));
        check(b"", None);
        check(b"hello\r\n", None);
        check(b"-1\r\n", None);
        check(b"220", None);
    }

    #[test]
    fn an_excerpt_is_one_printable_line() {
        assert_eq!(excerpt(b"-ERR 'x'\r\nmore"), "-ERR 'x'");
        assert_eq!(excerpt(b"\x15\x03\x01"), "\\x15\\x03\\x01");
        assert_eq!(excerpt(&[b'a'; 200]).chars().count(), 81);
        assert_eq!(excerpt(b""), "");
    }
}
