use crate::server::MetaVerb;
use crate::server::number;
use crate::server::refusal::Refusal;
use crate::server::request::next_word;
use crate::{MetaFlag, MetaMode};

/// The flags of a meta command, in order.
///
/// Flags that mean nothing to a cache (`P`, `L`, which are for proxies) are left out.
#[derive(Clone, Debug)]
pub struct MetaFlags<'b> {
    verb: MetaVerb,
    rest: &'b [u8],
}

impl<'b> MetaFlags<'b> {
    /// The flags in `words`. Bounds: invalid ones are left out; the parser has refused them.
    pub fn new(verb: MetaVerb, words: &'b [u8]) -> MetaFlags<'b> {
        MetaFlags { verb, rest: words }
    }
}

impl<'b> Iterator for MetaFlags<'b> {
    type Item = MetaFlag<'b>;

    fn next(&mut self) -> Option<MetaFlag<'b>> {
        loop {
            if let Word::Flag(flag) = read_word(self.verb, next_word(&mut self.rest)?) {
                return Some(flag);
            }
        }
    }
}

/// One parsed word of the flags.
pub(super) enum Word<'b> {
    Flag(MetaFlag<'b>),
    /// It is known and means nothing here.
    Ignored,
    Unknown,
    Wrong(Refusal),
    /// Its argument is not a number, for which memcached has no error of its own.
    WrongNumber,
    /// The command has no such mode, which is reported after all other flags were read.
    WrongMode(Refusal),
}

/// Reads a word that is not empty.
#[inline]
pub(super) fn read_word(verb: MetaVerb, word: &[u8]) -> Word<'_> {
    use MetaFlag as F;
    let (&letter, argument) = word.split_first().expect("a word is not empty");
    let signed =
        |make: fn(i32) -> F<'static>| match number::strict_i32(argument).filter(|_| !argument.is_empty()) {
            Some(number) => Word::Flag(make(number)),
            None => Word::Wrong(Refusal::BadToken),
        };
    let unsigned = |make: fn(u64) -> F<'static>, refusal| match number::strict_u64(argument) {
        Some(number) => Word::Flag(make(number)),
        None => Word::Wrong(refusal),
    };
    Word::Flag(match letter {
        b'b' => F::Base64Key,
        b'c' => F::ReturnCas,
        b'f' => F::ReturnFlags,
        b'h' => F::ReturnHitBefore,
        b'I' => F::Invalidate,
        b'k' => F::ReturnKey,
        b'l' => F::ReturnLastAccess,
        b'q' => F::Quiet,
        b's' => F::ReturnSize,
        b't' => F::ReturnTtl,
        b'u' => F::NoBump,
        b'v' => F::ReturnValue,
        b'x' => F::RemoveValue,
        b'O' => F::Opaque(argument),
        b'N' => return signed(F::Vivify),
        b'R' => return signed(F::Recache),
        b'T' => return signed(F::Ttl),
        b'C' => return unsigned(F::CompareCas, Refusal::BadToken),
        b'E' => return unsigned(F::NewCas, Refusal::BadToken),
        b'J' => return unsigned(F::InitialValue, Refusal::BadInitial),
        b'D' => return unsigned(F::Delta, Refusal::BadMetaDelta),
        b'F' => match number::strict_u32(argument) {
            Some(flags) => F::Flags(flags),
            None => return Word::WrongNumber,
        },
        b'M' => return mode(verb, argument),
        b'L' | b'P' => return Word::Ignored,
        _ => return Word::Unknown,
    })
}

/// Only the letter after `M` counts; without one the mode is invalid.
fn mode(verb: MetaVerb, argument: &[u8]) -> Word<'_> {
    let mode = match (verb, argument.first()) {
        (MetaVerb::Set, Some(b'E')) => MetaMode::Add,
        (MetaVerb::Set, Some(b'A')) => MetaMode::Append,
        (MetaVerb::Set, Some(b'P')) => MetaMode::Prepend,
        (MetaVerb::Set, Some(b'R')) => MetaMode::Replace,
        (MetaVerb::Set, Some(b'S')) => MetaMode::Set,
        (MetaVerb::Set, _) => return Word::WrongMode(Refusal::SetMode),
        (MetaVerb::Count, Some(b'I' | b'+')) => MetaMode::Increment,
        (MetaVerb::Count, Some(b'D' | b'-')) => MetaMode::Decrement,
        (MetaVerb::Count, _) => return Word::WrongMode(Refusal::CountMode),
        _ => return Word::Ignored,
    };
    Word::Flag(MetaFlag::Mode(mode))
}
