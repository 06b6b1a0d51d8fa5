//! The lines of the meta commands.
//!
//! Which complaint wins where several things are wrong is memcached's: the last wrong argument, unless a flag that is
//! unknown or stands twice comes before the line's end. Source: memcached 1.6's `_meta_flag_preparse`.

use crate::limits;
use crate::server::base64::{self, BINARY_KEY_MAX};
use crate::server::meta_flags::{Word, read_word};
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
        // The parser has seen to it that there is one.
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
    /// The flags, of which the parser has made sure that each can be read and that none stands twice.
    pub fn flags(&self) -> MetaFlags<'b> {
        MetaFlags::new(self.verb, &self.arguments[..self.flags_len])
    }

    /// The value of `ms`.
    pub fn data(&self) -> &'b [u8] {
        &self.arguments[self.arguments.len() - self.data_len..]
    }
}

/// What a line of a meta command says.
pub(super) enum MetaLine<'b> {
    /// The whole request.
    Whole(Meta<'b>),
    /// `ms`: a value follows.
    Value(MetaStore<'b>),
    /// It is wrong; a value of that length follows and is to be dropped.
    Refused(Refusal, Option<usize>),
}

/// `ms` without its value.
#[derive(Clone, Copy)]
pub(super) struct MetaStore<'b> {
    pub(super) key: MetaKey<'b>,
    /// The length of what the key stands for.
    pub(super) key_len: usize,
    /// The client's own number, which counts in the item's size.
    pub(super) flags: u32,
    /// The flags, to the end of the line.
    pub(super) words: &'b [u8],
    /// The length of the value.
    pub(super) length: usize,
}

/// More words, the command and its key among them, than memcached reads.
const WORDS_MAX: usize = 20;

/// Reads what stands behind the command.
pub(super) fn read(verb: MetaVerb, line: &[u8]) -> MetaLine<'_> {
    let refused = |refusal| MetaLine::Refused(refusal, None);
    let mut rest = line;
    let Some(text) = next_word(&mut rest) else {
        return refused(if verb == MetaVerb::Debug { Refusal::BadFormat } else { Refusal::Unknown });
    };
    if text.len() > limits::KEY_MAX {
        return refused(Refusal::BadFormat);
    }
    if verb == MetaVerb::Debug {
        return debug(text, rest);
    }
    let mut words = rest;
    if std::iter::from_fn(|| next_word(&mut words)).count() + 2 >= WORDS_MAX {
        return refused(if verb == MetaVerb::Get { Refusal::FlagsAreTooLong } else { Refusal::FlagsTooLong });
    }
    let mut length = None;
    if verb == MetaVerb::Set {
        // As for `set`, what follows a line without a length is read as commands.
        let number = next_word(&mut rest).and_then(number::read);
        let number = number.filter(|number| (0..=i128::from(i32::MAX - 2)).contains(number));
        let Some(number) = number else { return refused(Refusal::BadFormat) };
        length = Some(number as usize);
    }
    let checked = match check(verb, text, rest) {
        Ok(checked) => checked,
        Err(refusal) => return MetaLine::Refused(refusal, length),
    };
    let key = MetaKey { text, binary: checked.binary };
    match length {
        Some(length) => {
            let Checked { key_len, flags, .. } = checked;
            MetaLine::Value(MetaStore { key, key_len, flags, words: rest, length })
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

/// What the parser has to know of the flags.
struct Checked {
    binary: bool,
    key_len: usize,
    flags: u32,
}

fn check(verb: MetaVerb, key: &[u8], mut words: &[u8]) -> Result<Checked, Refusal> {
    let mut checked = Checked { binary: false, key_len: key.len(), flags: 0 };
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
                // `mg` and `ma` find it when they answer, after what stands before it has been done.
                crate::MetaFlag::Opaque(token)
                    if matches!(verb, MetaVerb::Set | MetaVerb::Delete)
                        && token.len() > limits::OPAQUE_MAX =>
                {
                    late = late.or(Some(Refusal::OpaqueTooLong));
                }
                _ => {}
            },
        }
    }
    match (wrong, late) {
        (Some(refusal), _) => Err(told(verb, refusal)),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Ok(checked),
    }
}

/// `md` and `ma` have one sentence for all that is wrong with flags.
fn told(verb: MetaVerb, refusal: Refusal) -> Refusal {
    match verb {
        MetaVerb::Delete | MetaVerb::Count => Refusal::BadFlags,
        _ => refusal,
    }
}
