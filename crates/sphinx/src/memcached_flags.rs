//! memcached's flags that are not options of the server. `docs/reference/sphinx.md` lists all of memcached's.

use clap::builder::StringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::trimmed::Trimmed;

/// A flag of memcached that the server has no option for.
pub(crate) struct Flag {
    pub(crate) letter: char,
    long: &'static str,
    pub(crate) takes_value: bool,
    /// Why it has no effect here. It is accepted, and answered with a warning that gives this reason.
    pub(crate) why: &'static str,
}

const fn flag(letter: char, long: &'static str, why: &'static str) -> Flag {
    Flag { letter, long, takes_value: false, why }
}

const fn value(letter: char, long: &'static str, why: &'static str) -> Flag {
    Flag { letter, long, takes_value: true, why }
}

const NO_SLABS: &str = "there are no slabs, items of all sizes lie in the same segments";

/// In the order of `memcached -h`. Source: memcached 1.6.45, its usage text and the options that it parses.
pub(crate) const FLAGS: [Flag; 5] = [
    value('f', "slab-growth-factor", NO_SLABS),
    value('n', "slab-min-size", NO_SLABS),
    flag('L', "enable-largepages", "huge pages are used without it wherever the system provides them"),
    flag('C', "disable-cas", "every item keeps its unique number, which takes no further memory"),
    value('N', "napi-ids", "the kernel distributes connections among the threads by SO_REUSEPORT"),
];

/// Adds the flags to the server's own options.
pub(crate) fn augment(command: Command) -> Command {
    // As in memcached, the last of several counts.
    command.args_override_self(true).args(FLAGS.iter().map(|flag| {
        let arg = Arg::new(flag.long).short(flag.letter).long(flag.long).hide(true);
        if flag.takes_value {
            arg.action(ArgAction::Set).value_parser(Trimmed(StringValueParser::new()))
        } else {
            arg.action(ArgAction::SetTrue)
        }
    }))
}

/// A warning for each flag that was given.
pub(crate) fn warnings(matches: &ArgMatches) -> Vec<String> {
    let given = FLAGS.iter().filter(|flag| is_given(flag, matches));
    given.map(|flag| no_effect(&format!("-{}", flag.letter), flag.why)).collect()
}

fn is_given(flag: &Flag, matches: &ArgMatches) -> bool {
    if flag.takes_value { matches.contains_id(flag.long) } else { matches.get_flag(flag.long) }
}

/// The warning about an option without an effect.
pub(crate) fn no_effect(name: &str, why: &str) -> String {
    format!("{name} has no effect: {why}")
}
