use crate::limits;
use crate::server::meta::{self, MetaLine, MetaStore, MetaVerb};
use crate::server::number;
use crate::server::parser::CloseReason;
use crate::server::refusal::Refusal;
use crate::server::request::{Keys, Request, Shutdown, next_word};
use crate::{Reply, StoreVerb};

/// What a request line says.
pub(super) enum Line<'b> {
    /// The whole request.
    Whole(Request<'b>),
    /// A value follows.
    Value(StoreLine<'b>),
    /// A value follows that belongs to `ms`.
    MetaValue(MetaStore<'b>),
    /// A value of that length follows, and is to be dropped.
    Drop(Refusal, usize),
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
    /// What the client keeps beside the value.
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

/// Reads a line that is without its end.
#[inline]
pub(super) fn read(line: &[u8]) -> Line<'_> {
    let mut rest = line;
    match next_word(&mut rest) {
        Some(b"get") => get(rest, false),
        Some(b"gets") => get(rest, true),
        Some(b"mg") => meta(MetaVerb::Get, rest),
        Some(b"ms") => meta(MetaVerb::Set, rest),
        Some(b"md") => meta(MetaVerb::Delete, rest),
        Some(b"ma") => meta(MetaVerb::Count, rest),
        Some(b"me") => meta(MetaVerb::Debug, rest),
        Some(b"mn") => Line::Whole(Request::NoOp),
        Some(b"gat") => get_and_touch(rest, false),
        Some(b"gats") => get_and_touch(rest, true),
        // From before there was a documentation; memcached has kept it.
        Some(b"bget") => get(rest, false),
        _ => other(line),
    }
}

fn meta(verb: MetaVerb, rest: &[u8]) -> Line<'_> {
    match meta::read(verb, rest) {
        MetaLine::Whole(meta) => Line::Whole(Request::Meta(meta)),
        MetaLine::Value(store) => Line::MetaValue(store),
        MetaLine::Refused(refusal, None) => refused(refusal, Reply::Wanted),
        MetaLine::Refused(refusal, Some(length)) => Line::Drop(refusal, length),
    }
}

#[inline]
fn get(words: &[u8], with_cas: bool) -> Line<'_> {
    match keys(words) {
        Some(keys) if keys.len() > 0 => Line::Whole(Request::Get { keys, with_cas }),
        Some(_) => refused(Refusal::Unknown, Reply::Wanted),
        None => refused(Refusal::BadFormat, Reply::Wanted),
    }
}

fn get_and_touch(words: &[u8], with_cas: bool) -> Line<'_> {
    let mut rest = words;
    let Some(exptime) = next_word(&mut rest) else { return refused(Refusal::Unknown, Reply::Wanted) };
    let Some(exptime) = number::read_i32(exptime) else { return refused(Refusal::BadExptime, Reply::Wanted) };
    match keys(rest) {
        // memcached answers with `END` where there is no key.
        Some(keys) => Line::Whole(Request::GetAndTouch { exptime, keys, with_cas }),
        None => refused(Refusal::BadFormat, Reply::Wanted),
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

fn other(line: &[u8]) -> Line<'_> {
    let mut words = [&b""[..]; WORDS_MAX];
    let (mut rest, mut count, mut last) = (line, 0, &b""[..]);
    while let Some(word) = next_word(&mut rest) {
        if let Some(slot) = words.get_mut(count) {
            *slot = word;
        }
        last = word;
        count += 1;
    }
    let words = &words[..count.min(WORDS_MAX)];
    let Some((&command, args)) = words.split_first() else {
        return refused(Refusal::Unknown, Reply::Wanted);
    };
    // Only the last word counts as `noreply`, as in memcached.
    let reply = if last == b"noreply" { Reply::Suppressed } else { Reply::Wanted };
    let line = match (command, args.len()) {
        (b"set", 4 | 5) => store(StoreVerb::Set, args, reply),
        (b"add", 4 | 5) => store(StoreVerb::Add, args, reply),
        (b"replace", 4 | 5) => store(StoreVerb::Replace, args, reply),
        (b"append", 4 | 5) => store(StoreVerb::Append, args, reply),
        (b"prepend", 4 | 5) => store(StoreVerb::Prepend, args, reply),
        (b"cas", 5 | 6) => match unsigned(args[4]) {
            Some(unique) => store(StoreVerb::Cas(unique), args, reply),
            None => Err(Refusal::BadFormat),
        },
        (b"delete", 1..=3) => delete(args, reply),
        (b"incr", 2 | 3) => count_by(true, args, reply),
        (b"decr", 2 | 3) => count_by(false, args, reply),
        (b"touch", 2 | 3) => touch(args, reply),
        (b"flush_all", 0..=2) => flush_all(args, reply),
        (b"verbosity", 1 | 2) => verbosity(args, reply),
        (b"version", _) => Ok(Line::Whole(Request::Version)),
        (b"quit", _) => Ok(Line::Whole(Request::Quit)),
        (b"stats", _) => {
            let word = |i: usize| args.get(i).copied().unwrap_or_default();
            Ok(Line::Whole(Request::Stats { group: word(0), argument: word(1) }))
        }
        (b"cache_memlimit", 1 | 2) => memory_limit(args, reply),
        (b"shutdown", _) => Ok(Line::Whole(Request::Shutdown(match args {
            [] => Shutdown::Now,
            [b"graceful"] => Shutdown::Graceful,
            _ => Shutdown::Unknown,
        }))),
        // A wrong number of words is found before `noreply` is looked for, so this error is always told.
        (
            b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" | b"delete" | b"incr" | b"decr"
            | b"touch" | b"flush_all" | b"verbosity" | b"cache_memlimit",
            _,
        ) => return refused(Refusal::Unknown, Reply::Wanted),
        // A browser that is made to send a form here must not get to its body, which could hold commands.
        _ if is_like_http(command, last) => return Line::Close(CloseReason::Http),
        _ => return refused(Refusal::Unknown, Reply::Wanted),
    };
    line.unwrap_or_else(|refusal| refused(refusal, reply))
}

fn store<'b>(verb: StoreVerb, args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    let key = key(args[0])?;
    let flags = number::read(args[1]).and_then(|n| u32::try_from(n).ok()).ok_or(Refusal::BadFormat)?;
    let exptime = signed(args[2]).ok_or(Refusal::BadFormat)?;
    let length = signed(args[3]).filter(|&n| n <= i32::MAX - 2).ok_or(Refusal::BadFormat)?;
    let length = usize::try_from(length).map_err(|_| Refusal::BadFormat)?;
    Ok(Line::Value(StoreLine { verb, key, flags, exptime, length, reply }))
}

fn delete<'b>(args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    // The key itself is never taken for `noreply`.
    let reply = if args.len() == 1 { Reply::Wanted } else { reply };
    // Once the second word said how long the key should stay locked; clients still send a 0.
    let allowed = match args {
        [_] => true,
        [_, word] => *word == b"0" || reply == Reply::Suppressed,
        [_, word, _] => *word == b"0" && reply == Reply::Suppressed,
        _ => false,
    };
    if !allowed {
        return Err(Refusal::BadDelete);
    }
    Ok(Line::Whole(Request::Delete { key: key(args[0])?, reply }))
}

fn count_by<'b>(up: bool, args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    let key = key(args[0])?;
    let delta = unsigned(args[1]).ok_or(Refusal::BadDelta)?;
    Ok(Line::Whole(Request::Count { key, up, delta, reply }))
}

fn touch<'b>(args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    let key = key(args[0])?;
    let exptime = signed(args[1]).ok_or(Refusal::BadExptime)?;
    Ok(Line::Whole(Request::Touch { key, exptime, reply }))
}

fn flush_all<'b>(args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    let delay_missing = args.len() == usize::from(reply == Reply::Suppressed);
    let delay = if delay_missing { 0 } else { signed(args[0]).ok_or(Refusal::BadExptime)? };
    Ok(Line::Whole(Request::FlushAll { delay, reply }))
}

fn verbosity<'b>(args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    unsigned(args[0]).ok_or(Refusal::BadFormat)?;
    Ok(Line::Whole(Request::Verbosity { reply }))
}

fn memory_limit<'b>(args: &[&'b [u8]], reply: Reply) -> Result<Line<'b>, Refusal> {
    // memcached's complaint about a word that is no number is this one.
    let megabytes = unsigned(args[0]).and_then(|n| u32::try_from(n).ok()).ok_or(Refusal::Unknown)?;
    Ok(Line::Whole(Request::MemoryLimit { megabytes, reply }))
}

/// Whether a line that is no command could be HTTP. memcached looks only where it has not decided by the first letter.
fn is_like_http(command: &[u8], last: &[u8]) -> bool {
    let decided =
        command.len() < 2 || b"gsacidt".contains(&command[0]) || (command.len() == 2 && command[0] == b'm');
    !decided && last.starts_with(b"HTTP/")
}

fn key(word: &[u8]) -> Result<&[u8], Refusal> {
    if word.len() > limits::KEY_MAX { Err(Refusal::BadFormat) } else { Ok(word) }
}

fn signed(word: &[u8]) -> Option<i32> {
    number::read(word).and_then(|n| i32::try_from(n).ok())
}

fn unsigned(word: &[u8]) -> Option<u64> {
    number::read(word).and_then(|n| u64::try_from(n).ok())
}

#[cold]
fn refused<'b>(refusal: Refusal, reply: Reply) -> Line<'b> {
    Line::Whole(Request::Refused { refusal, reply, unlink: None })
}
