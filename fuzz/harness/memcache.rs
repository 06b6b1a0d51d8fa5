//! Fuzzing harness: runs each parser on the same bytes whole and in pieces; the results must be equal.
//!
//! Try it: `cargo test -p proto-memcache --test corpus`.

use std::collections::BTreeMap;

use proto_memcache::binary::{self, Command};
use proto_memcache::client::udp::{Arrived, Defect, Header, Reassembly};
use proto_memcache::client::{self, Expect, MetaCode, ResponseParser};
use proto_memcache::server::{self, Request, RequestParser};

/// The longest input that is looked at; the square of it is tried. Units: bytes.
const LENGTH_MAX: usize = 4096;

/// Parses requests in two ways: each prefix shown as it grows byte by byte, and all at once.
///
/// Panics where the two differ, or where something is promised that does not hold.
pub(crate) fn server_requests(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let whole = requests(bytes, bytes.len().max(1));
    for step in [1, 3] {
        assert_eq!(requests(bytes, step), whole, "in steps of {step}");
    }
}

/// Every request, as text, when the bytes come in steps of that many, and how many bytes are left over.
fn requests(bytes: &[u8], step: usize) -> (Vec<String>, usize) {
    let mut parser = RequestParser::default();
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        match parser.parse(&bytes[start..end]) {
            server::RequestParse::NeedMore { at_least } => {
                assert!(at_least > 0);
                assert_eq!(parser.needed(), end - start + at_least);
                if end == bytes.len() {
                    return (seen, bytes.len() - start);
                }
                end = (end + step).min(bytes.len());
            }
            server::RequestParse::Skipped { consumed } => {
                assert!(consumed > 0);
                start += consumed;
            }
            server::RequestParse::Done { consumed, request } => {
                assert!(consumed > 0);
                if let Request::Get { keys, .. } = &request {
                    let count = keys.clone().map(|key| assert!(!key.is_empty() && key.len() <= 250)).count();
                    assert_eq!(count, keys.len());
                    // The keys borrow from different buffers, but their bytes must be equal.
                    seen.push(format!("{:?}", keys.clone().collect::<Vec<_>>()));
                } else if let Request::Meta(meta) = &request {
                    let mut room = [0; server::BINARY_KEY_MAX];
                    let key = meta.key.read(&mut room);
                    assert!(!key.is_empty() && key.len() <= 250);
                    let flags: Vec<String> = meta.flags().map(|flag| format!("{flag:?}")).collect();
                    seen.push(format!("{:?} {key:?} {flags:?} {:?}", meta.verb, meta.data()));
                } else {
                    seen.push(format!("{request:?}"));
                }
                start += consumed;
            }
            server::RequestParse::Close(reason) => {
                seen.push(format!("{reason:?}"));
                return (seen, 0);
            }
        }
    }
}

/// Parses binary requests in two ways, as [`server_requests`] does, of a client that is known and of one that is not. The
/// first byte gives the largest item size.
pub(crate) fn binary_requests(bytes: &[u8]) {
    let [size, bytes @ ..] = bytes else { return };
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let item_max = 60 + 8 * usize::from(*size);
    for known in [true, false] {
        let whole = binary_commands(bytes, bytes.len().max(1), known, item_max);
        for step in [1, 3] {
            assert_eq!(binary_commands(bytes, step, known, item_max), whole, "in steps of {step}");
        }
    }
}

/// Every command, as text, when the bytes come in steps of that many, and how many bytes are left over.
fn binary_commands(bytes: &[u8], step: usize, known: bool, item_max: usize) -> (Vec<String>, usize) {
    let mut parser = binary::BinaryParser::with_item_max(item_max);
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        match parser.parse(&bytes[start..end], known) {
            binary::BinaryParse::NeedMore { at_least } => {
                assert!(at_least > 0);
                assert_eq!(parser.needed(), end - start + at_least);
                let lead = binary::HEADER + 20 + 250;
                let most = if known { item_max } else { binary::MECHANISM_MAX + binary::PLAIN_MAX };
                assert!(
                    parser.needed() <= lead + most.max(binary::PLAIN_MAX),
                    "{} bytes are kept",
                    parser.needed()
                );
                if end == bytes.len() {
                    return (seen, bytes.len() - start);
                }
                end = (end + step).min(bytes.len());
            }
            binary::BinaryParse::Skipped { consumed } => {
                assert!(consumed > 0);
                start += consumed;
            }
            binary::BinaryParse::Done { consumed, request } => {
                assert!(consumed > 0 && bytes[start] == binary::REQUEST);
                seen.push(format!("{request:?}"));
                start += consumed;
                if let Command::Refused { closes: true, .. } = request.command {
                    return (seen, 0);
                }
                if !known {
                    let is_open = matches!(
                        request.command,
                        Command::Version
                            | Command::SaslMechanisms
                            | Command::Sasl { .. }
                            | Command::Refused { .. }
                    );
                    assert!(is_open, "{request:?}");
                }
            }
            binary::BinaryParse::Close => {
                seen.push("closed".into());
                return (seen, 0);
            }
        }
    }
}

/// Reads binary responses in two ways, as [`server_requests`] does.
pub(crate) fn binary_responses(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let whole = binary_answers(bytes, bytes.len().max(1));
    for step in [1, 3] {
        assert_eq!(binary_answers(bytes, step), whole, "in steps of {step}");
    }
}

fn binary_answers(bytes: &[u8], step: usize) -> (Vec<String>, usize) {
    const LIMIT: usize = 2048;
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        match binary::testing::read(&bytes[start..end], LIMIT) {
            binary::testing::Read::NeedMore { at_least } => {
                assert!(at_least > 0 && end - start + at_least <= binary::HEADER + LIMIT);
                if end == bytes.len() {
                    return (seen, bytes.len() - start);
                }
                end = (end + step).min(bytes.len());
            }
            binary::testing::Read::Done { consumed, response } => {
                let parts = response.extras.len() + response.key.len() + response.value.len();
                assert_eq!((consumed, response.header.body as usize), (binary::HEADER + parts, parts));
                seen.push(format!("{response:?}"));
                start += consumed;
            }
            binary::testing::Read::Malformed => {
                seen.push("malformed".into());
                return (seen, 0);
            }
        }
    }
}

/// Parses responses in two ways, as [`server_requests`] does. The first byte chooses the expected response.
pub(crate) fn client_responses(bytes: &[u8]) {
    let [kind, bytes @ ..] = bytes else { return };
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let expect = match kind % 8 {
        0 => Expect::Values { keys: u32::from(kind / 8) },
        1 => Expect::Stored,
        2 => Expect::Deleted,
        3 => Expect::Counter,
        4 => Expect::Touched,
        5 => Expect::Ok,
        6 => Expect::Version,
        _ => Expect::Stats,
    };
    in_pieces(expect, bytes);
}

/// Parses replies to meta commands, as [`client_responses`] does. The first byte is the number of keys
/// requested together, 0 for one command.
pub(crate) fn client_meta_responses(bytes: &[u8]) {
    let [keys, bytes @ ..] = bytes else { return };
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    in_pieces(if *keys == 0 { Expect::Meta } else { Expect::MetaValues { keys: u32::from(*keys) } }, bytes);
}

fn in_pieces(expect: Expect, bytes: &[u8]) {
    let whole = responses(expect, bytes, bytes.len().max(1));
    for step in [1, 3] {
        assert_eq!(responses(expect, bytes, step), whole, "in steps of {step}");
    }
}

fn responses(expect: Expect, bytes: &[u8], step: usize) -> (Vec<String>, usize) {
    let mut parser = ResponseParser::default();
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        match parser.parse(expect, &bytes[start..end]) {
            client::Parse::NeedMore { at_least } => {
                assert!(at_least > 0);
                if end == bytes.len() {
                    return (seen, bytes.len() - start);
                }
                end = (end + step).min(bytes.len());
            }
            client::Parse::Done { consumed, outcome } => {
                assert!(consumed > 0);
                if let client::Outcome::Values(values) = outcome {
                    assert_eq!(values.iter().count(), values.hits() as usize);
                    let length: u64 = values.iter().map(|value| value.data.len() as u64).sum();
                    assert_eq!(length, values.value_bytes());
                }
                if let client::Outcome::Meta(reply) = outcome {
                    assert_eq!(reply.code == MetaCode::Value, reply.data.is_some());
                    reply.flags().for_each(|(letter, _)| assert!(reply.flag(letter).is_some()));
                }
                if let client::Outcome::Stats(stats) = outcome {
                    stats.iter().for_each(|(name, _)| _ = stats.get(&String::from_utf8_lossy(name)));
                }
                seen.push(format!("{outcome:?}"));
                start += consumed;
            }
            client::Parse::Malformed(reason) => {
                seen.push(format!("{reason}"));
                return (seen, 0);
            }
        }
    }
}

/// Puts datagrams together, and compares with a plain map from number to payload. Each datagram stands behind one
/// byte with its length.
pub(crate) fn udp_replies(bytes: &[u8]) {
    const LIMIT: usize = 512;
    let mut rest = &bytes[..bytes.len().min(LENGTH_MAX)];
    let mut reassembly = Reassembly::default();
    let (mut parts, mut count) = (BTreeMap::new(), None);
    while let Some((&length, after)) = rest.split_first() {
        let (datagram, after) = after.split_at(after.len().min(usize::from(length)));
        rest = after;
        let arrived = reassembly.push(datagram, LIMIT);
        let Some((header, payload)) = Header::read(datagram) else {
            assert_eq!(arrived, Arrived::Broken(Defect::Short { length: datagram.len() }));
            continue;
        };
        let kept: usize = parts.values().map(|part: &Vec<u8>| part.len()).sum();
        if header.sequence >= header.count
            || count.is_some_and(|count| count != header.count)
            || kept + payload.len() > LIMIT
            || (header.count > 1 && usize::from(header.count) > LIMIT)
        {
            assert!(matches!(arrived, Arrived::Broken(_)), "{header:?}: {arrived:?}");
            continue;
        }
        if parts.contains_key(&header.sequence) {
            assert_eq!(arrived, Arrived::Duplicate);
            continue;
        }
        let late = parts.keys().next_back().is_some_and(|&highest| highest > header.sequence);
        count = Some(header.count);
        parts.insert(header.sequence, payload.to_vec());
        if parts.len() < usize::from(header.count) {
            assert_eq!(arrived, Arrived::Partial { late });
            continue;
        }
        let whole: Vec<u8> = parts.values().flatten().copied().collect();
        assert_eq!(arrived, Arrived::Whole { reply: &whole, late });
        (parts, count) = (BTreeMap::new(), None);
    }
}
