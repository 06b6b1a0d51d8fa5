//! Redis Cluster: which slot a key belongs to, which node has which slots, and where a node sends its client.

use crate::client::Reply;

/// Slots of a cluster. Source: the Redis Cluster specification.
pub const SLOTS: usize = 16_384;

/// The polynomial of CRC-16/XMODEM, which the Redis Cluster specification names.
const POLYNOMIAL: u16 = 0x1021;

/// The remainder of each byte.
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut remainder, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            remainder = (remainder << 1) ^ if remainder & 0x8000 != 0 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// The slot of a key: CRC16 of the key, or of its hash tag, the text between its first `{` and the next `}`.
///
/// Cost: about 1 ns for each byte.
#[inline]
pub fn slot(key: &[u8]) -> usize {
    let tagged = memchr::memchr(b'{', key).and_then(|open| {
        let rest = &key[open + 1..];
        memchr::memchr(b'}', rest).filter(|length| *length > 0).map(|length| &rest[..length])
    });
    let crc = tagged
        .unwrap_or(key)
        .iter()
        .fold(0u16, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]);
    usize::from(crc) % SLOTS
}

/// Appends `CLUSTER SLOTS`; [`ranges`] reads the answer.
pub fn slots(out: &mut Vec<u8>) {
    super::command(out, &[b"CLUSTER", b"SLOTS"]);
}

/// Appends `ASKING`, which lets the next command work on a slot that the node is receiving; answered by `OK`.
pub fn asking(out: &mut Vec<u8>) {
    super::command(out, &[b"ASKING"]);
}

/// Slots that one node serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'b> {
    /// The first slot. Bounds: below [`SLOTS`].
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// The node that takes writes; an empty host stands for the host of the node that answered.
    pub node: Node<'b>,
}

/// How clients reach a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'b> {
    /// Its name or address.
    pub host: &'b [u8],
    /// Its port.
    pub port: u16,
}

/// The ranges of slots in the answer to `CLUSTER SLOTS`; `None` if it is another answer.
pub fn ranges<'b>(reply: Reply<'b>) -> Option<Vec<Range<'b>>> {
    let Reply::Array(all) = reply else { return None };
    all.iter().map(range).collect()
}

fn range(reply: Reply<'_>) -> Option<Range<'_>> {
    let Reply::Array(fields) = reply else { return None };
    let mut fields = fields.iter();
    let mut slot = || match fields.next()? {
        Reply::Integer(slot) => usize::try_from(slot).ok().filter(|slot| *slot < SLOTS),
        _ => None,
    };
    let (first, last) = (slot()?, slot()?);
    let Reply::Array(node) = fields.next()? else { return None };
    let mut node = node.iter();
    let host = match node.next()? {
        Reply::Bulk(host) => host,
        Reply::Null => b"",
        _ => return None,
    };
    let Reply::Integer(port) = node.next()? else { return None };
    let node = Node { host, port: u16::try_from(port).ok()? };
    (first <= last).then_some(Range { first, last, node })
}

/// The answer of a node that a key belongs to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect<'b> {
    /// `ASK`: this command only, after [`asking`]; otherwise `MOVED`: all commands on the slot.
    pub ask: bool,
    /// The slot. Bounds: below [`SLOTS`].
    pub slot: usize,
    /// The node that has it; as in [`Range::node`].
    pub node: Node<'b>,
}

impl<'b> Redirect<'b> {
    /// Reads `MOVED slot host:port` or `ASK slot host:port`; `None` for any other error.
    pub fn of(error: &'b [u8]) -> Option<Redirect<'b>> {
        let (ask, rest) = match error.strip_prefix(b"MOVED ") {
            Some(rest) => (false, rest),
            None => (true, error.strip_prefix(b"ASK ")?),
        };
        let mut words = rest.split(|byte| *byte == b' ');
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u16>().ok();
        let slot = usize::from(number(words.next()?)?);
        let place = words.next()?;
        // An IPv6 address has colons of its own.
        let colon = memchr::memrchr(b':', place)?;
        let node = Node { host: &place[..colon], port: number(&place[colon + 1..])? };
        (slot < SLOTS && words.next().is_none()).then_some(Redirect { ask, slot, node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Parse, ReplyParser};

    /// Source: `CLUSTER KEYSLOT` of Redis 7.0.15; the first is in the Redis Cluster specification.
    #[test]
    fn slots_are_those_of_redis() {
        for (key, expect) in [
            ("123456789", 0x31c3),
            ("", 0),
            ("foo", 12182),
            ("{user1000}.following", 3443),
            ("{user1000}.followers", 3443),
            ("user1000", 3443),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("{bar", 4015),
            ("foo{bar}{zap}", 5061),
            ("bar", 5061),
        ] {
            assert_eq!(slot(key.as_bytes()), expect, "{key}");
        }
    }

    #[test]
    fn redirects_are_read() {
        let check = |error: &str, expect: Option<(bool, usize, &str, u16)>| {
            let found = Redirect::of(error.as_bytes());
            let found =
                found.map(|r| (r.ask, r.slot, std::str::from_utf8(r.node.host).unwrap(), r.node.port));
            assert_eq!(found, expect, "{error}");
        };
        check("MOVED 3999 127.0.0.1:6381", Some((false, 3999, "127.0.0.1", 6381)));
        check("ASK 3999 ::1:6381", Some((true, 3999, "::1", 6381)));
        check("MOVED 0 :6381", Some((false, 0, "", 6381)));
        check("MOVED 16384 a:1", None);
        check("MOVED 1 a", None);
        check("MOVED 1 a:65536", None);
        check("MOVED 1 a:1 more", None);
        check("MOVED", None);
        check("ERR unknown", None);
    }

    #[test]
    fn ranges_are_read() {
        let read = |text: &[u8]| match ReplyParser::default().parse(text) {
            Parse::Done { reply, .. } => ranges(reply).map(|all| {
                let node = |n: Node<'_>| format!("{}:{}", n.host.escape_ascii(), n.port);
                all.iter()
                    .map(|r| format!("{}-{} {}", r.first, r.last, node(r.node)))
                    .collect::<Vec<_>>()
                    .join(",")
            }),
            other => panic!("{other:?}"),
        };
        let two = b"*2\r\n*3\r\n:0\r\n:99\r\n*4\r\n$9\r\n127.0.0.1\r\n:7000\r\n$2\r\nid\r\n*0\r\n*3\r\n:100\r\n:16383\r\n*2\r\n$-1\r\n:7001\r\n";
        assert_eq!(read(two).as_deref(), Some("0-99 127.0.0.1:7000,100-16383 :7001"));
        assert_eq!(read(b"*0\r\n").as_deref(), Some(""));
        assert_eq!(read(b"*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$0\r\n\r\n:1\r\n"), None);
        assert_eq!(read(b"*1\r\n*3\r\n:5\r\n:16384\r\n*2\r\n$0\r\n\r\n:1\r\n"), None);
        assert_eq!(read(b"*1\r\n*1\r\n:5\r\n"), None);
        assert_eq!(read(b"+OK\r\n"), None);
    }
}
