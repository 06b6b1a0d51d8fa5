//! The lines of the meta commands.
//!
//! Of several errors the same one is reported as by memcached: the last wrong argument, unless an unknown or duplicate
//! flag comes before the line's end. Source: memcached 1.6.45's `_meta_flag_preparse`.

use crate::limits;
use crate::server::base64::{self, BINARY_KEY_MAX};
use crate::server::meta_flags::{Word, read_word};
use crate::server::parser::joins;
use crate::server::refusal::Refusal;
use crate::server::request::next_word;
use crate::server::{MetaFlags, number};

/// Which meta command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVerb {
    /// `mg`.
    Get,
    /// `ms`.
    Set,
    /// `md`.
    Delete,
    /// `ma`.
    Count,
    /// `me`.
    Debug,
}

/// The key of a meta command, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaKey<'b> {
    text: &'b [u8],
    binary: bool,
}

impl<'b> MetaKey<'b> {
    /// Whether it is written in base 64, because of a flag `b`.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// The key itself, decoded into `room` if need be.
    pub fn read<'k>(&self, room: &'k mut [u8; BINARY_KEY_MAX]) -> &'k [u8]
    where
        'b: 'k,
    {
        if !self.binary {
            return self.text;
        }
        // The parser has ensured that it is valid.
        let length = base64::decode(self.text, room).unwrap_or_default();
        &room[..length]
    }
}

/// A meta command. Slices point into the bytes that were parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta<'b> {
    /// Which.
    pub verb: MetaVerb,
    /// The key.
    pub key: MetaKey<'b>,
    /// From the flags to the end of the value, in one piece so that it can be passed on as one.
    pub arguments: &'b [u8],
    /// The length of the flags at the start of `arguments`.
    pub flags_len: usize,
    /// The length of the value at their end; 0 for all but `ms`.
    pub data_len: usize,
}

impl<'b> Meta<'b> {
    /// The flags; the parser has checked that they are valid and free of duplicates.
    pub fn flags(&self) -> MetaFlags<'b> {
        MetaFlags::new(self.verb, &self.arguments[..self.flags_len])
    }

    /// The value of `ms`.
    pub fn data(&self) -> &'b [u8] {
        &self.arguments[self.arguments.len() - self.data_len..]
    }
}

pub(super) enum MetaLine<'b> {
    Whole(Meta<'b>),
    /// `ms`: a value follows.
    Value(MetaSet<'b>),
    /// It is wrong; a value of that length follows and is to be dropped.
    Refused(Refusal, Option<usize>),
}

/// `ms`, of which the value is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaSet<'b> {
    /// The key.
    pub key: MetaKey<'b>,
    /// The client's own number, which counts in the item's size.
    pub flags: u32,
    /// The flags, to the end of the line.
    pub words: &'b [u8],
    /// The length of the value. Units: bytes.
    pub length: usize,
    /// The length of the decoded key.
    pub(super) key_len: usize,
    /// Whether an opaque token is too long, which is found once the value has a place.
    pub(super) opaque_too_long: bool,
}

impl MetaSet<'_> {
    /// Whether it appends or prepends.
    #[cold]
    pub fn joins(&self) -> bool {
        joins(self.words)
    }
}

/// Words, the command and its key among them, that memcached reads.
const WORDS_MAX: usize = 20;

/// Reads the words after the command.
pub(super) fn read(verb: MetaVerb, line: &[u8]) -> MetaLine<'_> {
    let bad_format = MetaLine::Refused(Refusal::BadFormat, None);
    let mut rest = line;
    let Some(text) = next_word(&mut rest) else { return bad_format };
    let (mut length, mut words_before) = (None, 2);
    if verb == MetaVerb::Set {
        // As for `set`, bytes after a line without a length are read as commands.
        let number = next_word(&mut rest).and_then(number::strict_i32);
        let number = number.filter(|number| (0..=i32::MAX - 2).contains(number));
        let Some(number) = number else { return bad_format };
        length = Some(number as usize);
        words_before = 3;
    }
    let mut words = rest;
    let mut count = words_before;
    while let Some(word) = next_word(&mut words) {
        // Where memcached splits the line it takes no word for a flag that begins otherwise, and the line for none.
        if !matches!(word[0], b'A'..=b'z' | b'0'..=b'9') {
            return bad_format;
        }
        count += 1;
    }
    if verb == MetaVerb::Debug {
        return if text.len() > limits::KEY_MAX { bad_format } else { debug(text, rest) };
    }
    let checked = if text.len() > limits::KEY_MAX {
        Err(told(verb, Refusal::BadFormat))
    } else if count > WORDS_MAX {
        Err(told(verb, Refusal::FlagsTooLong))
    } else {
        check(verb, text, rest)
    };
    let checked = match checked {
        Ok(checked) => checked,
        Err(refusal) => return MetaLine::Refused(refusal, length),
    };
    let key = MetaKey { text, binary: checked.binary };
    match length {
        Some(length) => {
            let Checked { key_len, flags, opaque_too_long, .. } = checked;
            MetaLine::Value(MetaSet { key, key_len, flags, words: rest, length, opaque_too_long })
        }
        None => MetaLine::Whole(Meta { verb, key, arguments: rest, flags_len: rest.len(), data_len: 0 }),
    }
}

/// `me` knows one flag, in one place.
fn debug<'b>(text: &'b [u8], mut rest: &'b [u8]) -> MetaLine<'b> {
    let binary = next_word(&mut rest) == Some(b"b");
    if binary && base64::decode(text, &mut [0; BINARY_KEY_MAX]).is_none() {
        return MetaLine::Refused(Refusal::BadFormat, None);
    }
    let key = MetaKey { text, binary };
    MetaLine::Whole(Meta { verb: MetaVerb::Debug, key, arguments: b"", flags_len: 0, data_len: 0 })
}

/// The flags that concern the parser.
struct Checked {
    binary: bool,
    key_len: usize,
    flags: u32,
    opaque_too_long: bool,
}

fn check(verb: MetaVerb, key: &[u8], mut words: &[u8]) -> Result<Checked, Refusal> {
    let mut checked = Checked { binary: false, key_len: key.len(), flags: 0, opaque_too_long: false };
    let (mut wrong, mut late, mut seen) = (None, None, 0u128);
    while let Some(word) = next_word(&mut words) {
        let letter = word[0];
        if letter >= 127 || seen & 1 << letter != 0 {
            return Err(told(verb, Refusal::DuplicateFlag));
        }
        seen |= 1 << letter;
        match read_word(verb, word) {
            Word::Unknown => return Err(told(verb, Refusal::InvalidFlag)),
            Word::Wrong(refusal) => wrong = Some(refusal),
            Word::WrongNumber => wrong = wrong.or(Some(Refusal::BadFormat)),
            Word::WrongMode(refusal) => late = Some(refusal),
            Word::Ignored => {}
            Word::Flag(flag) => match flag {
                crate::MetaFlag::Base64Key => {
                    checked.binary = true;
                    match base64::decode(key, &mut [0; BINARY_KEY_MAX]) {
                        Some(length) => checked.key_len = length,
                        None => wrong = Some(Refusal::BadKey),
                    }
                }
                crate::MetaFlag::Flags(flags) => checked.flags = flags,
                crate::MetaFlag::Opaque(token) => {
                    checked.opaque_too_long |= token.len() > limits::OPAQUE_MAX;
                }
                _ => {}
            },
        }
    }
    match (wrong, late) {
        (Some(refusal), _) => Err(told(verb, refusal)),
        (None, Some(refusal)) => Err(refusal),
        // The other commands detect it while they answer, after the flags before it have taken effect.
        (None, None) if verb == MetaVerb::Delete && checked.opaque_too_long => Err(Refusal::OpaqueTooLong),
        (None, None) => Ok(checked),
    }
}

/// `ma` has one sentence for all that is wrong with flags.
fn told(verb: MetaVerb, refusal: Refusal) -> Refusal {
    match verb {
        MetaVerb::Count => Refusal::BadFlags,
        _ => refusal,
    }
}
