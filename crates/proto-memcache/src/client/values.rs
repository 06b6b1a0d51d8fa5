use crate::client::malformed::{Excerpt, Malformed};
use crate::client::meta_reply::{self, value_line};
use crate::digits::read_u64;
use crate::scan::find;

/// One item of a response to `get`, `gets`, or a get of many keys by meta commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'b> {
    /// The key, as the server repeats it; empty in a meta reply that was not asked for it.
    pub key: &'b [u8],
    /// The client's own number, stored with the item.
    pub flags: u32,
    /// The item's unique number, if `gets` asked for it.
    pub cas: Option<u64>,
    /// The value.
    pub data: &'b [u8],
}

/// The items of a complete response; keys that the server lacks are absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values<'b> {
    /// Whole `VALUE` or `VA` blocks, already checked; lines between the latter say nothing.
    pub(super) blocks: &'b [u8],
    pub(super) hits: u32,
    pub(super) value_bytes: u64,
}

impl<'b> Values<'b> {
    /// How many of the keys the server had.
    pub fn hits(&self) -> u32 {
        self.hits
    }

    /// The length of all values together, without keys and headers. Units: bytes.
    pub fn value_bytes(&self) -> u64 {
        self.value_bytes
    }

    /// The items in the order of the response. Cost: reads the headers a second time.
    pub fn iter(&self) -> impl Iterator<Item = Value<'b>> + use<'b> {
        let mut rest = self.blocks;
        std::iter::from_fn(move || {
            loop {
                let newline = find(b'\n', rest)?;
                let line = rest[..newline].strip_suffix(b"\r")?;
                rest = &rest[newline + 1..];
                let header = match line.starts_with(Header::START) {
                    true => Header::read(line).ok()?,
                    false => match Header::read_meta(line) {
                        Some(header) => header,
                        None => continue,
                    },
                };
                let (data, after) = rest.split_at_checked(header.length as usize)?;
                rest = after.strip_prefix(b"\r\n")?;
                return Some(Value { key: header.key, flags: header.flags, cas: header.cas, data });
            }
        })
    }
}

/// The line before a value: `VALUE <key> <flags> <bytes> [<unique>]`.
pub(super) struct Header<'b> {
    pub(super) key: &'b [u8],
    pub(super) flags: u32,
    pub(super) length: u64,
    pub(super) cas: Option<u64>,
}

impl<'b> Header<'b> {
    /// The start of a header.
    pub(super) const START: &'static [u8] = b"VALUE ";

    /// Reads a line that is without its end.
    #[inline]
    pub(super) fn read(line: &'b [u8]) -> Result<Header<'b>, Malformed> {
        Self::fields(line).ok_or_else(|| Malformed::BadHeader { line: Excerpt::of(line) })
    }

    /// Reads `VA <bytes> <flags>*`, of which it takes the key, the client's number and the unique number.
    pub(super) fn read_meta(line: &'b [u8]) -> Option<Header<'b>> {
        let (length, words) = value_line(line)?;
        let mut header = Header { key: b"", flags: 0, length, cas: None };
        for (letter, token) in meta_reply::flags(words) {
            match letter {
                b'k' => header.key = token,
                b'f' => header.flags = u32::try_from(read_u64(token)?).ok()?,
                b'c' => header.cas = Some(read_u64(token)?),
                _ => {}
            }
        }
        Some(header)
    }

    #[inline]
    fn fields(line: &'b [u8]) -> Option<Header<'b>> {
        let (key, rest) = word(line.strip_prefix(Self::START)?)?;
        let (flags, rest) = word(rest)?;
        let flags = u32::try_from(read_u64(flags)?).ok()?;
        let (length, cas) = match word(rest) {
            Some((length, cas)) => (length, Some(read_u64(cas)?)),
            None => (rest, None),
        };
        let length = read_u64(length)?;
        (!key.is_empty()).then_some(Header { key, flags, length, cas })
    }
}

#[inline]
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = find(b' ', line)?;
    Some((&line[..space], &line[space + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_headers() {
        let check = |line: &str, expect: Option<(&str, u32, u64, Option<u64>)>| {
            let got = Header::read(line.as_bytes()).ok();
            let got = got.map(|h| (std::str::from_utf8(h.key).unwrap(), h.flags, h.length, h.cas));
            assert_eq!(got, expect, "{line}");
        };
        check("VALUE k 0 5", Some(("k", 0, 5, None)));
        check("VALUE some:key 4294967295 1048576 12", Some(("some:key", u32::MAX, 1 << 20, Some(12))));
        check("VALUE k 4294967296 5", None);
        check("VALUE k 0", None);
        check("VALUE k 0 -5", None);
        check("VALUE k 0 5 6 7", None);
        check("VALUE k 0 5 ", None);
        check("VALUE  0 5", None);
        check("VALUES k 0 5", None);
        check("", None);
    }
}
