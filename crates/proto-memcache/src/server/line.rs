use crate::limits;
use crate::scan::find;
use crate::server::meta::{self, MetaLine, MetaSet, MetaVerb};
use crate::server::number;
use crate::server::parser::CloseReason;
use crate::server::refusal::Refusal;
use crate::server::request::{DumpKind, Keys, Request, Shutdown, next_word};
use crate::server::tuning;
use crate::server::watch::Watched;
use crate::{Reply, StoreVerb};

pub(super) enum Line<'b> {
    Whole(Request<'b>),
    /// A value follows.
    Value(StoreLine<'b>),
    /// A value follows that belongs to `ms`.
    MetaValue(MetaSet<'b>),
    /// It is refused; a value of that length follows, and is to be dropped.
    Drop(Refusal, Reply, usize),
    /// The other side does not speak this protocol.
    Close(CloseReason),
}

/// A storage command without its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLine<'b> {
    /// Which command.
    pub verb: StoreVerb,
    /// The key.
    pub key: &'b [u8],
    /// The client's own number, stored with the value.
    pub flags: u32,
    /// As in the protocol.
    pub exptime: i32,
    /// The value's length. Units: bytes.
    pub length: usize,
    /// Whether the client wants an answer.
    pub reply: Reply,
}

/// More words than any command but `get` takes.
const WORDS_MAX: usize = 8;

/// The shortest line with its end: memcached calls all that is shorter badly formatted. Units: bytes.
pub(super) const LINE_MIN: usize = 4;

/// Reads a line that is without its end.
///
/// The command begins with the line. Source: memcached 1.6.45's `process_request`.
#[inline]
pub(super) fn read(line: &[u8]) -> Line<'_> {
    let (command, rest) = line.split_at(find(b' ', line).unwrap_or(line.len()));
    match command {
        b"get" => get(rest, false),
        b"gets" => get(rest, true),
        b"mg" => meta(MetaVerb::Get, rest),
        b"ms" => meta(MetaVerb::Set, rest),
        b"md" => meta(MetaVerb::Delete, rest),
        b"ma" => meta(MetaVerb::Count, rest),
        b"me" => meta(MetaVerb::Debug, rest),
        b"mn" => Line::Whole(Request::NoOp),
        b"gat" => get_and_touch(rest, false),
        b"gats" => get_and_touch(rest, true),
        _ => other(command, rest, line),
    }
}

fn meta(verb: MetaVerb, rest: &[u8]) -> Line<'_> {
    match meta::read(verb, rest) {
        MetaLine::Whole(meta) => Line::Whole(Request::Meta(meta)),
        MetaLine::Value(store) => Line::MetaValue(store),
        MetaLine::Refused(refusal, None) => refused(refusal, Reply::Wanted),
        MetaLine::Refused(refusal, Some(length)) => Line::Drop(refusal, Reply::Wanted, length),
    }
}

#[inline]
fn get(words: &[u8], with_cas: bool) -> Line<'_> {
    match keys(words) {
        Some(keys) if keys.len() > 0 => Line::Whole(Request::Get { keys, with_cas }),
        _ => refused(Refusal::BadFormat, Reply::Wanted),
    }
}

fn get_and_touch(words: &[u8], with_cas: bool) -> Line<'_> {
    let mut rest = words;
    let exptime = next_word(&mut rest);
    let keys = keys(rest).filter(|keys| keys.len() > 0);
    match (exptime.map(number::strict_i32), keys) {
        (Some(Some(exptime)), Some(keys)) => Line::Whole(Request::GetAndTouch { exptime, keys, with_cas }),
        // A line without a key is detected before its time is read, and an overlong key after it.
        (Some(None), keys) if keys.is_some() || next_word(&mut rest).is_some() => {
            refused(Refusal::BadExptime, Reply::Wanted)
        }
        _ => refused(Refusal::BadFormat, Reply::Wanted),
    }
}

/// The keys of a line; `None` if one is too long.
#[inline]
fn keys(words: &[u8]) -> Option<Keys<'_>> {
    let (mut rest, mut count) = (words, 0);
    while let Some(key) = next_word(&mut rest) {
        if key.len() > limits::KEY_MAX {
            return None;
        }
        count += 1;
    }
    Some(Keys::new(words, count))
}

/// The words after a command.
struct Words<'b> {
    first: [&'b [u8]; WORDS_MAX],
    /// How many there are, kept or not.
    count: usize,
    /// Whether the last one, which counts in any position, is `noreply`.
    reply: Reply,
    last: &'b [u8],
}

impl<'b> Words<'b> {
    fn read(mut rest: &'b [u8]) -> Words<'b> {
        let mut words = Words { first: [b""; WORDS_MAX], count: 0, reply: Reply::Wanted, last: b"" };
        while let Some(word) = next_word(&mut rest) {
            if let Some(slot) = words.first.get_mut(words.count) {
                *slot = word;
            }
            words.last = word;
            words.count += 1;
        }
        if words.last == b"noreply" {
            words.reply = Reply::Suppressed;
        }
        words
    }

    fn get(&self, at: usize) -> Option<&'b [u8]> {
        self.first.get(at).copied().filter(|_| at < self.count)
    }
}

fn other<'b>(command: &[u8], rest: &'b [u8], line: &'b [u8]) -> Line<'b> {
    let words = Words::read(rest);
    let whole = match command {
        b"set" => return store(StoreVerb::Set, &words),
        b"add" => return store(StoreVerb::Add, &words),
        b"replace" => return store(StoreVerb::Replace, &words),
        b"append" => return store(StoreVerb::Append, &words),
        b"prepend" => return store(StoreVerb::Prepend, &words),
        b"cas" => return store(StoreVerb::Cas(0), &words),
        b"delete" => delete(&words),
        b"incr" => count_by(true, &words),
        b"decr" => count_by(false, &words),
        b"touch" => touch(&words),
        b"version" => Ok(Request::Version),
        b"quit" => Ok(Request::Quit),
        b"watch" => watch(rest),
        b"stats" => Ok(Request::Stats {
            group: words.get(0).unwrap_or_default(),
            arguments: [words.get(1), words.get(2)],
        }),
        // The rest is looked up by its first word, wherever that begins.
        _ => {
            let mut rest = line;
            let command = next_word(&mut rest).unwrap_or_default();
            let mut words = Words::read(rest);
            if command == b"noreply" && words.count == 0 {
                // It is the last word of its line, too.
                words.reply = Reply::Suppressed;
            }
            return operator(command, &words);
        }
    };
    match whole {
        Ok(request) => Line::Whole(request),
        // A wrong number of words is found before `noreply` is looked for, so that this error is always reported.
        Err((refusal, true)) => refused(refusal, Reply::Wanted),
        Err((refusal, false)) => refused(refusal, words.reply),
    }
}

/// The commands of an operator.
fn operator<'b>(command: &[u8], words: &Words<'b>) -> Line<'b> {
    let reply = words.reply;
    let request = match command {
        b"flush_all" => flush_all(words),
        b"verbosity" => match words.get(0).and_then(number::strict_u32) {
            Some(_) => Ok(Request::NoEffect { reply }),
            None => Err(Refusal::BadFormat),
        },
        // memcached's complaint about a word that is not a number is this one.
        b"cache_memlimit" => match words.get(0).and_then(number::strict_u32) {
            Some(megabytes) => Ok(Request::MemoryLimit { megabytes, reply }),
            None => Err(Refusal::Unknown),
        },
        b"shutdown" => Ok(Request::Shutdown {
            how: match (words.count, words.get(0)) {
                (0, _) => Shutdown::Now,
                (1, Some(b"graceful")) => Shutdown::Graceful,
                _ => Shutdown::Unknown,
            },
            reply,
        }),
        b"refresh_certs" => Ok(Request::RefreshCertificates { reply }),
        b"lru_crawler" if words.count == 2 && words.get(0) == Some(b"metadump") => {
            Ok(Request::Dump { kind: DumpKind::Items, classes: words.last, reply })
        }
        b"lru_crawler" if words.count == 2 && words.get(0) == Some(b"mgdump") => {
            Ok(Request::Dump { kind: DumpKind::Keys, classes: words.last, reply })
        }
        b"slabs" | b"lru" | b"lru_crawler" | b"extstore" => {
            tuning::check(command, &words.first[..words.count.min(WORDS_MAX)], words.count)
                .map(|()| Request::NoEffect { reply })
        }
        // A browser tricked into sending a form here must not reach its body, which could hold commands.
        _ if words.last.starts_with(b"HTTP/") => return Line::Close(CloseReason::Http),
        _ => Err(Refusal::Unknown),
    };
    request.map_or_else(|refusal| refused(refusal, reply), Line::Whole)
}

fn store<'b>(verb: StoreVerb, words: &Words<'b>) -> Line<'b> {
    let length = words.get(3).and_then(number::strict_i32).filter(|n| (0..=i32::MAX - 2).contains(n));
    let Some(length) = length else {
        // How long the value is cannot be known, so that it is read as commands.
        return refused(Refusal::BadFormat, Reply::Wanted);
    };
    let (length, reply) = (length as usize, words.reply);
    match store_line(verb, words, length) {
        Some(line) => Line::Value(line),
        None => Line::Drop(Refusal::BadFormat, reply, length),
    }
}

fn store_line<'b>(verb: StoreVerb, words: &Words<'b>, length: usize) -> Option<StoreLine<'b>> {
    let [name, flags, exptime, ..] = words.first;
    let verb = match verb {
        StoreVerb::Cas(_) => StoreVerb::Cas(number::strict_u64(words.get(4)?)?),
        other => other,
    };
    let flags = number::read(flags).and_then(|n| u32::try_from(n).ok())?;
    let exptime = number::read_i32(exptime)?;
    Some(StoreLine { verb, key: key(name)?, flags, exptime, length, reply: words.reply })
}

/// Why a command without a value is refused, and whether its client hears of it even with `noreply`.
type Refused = (Refusal, bool);

const TOO_FEW: Refused = (Refusal::BadFormat, true);
const BAD: Refused = (Refusal::BadFormat, false);

fn watch(mut rest: &[u8]) -> Result<Request<'_>, Refused> {
    let kinds = Watched::read(std::iter::from_fn(|| next_word(&mut rest)));
    kinds.map(|kinds| Request::Watch { kinds }).ok_or((Refusal::Unknown, false))
}

fn delete<'b>(words: &Words<'b>) -> Result<Request<'b>, Refused> {
    let name = words.get(0).ok_or(TOO_FEW)?;
    Ok(Request::Delete { key: key(name).ok_or(BAD)?, reply: words.reply })
}

fn count_by<'b>(up: bool, words: &Words<'b>) -> Result<Request<'b>, Refused> {
    let (Some(name), Some(delta)) = (words.get(0), words.get(1)) else { return Err(TOO_FEW) };
    let key = key(name).ok_or(BAD)?;
    let delta = number::strict_u64(delta).ok_or((Refusal::BadDelta, false))?;
    Ok(Request::Count { key, up, delta, reply: words.reply })
}

fn touch<'b>(words: &Words<'b>) -> Result<Request<'b>, Refused> {
    let (Some(name), Some(exptime)) = (words.get(0), words.get(1)) else { return Err(TOO_FEW) };
    let key = key(name).ok_or(BAD)?;
    let exptime = number::strict_i32(exptime).ok_or((Refusal::BadExptime, false))?;
    Ok(Request::Touch { key, exptime, reply: words.reply })
}

fn flush_all<'b>(words: &Words<'b>) -> Result<Request<'b>, Refusal> {
    let reply = words.reply;
    let delay_missing = words.count == usize::from(reply == Reply::Suppressed);
    let delay = match words.get(0) {
        Some(word) if !delay_missing => number::strict_i32(word).ok_or(Refusal::BadExptime)?,
        _ => 0,
    };
    Ok(Request::FlushAll { delay, reply })
}

fn key(word: &[u8]) -> Option<&[u8]> {
    (word.len() <= limits::KEY_MAX).then_some(word)
}

#[cold]
fn refused<'b>(refusal: Refusal, reply: Reply) -> Line<'b> {
    Line::Whole(Request::Refused { refusal, reply, unlink: None })
}
