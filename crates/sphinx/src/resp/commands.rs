//! The commands of RESP.

use proto_resp::server::{Version, reply};

use crate::service::Class;

/// A command and its properties, as `COMMAND` shows them.
#[derive(Debug)]
pub(crate) struct Row {
    /// In lower case.
    pub(crate) name: &'static str,
    pub(crate) command: Command,
    /// The number of arguments, the name included; if negative, the least number.
    arity: i8,
    /// The first argument that is a key, the last, and how far keys are apart; 0 without keys.
    keys: (i8, i8, i8),
    /// In Redis' words.
    flags: &'static [&'static str],
    pub(crate) class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Append,
    Auth,
    Client,
    Config,
    /// `DECR`, `INCR`, `DECRBY`, `INCRBY`: by how much, or with the sign of the argument.
    Count(Step),
    Commands,
    DbSize,
    Delete,
    Echo,
    Ends(crate::operation::resp::Ends),
    Exists,
    Expire(Unit),
    Flush,
    Get,
    GetDel,
    GetEx,
    GetSet,
    Hello,
    Info,
    Memory,
    MGet,
    MSet,
    Persist,
    Ping,
    Quit,
    Reset,
    Scan,
    Select,
    Set,
    /// `SETEX`, `PSETEX`.
    SetEx(Unit),
    SetNx,
    StrLen,
    Time,
    Touch,
    Type,
}

/// By how much a number is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Up,
    Down,
    UpBy,
    DownBy,
}

/// The form of an expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// `EX`.
    Seconds,
    /// `PX`.
    Milliseconds,
    /// `EXAT`.
    AtSecond,
    /// `PXAT`.
    AtMillisecond,
}

const READ: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write", "denyoom", "fast"];
const CHANGE: &[&str] = &["write", "fast"];
const SERVER: &[&str] = &["loading", "stale", "fast"];
const ADMIN: &[&str] = &["admin", "noscript", "loading", "stale"];
/// Also for clients that have not said who they are.
const OPEN: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth"];
const ONE: (i8, i8, i8) = (1, 1, 1);
const ALL: (i8, i8, i8) = (1, -1, 1);
const PAIRS: (i8, i8, i8) = (1, -1, 2);
const NONE: (i8, i8, i8) = (0, 0, 0);

const fn row(
    name: &'static str,
    command: Command,
    arity: i8,
    keys: (i8, i8, i8),
    flags: &'static [&'static str],
    class: Class,
) -> Row {
    Row { name, command, arity, keys, flags, class }
}

/// All commands, those first that a cache gets most. Source of arities and key places: Redis 7.0.15.
pub(crate) const COMMANDS: &[Row] = {
    use crate::operation::resp::Ends;
    use Class::{Count, Delete, Get, Other, Store, Touch};
    &[
        row("get", Command::Get, 2, ONE, READ, Get),
        row("set", Command::Set, -3, ONE, WRITE, Store),
        row("mget", Command::MGet, -2, ALL, READ, Get),
        row("setex", Command::SetEx(Unit::Seconds), 4, ONE, WRITE, Store),
        row("del", Command::Delete, -2, ALL, CHANGE, Delete),
        row("expire", Command::Expire(Unit::Seconds), -3, ONE, CHANGE, Touch),
        row("incr", Command::Count(Step::Up), 2, ONE, WRITE, Count),
        row("exists", Command::Exists, -2, ALL, READ, Other),
        row("append", Command::Append, 3, ONE, WRITE, Store),
        row("auth", Command::Auth, -2, NONE, OPEN, Other),
        row("client", Command::Client, -2, NONE, ADMIN, Other),
        row("command", Command::Commands, -1, NONE, SERVER, Other),
        row("config", Command::Config, -2, NONE, ADMIN, Other),
        row("dbsize", Command::DbSize, 1, NONE, READ, Other),
        row("decr", Command::Count(Step::Down), 2, ONE, WRITE, Count),
        row("decrby", Command::Count(Step::DownBy), 3, ONE, WRITE, Count),
        row("echo", Command::Echo, 2, NONE, SERVER, Other),
        row("expireat", Command::Expire(Unit::AtSecond), -3, ONE, CHANGE, Touch),
        row("expiretime", Command::Ends(Ends::AtSecond), 2, ONE, READ, Other),
        row("flushall", Command::Flush, -1, NONE, CHANGE, Other),
        row("flushdb", Command::Flush, -1, NONE, CHANGE, Other),
        row("getdel", Command::GetDel, 2, ONE, CHANGE, Get),
        row("getex", Command::GetEx, -2, ONE, CHANGE, Get),
        row("getset", Command::GetSet, 3, ONE, WRITE, Store),
        row("hello", Command::Hello, -1, NONE, OPEN, Other),
        row("incrby", Command::Count(Step::UpBy), 3, ONE, WRITE, Count),
        row("info", Command::Info, -1, NONE, SERVER, Other),
        row("memory", Command::Memory, -2, NONE, READ, Other),
        row("mset", Command::MSet, -3, PAIRS, WRITE, Store),
        row("persist", Command::Persist, 2, ONE, CHANGE, Touch),
        row("pexpire", Command::Expire(Unit::Milliseconds), -3, ONE, CHANGE, Touch),
        row("pexpireat", Command::Expire(Unit::AtMillisecond), -3, ONE, CHANGE, Touch),
        row("pexpiretime", Command::Ends(Ends::AtMillisecond), 2, ONE, READ, Other),
        row("ping", Command::Ping, -1, NONE, SERVER, Other),
        row("psetex", Command::SetEx(Unit::Milliseconds), 4, ONE, WRITE, Store),
        row("pttl", Command::Ends(Ends::InMilliseconds), 2, ONE, READ, Other),
        row("quit", Command::Quit, -1, NONE, OPEN, Other),
        row("reset", Command::Reset, 1, NONE, OPEN, Other),
        row("scan", Command::Scan, -2, NONE, READ, Other),
        row("select", Command::Select, 2, NONE, SERVER, Other),
        row("setnx", Command::SetNx, 3, ONE, WRITE, Store),
        row("strlen", Command::StrLen, 2, ONE, READ, Get),
        row("time", Command::Time, 1, NONE, SERVER, Other),
        row("touch", Command::Touch, -2, ALL, READ, Touch),
        row("ttl", Command::Ends(Ends::InSeconds), 2, ONE, READ, Other),
        row("type", Command::Type, 2, ONE, READ, Other),
        row("unlink", Command::Delete, -2, ALL, CHANGE, Delete),
    ]
};

impl Row {
    /// The command with that name, in any case.
    pub(crate) fn find(name: &[u8]) -> Option<&'static Row> {
        COMMANDS.iter().find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether it may have that many arguments, the name included.
    pub(crate) fn takes(&self, arguments: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity < 0 { arguments >= arity } else { arguments == arity }
    }

    /// Whether a client may use it that has not said who it is.
    pub(crate) fn is_open(&self) -> bool {
        self.flags.contains(&"no_auth")
    }

    /// How far its keys are apart, if it has some.
    pub(crate) fn key_step(&self) -> usize {
        usize::from(self.keys.2.unsigned_abs())
    }

    /// The number after its last key, in a command of `arguments` arguments.
    pub(crate) fn keys_end(&self, arguments: usize) -> usize {
        if self.keys.1 < 0 { arguments } else { usize::from(self.keys.1.unsigned_abs()) + 1 }
    }

    /// Appends its properties, as `COMMAND` shows them.
    pub(crate) fn tell(&self, out: &mut Vec<u8>, version: Version) {
        reply::array(out, 10);
        reply::bulk(out, self.name.as_bytes());
        reply::integer(out, self.arity.into());
        reply::set(out, self.flags.len(), version);
        self.flags.iter().for_each(|flag| reply::simple(out, flag.as_bytes()));
        let (first, last, step) = self.keys;
        [first, last, step].into_iter().for_each(|number| reply::integer(out, number.into()));
        // Categories of access, tips, places of keys, subcommands.
        (0..4).for_each(|_| reply::set(out, 0, version));
    }
}

impl Unit {
    /// The option with that name, in any case.
    pub(crate) fn of(word: &[u8]) -> Option<Unit> {
        let named = [
            (&b"ex"[..], Unit::Seconds),
            (b"px", Unit::Milliseconds),
            (b"exat", Unit::AtSecond),
            (b"pxat", Unit::AtMillisecond),
        ];
        named.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, unit)| unit)
    }
}

/// Commands of transactions: clients send them without being asked to, around a pipeline.
const TRANSACTIONS: [&[u8]; 5] = [b"multi", b"exec", b"discard", b"watch", b"unwatch"];

/// The error of an unknown command, in Redis' words; for a transaction with the remedy.
pub(crate) fn unknown<'a>(name: &[u8], arguments: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    if TRANSACTIONS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        let remedy = b"': this cache has no transactions; send a pipeline without MULTI and EXEC";
        return [&b"ERR unknown command '"[..], name, remedy].concat();
    }
    /// Characters of a name, and of all arguments, that are shown. Source: Redis' `commandCheckExistence`.
    const SHOWN: usize = 128;
    let shown = |text: &[u8], length: usize| text[..text.len().min(length)].to_vec();
    let mut list = Vec::new();
    for argument in arguments {
        if list.len() >= SHOWN {
            break;
        }
        let room = SHOWN - list.len();
        list.push(b'\'');
        list.extend(shown(argument, room));
        list.extend_from_slice(b"' ");
    }
    let name = shown(name, SHOWN);
    [b"ERR unknown command '", &name[..], b"', with args beginning with: ", &list].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_any_case() {
        assert_eq!(Row::find(b"GeT").map(|row| row.name), Some("get"));
        assert!(Row::find(b"").is_none() && Row::find(b"gets").is_none());
        assert!(COMMANDS.iter().all(|row| row.name.bytes().all(|byte| byte.is_ascii_lowercase())));
        let check = |name: &str, arguments: usize, expect: bool| {
            assert_eq!(Row::find(name.as_bytes()).unwrap().takes(arguments), expect, "{name} {arguments}");
        };
        check("get", 1, false);
        check("get", 2, true);
        check("get", 3, false);
        check("del", 1, false);
        check("del", 9, true);
        let mset = Row::find(b"mset").unwrap();
        assert_eq!((mset.key_step(), mset.keys_end(5)), (2, 5));
        assert_eq!(Row::find(b"get").unwrap().keys_end(2), 2);
    }

    #[test]
    fn an_unknown_command_is_named_with_its_arguments() {
        let args = [&b"a"[..], b"b c"];
        assert_eq!(
            unknown(b"foo", args.into_iter()),
            b"ERR unknown command 'foo', with args beginning with: 'a' 'b c' "
        );
        let long = vec![b'x'; 300];
        let text = unknown(&long, [&long[..], b"y"].into_iter());
        assert_eq!(text.len(), 21 + 128 + 29 + 131);
        let text = String::from_utf8(unknown(b"Multi", std::iter::empty())).unwrap();
        assert!(text.starts_with("ERR unknown command 'Multi': this cache has no transactions; "), "{text}");
    }
}
