use clap::builder::{OsStr, PossibleValue, PossibleValuesParser, Resettable, ValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use spec::Workload;
use spec::workload::Kind;

use crate::job::Setting;

/// The options that were typed, and not left to their defaults.
///
/// It must be the first of the flattened arguments, because the others remove their values.
#[derive(Clone, Debug)]
pub(crate) struct Typed(ArgMatches);

impl Typed {
    /// Whether the option of this name was typed: `key-size`.
    pub(crate) fn has(&self, name: &str) -> bool {
        let is_typed = |id: &str| self.0.value_source(id) == Some(ValueSource::CommandLine);
        self.0.ids().any(|id| id.as_str().replace('_', "-") == name && is_typed(id.as_str()))
    }

    fn is(&self, arg: &Arg) -> bool {
        self.has(&arg.get_id().as_str().replace('_', "-"))
    }

    /// The first option of `command` that was typed.
    pub(crate) fn first_of<'a>(&self, command: &'a Command) -> Option<&'a str> {
        command.get_arguments().filter(|arg| self.is(arg)).find_map(Arg::get_long)
    }

    /// The options of `command` that were typed, by their ids and names, each as it could have been typed.
    pub(crate) fn words(&self, command: &Command) -> Vec<(String, String, Vec<String>)> {
        let words = |arg: &Arg| {
            let id = arg.get_id().as_str();
            let name = arg.get_long().unwrap_or(id);
            let words = match arg.get_action() {
                ArgAction::SetTrue => vec![format!("--{name}")],
                ArgAction::Count => vec![format!("--{name}"); self.0.get_count(id).into()],
                _ => {
                    let word = |value: &std::ffi::OsStr| match value.to_string_lossy() {
                        value if value.is_empty() && is_optional(arg) => format!("--{name}"),
                        value => format!("--{name}={value}"),
                    };
                    self.0.get_raw(id).into_iter().flatten().map(word).collect()
                }
            };
            (id.to_owned(), name.to_owned(), words)
        };
        command.get_arguments().filter(|arg| self.is(arg)).map(words).collect()
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Typed, Error> {
        Ok(Typed(matches.clone()))
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

/// A command and the workload that its first word names, with the options of both and of all measuring commands.
#[derive(Debug)]
pub(crate) struct WorkloadCommand<C> {
    pub(crate) command: C,
    pub(crate) setting: Setting,
    pub(crate) workload: Workload,
    pub(crate) typed: Typed,
}

impl<C: Args> Subcommand for WorkloadCommand<C> {
    fn augment_subcommands(command: Command) -> Command {
        let add = |command: Command, kind: &Kind| {
            let of_kind = kind.options(Setting::augment_args(C::augment_args(Command::new(kind.name))));
            // Last, since each type of options leaves its own comment as the description.
            command.subcommand(of_kind.about(about(kind)).long_about(None))
        };
        Kind::ALL.iter().fold(command, add)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Kind::named(name).is_some()
    }
}

impl<C: Args> FromArgMatches for WorkloadCommand<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<WorkloadCommand<C>, Error> {
        let chosen = matches.subcommand().and_then(|(name, given)| Some((Kind::named(name)?, given)));
        let (kind, given) = chosen.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        Ok(WorkloadCommand {
            command: C::from_arg_matches(given)?,
            setting: Setting::from_arg_matches(given)?,
            workload: kind.given(given)?,
            typed: Typed::from_arg_matches(given)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = WorkloadCommand::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The description of a kind in a help, which has no full stop.
fn about(kind: &Kind) -> &'static str {
    kind.about.trim_end_matches('.')
}

/// A workload selected by `--workload`, for a command whose first words have another meaning. It accepts the options of
/// all workloads, and refuses options that the selected workload does not have.
///
/// Options of one name, such as `--mix`, take other values in other workloads. All values are therefore taken as texts
/// first, and then parsed by the selected workload.
#[derive(Clone, Debug)]
pub(crate) struct AnyWorkload(pub(crate) Workload);

/// The option that selects it.
fn choice() -> Arg {
    let names = Kind::ALL.iter().map(|kind| PossibleValue::new(kind.name).help(about(kind)));
    Arg::new("workload")
        .long("workload")
        .value_name("WORKLOAD")
        .value_parser(PossibleValuesParser::new(names))
        .default_value(Kind::ALL[0].name)
        .help("With --live: the workload")
}

/// The options of each workload.
fn all() -> impl Iterator<Item = Command> {
    Kind::ALL.iter().map(|kind| kind.options(Command::new(kind.name)))
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

fn is_optional(option: &Arg) -> bool {
    option.get_num_args().is_some_and(|count| count.min_values() == 0)
}

impl Args for AnyWorkload {
    fn augment_args(command: Command) -> Command {
        let mut command = command.arg(choice());
        for workload in all() {
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
        let typed = Typed::from_arg_matches(matches)?;
        let chosen = matches.get_one::<String>("workload").and_then(|name| Kind::named(name));
        let chosen = chosen.ok_or_else(|| Error::new(ErrorKind::MissingRequiredArgument))?;
        let own = chosen.options(Command::new("taillight compare").no_binary_name(true));
        let is_own = |arg: &Arg| own.get_arguments().any(|of| of.get_id() == arg.get_id());
        for command in all() {
            let of_other = |arg: &&Arg| !is_own(arg) && typed.is(arg);
            if let Some(option) = command.get_arguments().find(of_other) {
                let (long, other) = (option.get_long().unwrap_or_default(), command.get_name());
                let text = format!(
                    "--{long} is for the workload {other}; add --workload {other}, or leave it out\n"
                );
                return Err(Error::raw(ErrorKind::ArgumentConflict, text));
            }
        }
        let words = typed.words(&own).into_iter().flat_map(|(.., words)| words);
        Ok(AnyWorkload(chosen.given(&own.try_get_matches_from(words)?)?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = AnyWorkload::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use spec::workload::Web;

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
    fn the_help_of_a_workload_begins_with_its_description() {
        let load = WorkloadCommand::<crate::job::TargetArg>::augment_subcommands(Command::new("load"));
        for kind in Kind::ALL {
            let command = load.find_subcommand(kind.name).unwrap();
            let shown =
                [command.get_about(), command.get_long_about()].map(|text| text.map(ToString::to_string));
            assert_eq!(shown, [Some(about(kind).to_owned()), None]);
        }
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
