//! memcached's flags that are not options of the server. `docs/reference/sphinx.md` lists all of memcached's.

use clap::builder::StringValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::trimmed::Trimmed;

/// A flag of memcached that the server has no option for.
pub(crate) struct Flag {
    pub(crate) letter: char,
    long: &'static str,
    pub(crate) takes_value: bool,
    pub(crate) here: Here,
}

/// What a flag does here.
pub(crate) enum Here {
    /// It is accepted, has no effect, and is answered with a warning that gives this reason.
    NoEffect(&'static str),
    /// It is refused: ignoring it would break a promise of safety or lose data.
    Refused(&'static str),
}

use Here::{NoEffect, Refused};

const fn flag(letter: char, long: &'static str, here: Here) -> Flag {
    Flag { letter, long, takes_value: false, here }
}

const fn value(letter: char, long: &'static str, here: Here) -> Flag {
    Flag { letter, long, takes_value: true, here }
}

const NO_SLABS: &str = "there are no slabs, items of all sizes lie in the same segments";

/// In the order of `memcached -h`. Source: memcached 1.6.45, its usage text and the options that it parses.
pub(crate) const FLAGS: [Flag; 6] = [
    value('f', "slab-growth-factor", NoEffect(NO_SLABS)),
    value('n', "slab-min-size", NoEffect(NO_SLABS)),
    flag(
        'L',
        "enable-largepages",
        NoEffect("huge pages are used without it wherever the system provides them"),
    ),
    flag('C', "disable-cas", NoEffect("every item keeps its unique number, which takes no further memory")),
    flag(
        'S',
        "enable-sasl",
        Refused(
            "SASL belongs to the binary protocol, and without it the server would be open to everybody; -Y \
                 authenticates in the text protocol",
        ),
    ),
    value('N', "napi-ids", NoEffect("the kernel distributes connections among the threads by SO_REUSEPORT")),
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

/// A warning for each flag that was given and has no effect.
///
/// Errors: a flag was given that is refused; with the reason.
pub(crate) fn warnings(matches: &ArgMatches) -> Result<Vec<String>, clap::Error> {
    let mut warnings = Vec::new();
    for flag in FLAGS.iter().filter(|flag| is_given(flag, matches)) {
        let name = format!("-{}", flag.letter);
        match flag.here {
            NoEffect(why) => warnings.push(no_effect(&name, why)),
            Refused(why) => {
                let text = format!("{name} is refused: {why}; leave it out\n");
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
            }
        }
    }
    Ok(warnings)
}

fn is_given(flag: &Flag, matches: &ArgMatches) -> bool {
    if flag.takes_value { matches.contains_id(flag.long) } else { matches.get_flag(flag.long) }
}

/// The warning about an option without an effect.
pub(crate) fn no_effect(name: &str, why: &str) -> String {
    format!("{name} has no effect: {why}")
}
