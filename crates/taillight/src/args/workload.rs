use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use spec::Workload;
use spec::workload::{Cache, Null, Video, Web};

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
    /// Lines to a null server, to test the ruler.
    Null,
}

/// A workload that `--workload` chooses, for a command whose first words are something else. It takes the options of all
/// workloads, and refuses those of others than the one that is chosen.
#[derive(Clone, Debug)]
pub(crate) struct AnyWorkload(pub(crate) Workload);

/// Which workload.
#[derive(Args, Debug)]
struct Choice {
    /// With --live: what to send.
    #[arg(long, value_enum, default_value_t = Name::Cache, value_name = "WORKLOAD")]
    workload: Name,
}

/// The workloads that have options.
fn all() -> [(Name, Command); 3] {
    [
        (Name::Cache, Cache::augment_args(alone("cache"))),
        (Name::Web, Web::augment_args(alone("web"))),
        (Name::Video, Video::augment_args(alone("video"))),
    ]
}

fn alone(name: &'static str) -> Command {
    Command::new(name).no_binary_name(true)
}

impl Args for AnyWorkload {
    fn augment_args(command: Command) -> Command {
        let mut command = Choice::augment_args(command);
        let all = all();
        for (place, (_, workload)) in all.iter().enumerate() {
            for option in workload.get_arguments() {
                let is_same = |(_, other): &&(Name, Command)| {
                    other.get_arguments().any(|one| one.get_id() == option.get_id())
                };
                if all[..place].iter().any(|other| is_same(&other)) {
                    continue;
                }
                // Workloads may mean different things by an option of one name: it is read once it is known which one is
                // meant, and has another default in each.
                let option = match all[place + 1..].iter().any(|other| is_same(&other)) {
                    true if option.get_action().takes_values() => {
                        option.clone().value_parser(clap::value_parser!(String)).default_value(None::<&str>)
                    }
                    _ => option.clone(),
                };
                command = command.arg(option);
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// What was typed of a workload's options, as it would stand on a command line of that workload.
fn typed_again(command: &Command, matches: &ArgMatches) -> Vec<OsString> {
    let mut words = Vec::new();
    for option in command.get_arguments() {
        let (id, Some(long)) = (option.get_id().as_str(), option.get_long()) else { continue };
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if !option.get_action().takes_values() {
            words.push(format!("--{long}").into());
            continue;
        }
        for values in matches.get_raw_occurrences(id).into_iter().flatten() {
            let before = words.len();
            for value in values {
                let mut word = OsString::from(format!("--{long}="));
                word.push(value);
                words.push(word);
            }
            if words.len() == before {
                words.push(format!("--{long}").into());
            }
        }
    }
    words
}

impl FromArgMatches for AnyWorkload {
    fn from_arg_matches(matches: &ArgMatches) -> Result<AnyWorkload, Error> {
        let all = all();
        let Choice { workload: chosen } = Choice::from_arg_matches(matches)?;
        let mut own = all.iter().find(|(name, _)| *name == chosen).map(|(_, command)| command.clone());
        let is_own = |id: &str| {
            own.iter().flat_map(Command::get_arguments).any(|option| option.get_id().as_str() == id)
        };
        for (_, command) in all.iter().filter(|(name, _)| *name != chosen) {
            let typed = |arg: &&clap::Arg| {
                let id = arg.get_id().as_str();
                !is_own(id) && matches.value_source(id) == Some(ValueSource::CommandLine)
            };
            if let Some(option) = command.get_arguments().find(typed) {
                let (long, other) = (option.get_long().unwrap_or_default(), command.get_name());
                let text = format!(
                    "--{long} is for the workload {other}; add --workload {other}, or leave it out\n"
                );
                return Err(Error::raw(ErrorKind::ArgumentConflict, text));
            }
        }
        let Some(own) = &mut own else { return Ok(AnyWorkload(Workload::Null(Null {}))) };
        let matches = own.try_get_matches_from_mut(typed_again(own, matches))?;
        Ok(AnyWorkload(match chosen {
            Name::Cache => Workload::Cache(Box::new(Cache::from_arg_matches(&matches)?)),
            Name::Web => Workload::Web(Box::new(Web::from_arg_matches(&matches)?)),
            Name::Video => Workload::Video(Box::new(Video::from_arg_matches(&matches)?)),
            Name::Null => Workload::Null(Null {}),
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = AnyWorkload::from_arg_matches(matches)?;
        Ok(())
    }
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
        check("--workload video --videos 5x1/8 --mix cloudsuite --popularity uniform", Ok("video"));
        check("--workload video --mix get:100", Err("write table-1 or cloudsuite"));
        check("--mix table-1", Err("shares in per cent"));
        check("--workload video --videos 5x1 --playlist http://h/a", Err("cannot be used with"));
        check("--videos 5x1/8", Err("--videos is for the workload video; add --workload video"));
        check("--workload null", Ok("null"));
        check("--workload null --keys 5", Err("--keys is for the workload cache"));
    }

    #[test]
    fn an_option_means_what_it_means_to_its_workload() {
        let of = |line: &str| parsed(line).unwrap().workload.0;
        for line in ["", "--keys 500 --mix get:100 --verify --popularity uniform"] {
            let alone = Cache::augment_args(alone("cache")).try_get_matches_from(line.split_whitespace());
            let expect = Cache::from_arg_matches(&alone.unwrap()).unwrap();
            assert_eq!(of(line), Workload::Cache(Box::new(expect)), "{line}");
        }
        let Workload::Video(video) = of("--workload video --mix cloudsuite --verify --speed=3") else {
            panic!("another workload")
        };
        let mix = spec::workload::ClientMix::CloudSuite;
        let verify = Some(spec::workload::Verify::Checksum);
        assert_eq!(*video, Video { mix, verify, speed: 3, ..Video::default() });
    }

    #[test]
    fn what_was_typed_is_known() {
        let typed = parsed("--key-size 40 --verify --mix=get:100").unwrap().typed;
        assert!(["key-size", "verify", "mix"].iter().all(|name| typed.has(name)), "{typed:?}");
        assert!(!typed.has("keys") && !typed.has("workload"));
        assert_eq!(typed.first_of(&Web::augment_args(Command::new("web"))), Some("verify"));
    }
}
