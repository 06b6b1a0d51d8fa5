use std::collections::BTreeSet;

use clap::builder::{OsStr, Resettable, ValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use spec::Workload;
use spec::workload::{Cache, Movies, Null, Social, Video, Web};

use crate::job::Setting;

/// The names of the options that were typed, and not left to their defaults.
///
/// It must be the first part of the arguments that it stands among: the others take their values away.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typed(BTreeSet<String>);

impl Typed {
    /// Whether the option of this name was typed: `key-size`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The first of these options that was typed.
    pub(crate) fn first_of(&self, command: &Command) -> Option<&str> {
        let names = command.get_arguments().filter_map(|arg| arg.get_long());
        let typed: Vec<&str> = names.collect();
        self.0.iter().map(String::as_str).find(|name| typed.contains(name))
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Typed, Error> {
        let typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        Ok(Typed(matches.ids().filter(typed).map(|id| id.as_str().replace('_', "-")).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Typed::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

/// A command on one workload, with that workload's options.
#[derive(Subcommand, Debug)]
pub(crate) enum On<C: Args> {
    /// Gets and sets to a memcached-compatible cache.
    Cache(Box<Measured<Cache, C>>),
    /// Requests to a web server.
    Web(Box<Measured<Web, C>>),
    /// Sessions of viewers, who watch videos of a server in chunks; --rate is how many come per second.
    Video(Box<Measured<Video, C>>),
    /// Sessions of users of a social network, who log in, do what the mix says and log out; --rate is how many come per second.
    Social(Box<Measured<Social, C>>),
    /// Visitors of a site of films, who browse, search, review, rent and watch; --rate is how many come per second.
    Movies(Box<Measured<Movies, C>>),
    /// Lines to a null server, to test the ruler.
    Null(Box<Measured<Null, C>>),
}

/// The options of a command, of what all measuring commands have in common, and of a workload.
#[derive(Args, Debug)]
pub(crate) struct Measured<W: Args, C: Args> {
    #[command(flatten)]
    typed: Typed,
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    setting: Setting,
    #[command(flatten)]
    workload: W,
}

impl<C: Args> On<C> {
    /// The parts, whichever workload it is.
    pub(crate) fn parts(self) -> (C, Setting, Workload, Typed) {
        match self {
            On::Cache(on) => (on.command, on.setting, Workload::Cache(Box::new(on.workload)), on.typed),
            On::Web(on) => (on.command, on.setting, Workload::Web(Box::new(on.workload)), on.typed),
            On::Video(on) => (on.command, on.setting, Workload::Video(Box::new(on.workload)), on.typed),
            On::Social(on) => (on.command, on.setting, Workload::Social(Box::new(on.workload)), on.typed),
            On::Movies(on) => (on.command, on.setting, Workload::Movies(Box::new(on.workload)), on.typed),
            On::Null(on) => (on.command, on.setting, Workload::Null(on.workload), on.typed),
        }
    }
}

/// The workloads between which `--workload` chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Gets and sets to a memcached-compatible cache.
    Cache,
    /// Requests to a web server.
    Web,
    /// Sessions of viewers, who watch videos of a server in chunks.
    Video,
    /// Sessions of users of a social network.
    Social,
    /// Visitors of a site of films.
    Movies,
    /// Lines to a null server, to test the ruler.
    Null,
}

/// A workload that `--workload` chooses, for a command whose first words are something else. It takes the options of all
/// workloads, and refuses those of others than the one that is chosen.
///
/// Several workloads have options of one name that take other values, such as `--mix`. So all values are taken as texts first,
/// and read by the workload that is chosen.
#[derive(Clone, Debug)]
pub(crate) struct AnyWorkload(pub(crate) Workload);

/// Which workload.
#[derive(Args, Debug)]
struct Choice {
    /// With --live: what to send.
    #[arg(long, value_enum, default_value_t = Name::Cache, value_name = "WORKLOAD")]
    workload: Name,
}

/// The options of each workload.
fn all() -> [(Name, Command); 5] {
    [
        (Name::Cache, Cache::augment_args(Command::new("cache"))),
        (Name::Web, Web::augment_args(Command::new("web"))),
        (Name::Video, Video::augment_args(Command::new("video"))),
        (Name::Social, Social::augment_args(Command::new("social"))),
        (Name::Movies, Movies::augment_args(Command::new("movies"))),
    ]
}

/// The same option with values of type text; the selected workload provides its default.
fn as_text(option: &Arg) -> Arg {
    let option = option.clone();
    if !option.get_action().takes_values() {
        return option;
    }
    let shown = option.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    // An option without its value stands for the one that its workload says.
    let may_be_empty = is_optional(&option);
    let plain = option.value_parser(ValueParser::string()).default_value(Resettable::<OsStr>::Reset);
    let plain = match shown {
        Some(shown) => plain.help(format!("{help} [default: {shown}]")),
        None => plain,
    };
    if may_be_empty { plain.default_missing_value("") } else { plain }
}

/// Whether an option may be given without its value.
fn is_optional(option: &Arg) -> bool {
    option.get_num_args().is_some_and(|count| count.min_values() == 0)
}

impl Args for AnyWorkload {
    fn augment_args(command: Command) -> Command {
        let mut command = Choice::augment_args(command);
        for (_, workload) in all() {
            for option in workload.get_arguments() {
                if !command.get_arguments().any(|there| there.get_id() == option.get_id()) {
                    command = command.arg(as_text(option));
                }
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AnyWorkload {
    fn from_arg_matches(matches: &ArgMatches) -> Result<AnyWorkload, Error> {
        let all = all();
        let Choice { workload: chosen } = Choice::from_arg_matches(matches)?;
        let typed =
            |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let own = all.iter().find(|(name, _)| *name == chosen).map(|(_, command)| command);
        let is_own =
            |arg: &&Arg| own.is_some_and(|own| own.get_arguments().any(|of| of.get_id() == arg.get_id()));
        for (_, command) in all.iter().filter(|(name, _)| *name != chosen) {
            let of_other = |arg: &&Arg| !is_own(arg) && typed(arg);
            if let Some(option) = command.get_arguments().find(of_other) {
                let (long, other) = (option.get_long().unwrap_or_default(), command.get_name());
                let text = format!(
                    "--{long} is for the workload {other}; add --workload {other}, or leave it out\n"
                );
                return Err(Error::raw(ErrorKind::ArgumentConflict, text));
            }
        }
        let mut words = Vec::new();
        for option in own.iter().flat_map(|own| own.get_arguments()).filter(typed) {
            let long = option.get_long().unwrap_or_default();
            if !option.get_action().takes_values() {
                words.push(format!("--{long}"));
                continue;
            }
            for value in matches.get_many::<String>(option.get_id().as_str()).into_iter().flatten() {
                let is_left_out = value.is_empty() && is_optional(option);
                words.push(if is_left_out { format!("--{long}") } else { format!("--{long}={value}") });
            }
        }
        Ok(AnyWorkload(match chosen {
            Name::Cache => Workload::Cache(Box::new(read(&words)?)),
            Name::Web => Workload::Web(Box::new(read(&words)?)),
            Name::Video => Workload::Video(Box::new(read(&words)?)),
            Name::Social => Workload::Social(Box::new(read(&words)?)),
            Name::Movies => Workload::Movies(Box::new(read(&words)?)),
            Name::Null => Workload::Null(Null {}),
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = AnyWorkload::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The workload of these options.
fn read<W: Args>(words: &[String]) -> Result<W, Error> {
    let command = W::augment_args(Command::new("taillight compare").no_binary_name(true));
    W::from_arg_matches(&command.try_get_matches_from(words)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args, Debug)]
    struct Both {
        #[command(flatten)]
        typed: Typed,
        #[command(flatten)]
        workload: AnyWorkload,
    }

    fn parsed(line: &str) -> Result<Both, Error> {
        let command = Both::augment_args(Command::new("x").no_binary_name(true));
        Both::from_arg_matches(&command.try_get_matches_from(line.split_whitespace())?)
    }

    #[test]
    fn options_of_another_workload_are_refused() {
        let check = |line: &str, expect: Result<&str, &str>| match (parsed(line), expect) {
            (Ok(found), Ok(name)) => assert_eq!(found.workload.0.name(), name, "{line}"),
            (Err(error), Err(says)) => assert!(error.to_string().contains(says), "{line}: {error}"),
            (found, _) => panic!("{line}: {found:?}"),
        };
        check("--keys 5 --verify --popularity uniform", Ok("cache"));
        check("--keys 5 --files 10x4KiB", Err("--files is for the workload web; add --workload web"));
        check("--workload web --files=10x4KiB --verify checksum --yes", Ok("web"));
        check("--workload web --mix=get:100", Err("--mix is for the workload cache"));
        check("--workload video --mix=cloudsuite --videos 40x1/160 --verify", Ok("video"));
        check("--workload social --mix=login:5,logout:5,home:90 --users 10k", Ok("social"));
        check("--workload social --mix=cloudsuite", Err("operation mix"));
        check("--workload video --users 10k", Err("--users is for the workload social"));
        check("--mix=table-2", Err("operation mix"));
        check("--workload null", Ok("null"));
        check("--workload null --keys 5", Err("--keys is for the workload cache"));
    }

    #[test]
    fn what_was_typed_is_known() {
        let typed = parsed("--key-size 40 --verify --mix=get:100").unwrap().typed;
        assert!(["key-size", "verify", "mix"].iter().all(|name| typed.has(name)), "{typed:?}");
        assert!(!typed.has("keys") && !typed.has("workload"));
        assert_eq!(typed.first_of(&Web::augment_args(Command::new("web"))), Some("verify"));
    }
}
