//! Which words of a command line are the generator's.
//!
//! The lab hands them on as they were typed: it starts generators as processes and knows no workload's options.

use anyhow::{Result, bail};
use clap::{Arg, Args, Command};

use crate::args::{CacheOptions, WebOptions, generator_options};

/// Options of the generator that the lab sets for each trial itself.
const SET_BY_THE_LAB: [&str; 4] = ["seed", "warmup", "window", "cpus"];

/// The words of `argv` that are options of the generator, with their values.
///
/// `A` is what the whole command line was read as, so that it is known to be in order.
pub(crate) fn handed_on<A: Args>(argv: &[String]) -> Vec<String> {
    handed_on_without::<A>(argv, &SET_BY_THE_LAB)
}

/// As [`handed_on`], without the options of these names.
pub(crate) fn handed_on_without<A: Args>(argv: &[String], without: &[&str]) -> Vec<String> {
    let all = A::augment_args(Command::new("all"));
    let of_generator = generator_options();
    let mut kept = Vec::new();
    let mut words = argv.iter().peekable();
    while let Some(word) = words.next() {
        let Some(text) = word.strip_prefix("--") else { continue };
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let Some(option) = find(&all, name) else { continue };
        let is_value = |word: &&String| !may_go_without(option) || !word.starts_with('-');
        let value = if takes_value(option) && !text.contains('=') { words.next_if(is_value) } else { None };
        if find(&of_generator, name).is_some() && !without.contains(&name) {
            kept.push(word.clone());
            kept.extend(value.cloned());
        }
    }
    kept
}

/// Whether among `words` is an option of another workload than the one that is asked for.
///
/// Errors: there is, and it would change nothing.
pub(crate) fn check_options(words: &[String], workload: &str) -> Result<()> {
    let cache = CacheOptions::augment_args(Command::new("cache"));
    let web = WebOptions::augment_args(Command::new("web"));
    let others = match workload {
        "cache" => vec![("web", &web)],
        "web" => vec![("cache", &cache)],
        _ => return Ok(()),
    };
    for word in words {
        let Some(text) = word.strip_prefix("--") else { continue };
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let other = others.iter().find(|(_, options)| find(options, name).is_some());
        if let Some((other, _)) = other {
            bail!("--{name} is for the workload {other}, and this is {workload}; leave it out");
        }
    }
    Ok(())
}

fn find<'a>(command: &'a Command, long: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(long))
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// Whether the option means something by itself; then what looks like an option is not its value.
fn may_go_without(option: &Arg) -> bool {
    option.get_num_args().is_some_and(|range| range.min_values() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::SweepArgs;

    #[test]
    fn options_of_another_workload_are_refused() {
        let check = |workload: &str, line: &str, expect: bool| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(check_options(&words, workload).is_ok(), expect, "{workload} {line}");
        };
        check("cache", "--keys 5 --verify --popularity uniform --connections 5", true);
        check("cache", "--keys 5 --files 10x4KiB", false);
        check("web", "--files=10x4KiB --verify checksum --yes", true);
        check("web", "--mix=get:100", false);
        check("null", "--keys 5", true);
    }

    #[test]
    fn only_the_generators_words_are_handed_on() {
        let check = |line: &str, expect: &str| {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(handed_on::<SweepArgs>(&argv).join(" "), expect, "{line}");
        };
        check("sweep cache", "");
        check("sweep cache --target sphinx --connections 16", "--connections 16");
        check("sweep cache --connections=16 --repeats 5 --depth 4", "--connections=16 --depth 4");
        check("sweep --mix get:90,set:10 cache --yes --gate", "--mix get:90,set:10 --yes");
        // The lab sets these itself.
        check("sweep cache --seed 3 --window 2s --warmup=1s --cpus 1 --fill never", "--fill never");
        check("load cache --verify --keys 5", "--verify --keys 5");
        check("load web --verify checksum --files 10x4KiB", "--verify checksum --files 10x4KiB");
        // A value that looks like an option of the generator is none.
        check("sweep cache --memcached-arg --keys --keys 5", "--keys 5");
    }
}
