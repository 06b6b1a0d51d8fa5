use crate::digits::read_u64;
use crate::scan::find;

/// One reply to a meta command. Slices point into the bytes that were parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaReply<'b> {
    /// The result.
    pub code: MetaCode,
    /// The value, after [`MetaCode::Value`] only.
    pub data: Option<&'b [u8]>,
    /// The words after the code, and after the length of a value.
    pub(super) words: &'b [u8],
}

/// The two letters that a reply to a meta command starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaCode {
    /// `VA`: a value follows.
    Value,
    /// `HD`: done, and no value was requested.
    Done,
    /// `EN`: `mg` or `me` found no item.
    Miss,
    /// `NF`: no item to change.
    NotFound,
    /// `NS`: the condition of `ms` did not hold.
    NotStored,
    /// `EX`: the item has another unique number.
    Exists,
    /// `MN`: to `mn`.
    NoOp,
    /// `ME`: the answer of `me` for an item.
    Debug,
}

impl MetaCode {
    /// Reads the code of a line; `None` if it has none.
    #[inline]
    pub(super) fn of(line: &[u8]) -> Option<MetaCode> {
        let (code, rest) = line.split_at_checked(2)?;
        if !(rest.is_empty() || rest[0] == b' ') {
            return None;
        }
        Some(match code {
            b"VA" => MetaCode::Value,
            b"HD" => MetaCode::Done,
            b"EN" => MetaCode::Miss,
            b"NF" => MetaCode::NotFound,
            b"NS" => MetaCode::NotStored,
            b"EX" => MetaCode::Exists,
            b"MN" => MetaCode::NoOp,
            b"ME" => MetaCode::Debug,
            _ => return None,
        })
    }
}

impl<'b> MetaReply<'b> {
    /// Each flag's letter and its token, in the server's order; `W`, `X` and `Z` are answers only.
    ///
    /// Bounds: not for [`MetaCode::Debug`], whose words are `name=value`; see [`MetaReply::words`].
    pub fn flags(&self) -> impl Iterator<Item = (u8, &'b [u8])> + use<'b> {
        flags(self.words)
    }

    /// The flag's token; `None` if the flag is absent.
    pub fn flag(&self, letter: u8) -> Option<&'b [u8]> {
        self.flags().find(|(l, _)| *l == letter).map(|(_, token)| token)
    }

    /// The flag's token as a number; `None` if the flag is absent or its token is not a number.
    pub fn number(&self, letter: u8) -> Option<u64> {
        self.flag(letter).and_then(read_u64)
    }

    /// All words after the code, and after a value's length, as the server wrote them.
    pub fn words(&self) -> &'b [u8] {
        self.words
    }
}

/// The flags among `words`.
pub(super) fn flags(words: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    words.split(|&b| b == b' ').filter_map(|word| word.split_first()).map(|(letter, token)| (*letter, token))
}

/// The length and the flags of a line `VA <length> <flags>*`; `None` for other lines.
#[inline]
pub(super) fn value_line(line: &[u8]) -> Option<(u64, &[u8])> {
    let rest = line.strip_prefix(b"VA ")?;
    match find(b' ', rest) {
        Some(blank) => Some((read_u64(&rest[..blank])?, &rest[blank + 1..])),
        None => Some((read_u64(rest)?, b"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_codes() {
        let check = |line: &str, expect: Option<MetaCode>| {
            assert_eq!(MetaCode::of(line.as_bytes()), expect, "{line}")
        };
        check("HD", Some(MetaCode::Done));
        check("HD c5", Some(MetaCode::Done));
        check("VA 3 v", Some(MetaCode::Value));
        check("EN", Some(MetaCode::Miss));
        check("NF q", Some(MetaCode::NotFound));
        check("NS", Some(MetaCode::NotStored));
        check("EX", Some(MetaCode::Exists));
        check("MN", Some(MetaCode::NoOp));
        check("ME k exp=-1", Some(MetaCode::Debug));
        check("END", None);
        check("H", None);
        check("hd", None);
        check("", None);
    }

    #[test]
    fn reads_value_lines() {
        let check = |line: &str, expect: Option<(u64, &str)>| {
            let got = value_line(line.as_bytes()).map(|(n, rest)| (n, std::str::from_utf8(rest).unwrap()));
            assert_eq!(got, expect, "{line}");
        };
        check("VA 3", Some((3, "")));
        check("VA 3 kfoo c5", Some((3, "kfoo c5")));
        check("VA 3 ", Some((3, "")));
        check("VA", None);
        check("VA -3", None);
        check("VA x", None);
        check("VALUE k 0 3", None);
    }

    #[test]
    fn finds_flags() {
        let reply = MetaReply { code: MetaCode::Done, data: None, words: b"c5  kfoo W t-1" };
        assert_eq!(reply.number(b'c'), Some(5));
        assert_eq!(reply.flag(b'k'), Some(&b"foo"[..]));
        assert_eq!(reply.flag(b'W'), Some(&b""[..]));
        assert_eq!((reply.flag(b't'), reply.number(b't')), (Some(&b"-1"[..]), None));
        assert_eq!(reply.flag(b'v'), None);
        assert_eq!(reply.flags().count(), 4);
    }
}
