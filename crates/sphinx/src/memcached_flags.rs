//! memcached's flags: what each of them does here. The table is also the one in `docs/reference/sphinx.md`.

use clap::builder::StringValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::trimmed::Trimmed;

/// A flag of memcached.
pub(crate) struct Flag {
    pub(crate) letter: char,
    pub(crate) long: &'static str,
    /// What its value is called; `None` where it takes none.
    pub(crate) value: Option<&'static str>,
    pub(crate) here: Here,
}

/// What a flag does here.
#[cfg_attr(not(test), allow(dead_code, reason = "a test writes the texts into docs/reference/sphinx.md"))]
pub(crate) enum Here {
    /// The server has this option; the text says what differs.
    Option(&'static str),
    /// It is accepted, has no effect, and is answered with a warning that gives this reason.
    NoEffect(&'static str),
    /// It is refused: ignoring it would break a promise of safety or lose data.
    Refused(&'static str),
}

use Here::{NoEffect, Option as Own, Refused};

const fn flag(letter: char, long: &'static str, here: Here) -> Flag {
    Flag { letter, long, value: None, here }
}

const fn value(letter: char, long: &'static str, value: &'static str, here: Here) -> Flag {
    Flag { letter, long, value: Some(value), here }
}

const NO_SLABS: &str = "there are no slabs, items of all sizes lie in the same segments";

/// In the order of `memcached -h`. Source: memcached 1.6.45, its usage text and the options that it parses.
pub(crate) const FLAGS: [Flag; 37] = [
    value('p', "port", "num", Own("0 and -1 take a free port and print it; in memcached 0 turns TCP off")),
    value('U', "udp-port", "num", Own("off by default; without `-p` TCP stays on 11211")),
    value('s', "unix-socket", "file", Own("with `-p` or `-l` beside the network, otherwise in place of it")),
    value('a', "unix-mask", "mask", Own("the mode of the socket's file in octal, 700 by default")),
    flag('A', "enable-shutdown", Own("the same")),
    value(
        'l',
        "listen",
        "addr",
        Own("127.0.0.1 by default, not every address; `*` is every address; `notls:`, `btls:`, `mtls:`, \
             `proto[ascii]:`, `proto[negotiating]:` and `tag[NAME]:` are understood"),
    ),
    flag(
        'd',
        "daemon",
        Own("the start returns when the server answers, or fails with the reason and exit code 1 or 2"),
    ),
    flag(
        'r',
        "enable-coredumps",
        Own("raises the limit of core files as far as allowed; a warning where it stays 0"),
    ),
    value(
        'u',
        "user",
        "user",
        Own("becomes the user once every port is open; ignored with a warning unless root"),
    ),
    value(
        'm',
        "memory-limit",
        "num",
        Own(
            "MiB, or a size such as 2GiB; where it is too little for all threads, fewer start, with a warning",
        ),
    ),
    flag('M', "disable-evictions", Own("the same")),
    value('c', "conn-limit", "num", Own("the same")),
    flag(
        'k',
        "lock-memory",
        Own("locks the memory by `mlockall` once it is taken; a warning where the system refuses"),
    ),
    flag(
        'v',
        "verbose",
        Own(
            "`-v` logs starts, ends and signals, `-vv` and `-vvv` what happens to connections; requests are never logged",
        ),
    ),
    flag('h', "help", Own("the first line is the version, as `-V` prints it")),
    flag('i', "license", Own("prints the licence of Sphinx")),
    flag(
        'V',
        "version",
        Own("`memcached 1.6.45 (sphinxd VERSION)`: the version whose answers these are, then our own"),
    ),
    value(
        'P',
        "pidfile",
        "file",
        Own("written with and without `-d`, or a warning where that is refused; removed at the end"),
    ),
    value('f', "slab-growth-factor", "num", NoEffect(NO_SLABS)),
    value('n', "slab-min-size", "bytes", NoEffect(NO_SLABS)),
    flag(
        'L',
        "enable-largepages",
        NoEffect("huge pages are used without it wherever the system provides them"),
    ),
    value('D', "", "char", Own("the same: ends a prefix in `stats detail`, which it turns on")),
    value(
        't',
        "threads",
        "num",
        Own("one thread per processor by default, each pinned to its own; at most 256"),
    ),
    value(
        'R',
        "max-reqs-per-event",
        "num",
        Own("0 by default: as many requests as a receive brought, at most 64 KiB of them"),
    ),
    flag('C', "disable-cas", NoEffect("every item keeps its unique number, which takes no further memory")),
    value('b', "listen-backlog", "num", Own("4096 by default, for each thread and address")),
    value(
        'B',
        "protocol",
        "name",
        Own(
            "`ascii` is what is spoken; `auto` is accepted with a warning; `binary` is refused, as its clients could not use the server",
        ),
    ),
    value('I', "max-item-size", "num", Own("from 1k to 2m; a larger size is lowered to 2m with a warning")),
    flag(
        'S',
        "enable-sasl",
        Refused(
            "SASL belongs to the binary protocol, and without it the server would be open to everybody; -Y \
                 authenticates in the text protocol",
        ),
    ),
    flag('F', "disable-flush-all", Own("the same")),
    flag(
        'X',
        "disable-dumping",
        Own("the same: `stats cachedump`, `stats detail` and `lru_crawler metadump` are refused"),
    ),
    flag('W', "disable-watch", NoEffect("there is no watch command to disable")),
    value('Y', "auth-file", "file", Own("the same; any number of users")),
    value('e', "memory-file", "file", Refused("items are in memory only and do not survive a restart")),
    flag(
        'Z',
        "enable-ssl",
        Own("the port of `-p` speaks TLS; the certificate comes from `-o ssl_chain_cert` or `--tls-cert`"),
    ),
    value('o', "extended", "names", Own("see the next table")),
    value(
        'N',
        "napi-ids",
        "num",
        NoEffect("the kernel distributes connections among the threads by SO_REUSEPORT"),
    ),
];

impl Flag {
    /// How it is written: `-m`.
    fn name(&self) -> String {
        format!("-{}", self.letter)
    }

    fn is_own(&self) -> bool {
        matches!(self.here, Own(_))
    }
}

/// Adds the flags that are not among the server's own options.
pub(crate) fn augment(command: Command) -> Command {
    // As in memcached, the last of several counts.
    command.args_override_self(true).args(FLAGS.iter().filter(|flag| !flag.is_own()).map(|flag| {
        let arg = Arg::new(flag.long).short(flag.letter).long(flag.long).hide(true);
        match flag.value {
            Some(_) => arg.action(ArgAction::Set).value_parser(Trimmed(StringValueParser::new())),
            None => arg.action(ArgAction::SetTrue),
        }
    }))
}

/// A warning for each flag that was given and has no effect.
///
/// Errors: a flag was given that is refused; with the reason.
pub(crate) fn warnings(matches: &ArgMatches) -> Result<Vec<String>, clap::Error> {
    let mut warnings = Vec::new();
    for flag in FLAGS.iter().filter(|flag| !flag.is_own() && is_given(flag, matches)) {
        match flag.here {
            NoEffect(why) => warnings.push(no_effect(&flag.name(), why)),
            Refused(why) => {
                let text = format!("{} is refused: {why}; leave it out\n", flag.name());
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
            }
            Own(_) => {}
        }
    }
    Ok(warnings)
}

fn is_given(flag: &Flag, matches: &ArgMatches) -> bool {
    match flag.value {
        Some(_) => matches.contains_id(flag.long),
        None => matches.get_flag(flag.long),
    }
}

/// The warning about an option without an effect.
pub(crate) fn no_effect(name: &str, why: &str) -> String {
    format!("{name} has no effect: {why}")
}
