//! memcached's flags that mean nothing here: each is known, hidden from the help, and refused with its reason.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// A flag of memcached.
struct Refused {
    short: char,
    long: &'static str,
    takes_value: bool,
    why: &'static str,
}

const fn flag(short: char, long: &'static str, why: &'static str) -> Refused {
    Refused { short, long, takes_value: false, why }
}

const fn option(short: char, long: &'static str, why: &'static str) -> Refused {
    Refused { short, long, takes_value: true, why }
}

/// Source: `memcached -h`, 1.6.18.
const REFUSED: [Refused; 16] = [
    flag('d', "daemon", "have systemd or the shell run it in the background"),
    flag('r', "enable-coredumps", "allow core files with 'ulimit -c' before the start"),
    flag('k', "lock-memory", "take swap away with 'swapoff', or by MemorySwapMax= of systemd"),
    flag('i', "license", "see the file LICENSE"),
    option('f', "slab-growth-factor", "there are no slabs: items of all sizes lie in the same segments"),
    option('n', "slab-min-size", "there are no slabs: items of all sizes lie in the same segments"),
    flag('L', "enable-largepages", "huge pages are used wherever there are any"),
    option('D', "prefix-delimiter", "'stats detail' counts prefixes up to ':'"),
    flag('C', "disable-cas", "each item has its unique number, which costs nothing more"),
    option('B', "protocol", "only the text protocol is spoken, classic and meta"),
    flag('S', "enable-sasl", "SASL is of the binary protocol; -Y authenticates in the text protocol"),
    flag('X', "disable-dumping", "there is no dump of keys to disable"),
    flag('W', "disable-watch", "there is no watch command to disable"),
    option('e', "memory-file", "items are in memory only"),
    flag('Z', "enable-ssl", "TLS has a port of its own: --tls-port, --tls-cert and --tls-key"),
    option('N', "napi_ids", "connections are dealt out by SO_REUSEPORT"),
];

/// Adds the flags to a command.
pub(crate) fn augment(command: Command) -> Command {
    command.args(REFUSED.iter().map(|refused| {
        let action = if refused.takes_value { ArgAction::Append } else { ArgAction::Count };
        Arg::new(refused.long).short(refused.short).long(refused.long).action(action).hide(true)
    }))
}

/// Errors: one of the flags was given; says why it is refused.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), clap::Error> {
    for refused in &REFUSED {
        let id = refused.long;
        let given = if refused.takes_value { matches.contains_id(id) } else { matches.get_count(id) > 0 };
        // Asking for what is so already is no mistake.
        let values = || matches.get_many::<String>(id).into_iter().flatten();
        if given && !(id == "protocol" && values().all(|value| value == "ascii" || value == "auto")) {
            let text = format!("-{} is not for Sphinx: {}; leave it out\n", refused.short, refused.why);
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
        }
    }
    Ok(())
}
