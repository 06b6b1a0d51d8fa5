//! Counters of a service that answers them by a call of Thrift's: one method without arguments, answered by a map of numbers.
//!
//! Source: "Thrift Binary protocol encoding" and "Thrift Framed transport" of Apache Thrift's specification, doc/specs.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest answer that is read: counters take some KiB.
const ANSWER: u32 = 4 << 20;
/// Version 1 with the type of a call, and of a reply.
const CALL: u32 = 0x8001_0001;
const REPLY: u32 = 0x8001_0002;
/// Types of the fields that are read.
const TEXT: u8 = 11;
const I64: u8 = 10;
const MAP: u8 = 13;

/// The answer of the service at `address` to `method`.
///
/// Errors: it does not answer `within`, or with something other than a map of numbers.
pub(crate) fn asked(
    address: SocketAddr,
    method: &str,
    within: Duration,
) -> Result<BTreeMap<String, f64>, String> {
    let io = |e: std::io::Error| format!("{address}: {e}");
    let mut stream = TcpStream::connect_timeout(&address, within).map_err(io)?;
    stream.set_read_timeout(Some(within)).map_err(io)?;
    stream.set_write_timeout(Some(within)).map_err(io)?;
    stream.write_all(&call(method)).map_err(io)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).map_err(io)?;
    let length = u32::from_be_bytes(length);
    if length > ANSWER {
        return Err(format!("{address} answers {length} bytes; at most {ANSWER} are read"));
    }
    let mut answer = vec![0; length as usize];
    stream.read_exact(&mut answer).map_err(io)?;
    read(&answer).ok_or_else(|| format!("{address} does not answer {method}() by a map of numbers"))
}

/// The frame of a call without arguments.
fn call(method: &str) -> Vec<u8> {
    let mut message = CALL.to_be_bytes().to_vec();
    message.extend((method.len() as u32).to_be_bytes());
    message.extend(method.as_bytes());
    // Sequence id 0, and the end of the arguments.
    message.extend([0; 5]);
    [&(message.len() as u32).to_be_bytes()[..], &message].concat()
}

fn read(answer: &[u8]) -> Option<BTreeMap<String, f64>> {
    let mut rest = Rest(answer);
    if rest.number()? != REPLY {
        return None;
    }
    rest.text()?;
    rest.number()?;
    // The result is field 0 of the answer.
    if (rest.byte()?, rest.take(2)?) != (MAP, &[0, 0]) || (rest.byte()?, rest.byte()?) != (TEXT, I64) {
        return None;
    }
    let mut counters = BTreeMap::new();
    for _ in 0..rest.number()? {
        let name = rest.text()?;
        let value = i64::from_be_bytes(rest.take(8)?.try_into().ok()?);
        counters.insert(name, value as f64);
    }
    Some(counters)
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        String::from_utf8(self.take(length as usize)?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// An answer as a server of Thrift's writes it.
    fn answer(counters: &[(&str, i64)]) -> Vec<u8> {
        let mut bytes = [&REPLY.to_be_bytes()[..], &8u32.to_be_bytes(), b"counters", &[0; 4]].concat();
        bytes.extend([MAP, 0, 0, TEXT, I64]);
        bytes.extend((counters.len() as u32).to_be_bytes());
        for (name, value) in counters {
            bytes.extend((name.len() as u32).to_be_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend(value.to_be_bytes());
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_service_is_asked_for_its_counters() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = vec![0; 25];
            stream.read_exact(&mut asked).unwrap();
            let answer = answer(&[("requests", 7), ("edge.plot.read.ns", 1 << 40)]);
            stream.write_all(&(answer.len() as u32).to_be_bytes()).unwrap();
            stream.write_all(&answer).unwrap();
            asked
        });
        let counters = asked(address, "counters", Duration::from_secs(60)).unwrap();
        assert_eq!(counters["requests"] as i64, 7);
        assert_eq!(counters["edge.plot.read.ns"] as i64, 1 << 40);
        let expect = [&[0, 0, 0, 21, 0x80, 1, 0, 1, 0, 0, 0, 8][..], b"counters", &[0; 5]].concat();
        assert_eq!(server.join().unwrap(), expect);
    }

    #[test]
    fn what_is_no_map_of_numbers_is_refused() {
        let whole = answer(&[("a", 1), ("b", 2)]);
        assert_eq!(read(&whole).map(|found| found.len()), Some(2));
        for end in 0..whole.len() - 1 {
            assert_eq!(read(&whole[..end]), None, "{end}");
        }
        let mut exception = whole.clone();
        exception[3] = 3;
        assert_eq!(read(&exception), None);
    }
}
