//! The numbers of commands that are not of the specification: their defaults as the command line has them.

use clap::{Arg, Command, CommandFactory};

use spec::{Entry, Section};

const LOADS: &str = "IISWC'17 §IV-A: 10 to 100 % of the maximum";
const BLOCKS: &str = "ours, because three give a median in minutes; differences are tested from 6 on";
const MAXIMUM: &str = "ours, because the maximum of most machines differs by as much from block to block";
const PEAK: &str = "ours, because it is half of the step between the loads of IISWC'17 Fig. 1";

/// Why an option of a command has its default: the command, the option, the source.
const REASONS: [(&str, &str, &str); 11] = [
    ("load", "repeats", "ours, because one trial is the shortest answer; differences are tested from 6 on"),
    ("sweep", "loads", LOADS),
    ("sweep", "repeats", BLOCKS),
    ("sweep", "max-tolerance", MAXIMUM),
    ("peak", "tolerance", PEAK),
    ("peak", "max-tolerance", MAXIMUM),
    ("compare", "loads", LOADS),
    ("compare", "repeats", BLOCKS),
    ("compare", "tolerance", PEAK),
    ("selftest", "seed", "ours, because any number does, and the same one repeats the arrivals"),
    ("selftest", "window", "ours, because it is the window of a trial"),
];

/// Each with the default that the command line has.
pub(super) fn section() -> Section {
    let cli = crate::Cli::command();
    let entries = REASONS.iter().filter_map(|of| entry(&cli, *of));
    Section::new("Defaults of commands", entries)
}

fn entry(cli: &Command, (command, name, source): (&str, &str, &str)) -> Option<Entry> {
    let arg = option(cli.find_subcommand(command)?, name)?;
    let values: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let unit = if arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "PERCENT")) {
        " %"
    } else {
        ""
    };
    let meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let option = Some(format!("taillight {command} --{name}"));
    Some(Entry {
        option,
        ..Entry::of_value(format!("{command}.{name}"), format!("{}{unit}", values.join(",")), meaning, source)
    })
}

/// The option of a command, or of its workload `cache`.
fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let of = |command: &'a Command| command.get_arguments().find(|arg| arg.get_long() == Some(name));
    of(command).or_else(|| command.find_subcommand("cache").and_then(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_with_its_default() {
        let section = section();
        assert_eq!(section.entries.len(), REASONS.len());
        let check = |name: &str, expect: &str| {
            let found = section.entries.iter().find(|entry| entry.name == name);
            assert_eq!(found.and_then(|entry| entry.value.as_deref()), Some(expect), "{name}");
        };
        check("sweep.repeats", "3");
        check("sweep.max-tolerance", "3 %");
        check("peak.tolerance", "5 %");
        check("selftest.window", "5s");
        assert!(
            section.entries.iter().all(|entry| spec::is_source(&entry.source) && !entry.meaning.is_empty())
        );
    }
}
