//! Checks that the tables of memcached's flags in `docs/reference/sphinx.md` match the server.

use std::collections::BTreeMap;

use clap::{Arg, Args, Command};

use crate::extended::{self, NAMES};
use crate::memcached_flags::FLAGS;
use crate::options::Options;

const FILE: &str = include_str!("../../../../../docs/reference/sphinx.md");

/// The rows of the table with this heading: the words in backticks of the first cell, and the second.
fn table(heading: &str) -> Vec<(Vec<&'static str>, &'static str)> {
    let (_, rows) = FILE.split_once(&format!("| {heading} | here |\n|---|---|\n")).expect("it has the table");
    let rows = rows.lines().map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.map(|(names, here)| (names.split('`').skip(1).step_by(2).collect(), here)).collect()
}

fn without_effect(here: &str) -> bool {
    ["accepted with a warning: ", "refused: "].iter().any(|begin| here.starts_with(begin))
}

#[test]
fn every_flag_of_the_table_is_an_option_and_every_short_option_is_in_the_table() {
    let mut command = Options::augment_args(Command::new("sphinxd").version("1"));
    command.build();
    let with_letter = |letter: char| command.get_arguments().find(|arg| arg.get_short() == Some(letter));
    let mut rows = BTreeMap::new();
    for (names, here) in table("flag of memcached") {
        let (flag, value) = names[0].split_once(' ').map_or((names[0], None), |(f, v)| (f, Some(v)));
        let letter = flag.chars().nth(1).unwrap();
        let arg = with_letter(letter).unwrap_or_else(|| panic!("there is no {flag}"));
        if let Some(long) = names.get(1) {
            let is_called = |name: &str| {
                arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name)
            };
            assert!(is_called(long.trim_start_matches('-')), "{flag} is not {long}");
        }
        assert_eq!(arg.get_action().takes_values(), value.is_some(), "{flag}");
        assert!(rows.insert(letter, here).is_none(), "{flag} is there twice");
    }
    for letter in command.get_arguments().filter_map(Arg::get_short) {
        let here = rows.remove(&letter).unwrap_or_else(|| panic!("-{letter} is missing in the table"));
        match FLAGS.iter().find(|flag| flag.letter == letter) {
            Some(flag) => assert_eq!(here, format!("accepted with a warning: {}", flag.why)),
            None => assert!(!without_effect(here), "-{letter}"),
        }
    }
    assert!(rows.is_empty(), "{rows:?}");
}

#[test]
fn the_table_of_o_has_the_names_that_are_read() {
    let rows = table("name of `-o`");
    let mut rows: BTreeMap<&str, &str> =
        rows.iter().flat_map(|(names, here)| names.iter().map(|name| (*name, *here))).collect();
    for (name, row) in NAMES.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row))) {
        let here = rows.remove(name).unwrap_or_else(|| panic!("{name} is missing in the table"));
        match row.here {
            extended::Here::Effect => {
                assert!(!without_effect(here) && !here.starts_with("accepted"), "{name}")
            }
            extended::Here::Nothing => assert!(here.starts_with("accepted: "), "{name}"),
            extended::Here::NoEffect(why) => assert_eq!(here, format!("accepted with a warning: {why}")),
            extended::Here::Refused(why) => assert_eq!(here, format!("refused: {why}")),
        }
    }
    assert!(rows.is_empty(), "{rows:?}");
}

#[test]
fn every_flag_without_effect_is_accepted_with_its_warning() {
    for flag in &FLAGS {
        let words = [format!("-{}", flag.letter)].into_iter().chain(flag.takes_value.then(|| "1".into()));
        let command = Options::augment_args(Command::new("sphinxd").no_binary_name(true));
        let read = command.try_get_matches_from(words).and_then(|matches| Options::read(&matches));
        assert_eq!(read.unwrap().warnings, [format!("-{} has no effect: {}", flag.letter, flag.why)]);
    }
}
