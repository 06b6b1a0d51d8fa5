//! The table of memcached's flags in `docs/reference/sphinx.md` is written from the tables that the server uses.
//!
//! `SPHINX_WRITE_DOCS=1 cargo test -p sphinx --lib documented` writes it.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Arg, Args, Command};

use super::Options;
use crate::extended::{self, NAMES};
use crate::memcached_flags::{FLAGS, Here};

const FILE: &str = "docs/reference/sphinx.md";
const BEGIN: &str = "<!-- made by `SPHINX_WRITE_DOCS=1 cargo test -p sphinx --lib documented` -->\n";
const END: &str = "<!-- end of the flags -->\n";

fn table() -> String {
    let mut text = String::from("| flag of memcached | here |\n|---|---|\n");
    for flag in &FLAGS {
        let long = if flag.long.is_empty() { String::new() } else { format!(", `--{}`", flag.long) };
        let value = flag.value.map_or(String::new(), |value| format!(" {value}"));
        let here = match flag.here {
            Here::Option(text) => text.to_owned(),
            Here::NoEffect(why) => format!("accepted with a warning: {why}"),
            Here::Refused(why) => format!("refused: {why}"),
        };
        writeln!(text, "| `-{}{value}`{long} | {here} |", flag.letter).unwrap();
    }
    text += "\n| name of `-o` | here |\n|---|---|\n";
    for row in &NAMES {
        let names: Vec<String> = row.names.iter().map(|name| format!("`{name}`")).collect();
        let kind = match row.here {
            extended::Here::Effect(_) => "",
            extended::Here::Nothing(_) => "accepted: ",
            extended::Here::NoEffect(_) => "accepted with a warning: ",
            extended::Here::Refused(_) => "refused: ",
        };
        writeln!(text, "| {} | {kind}{} |", names.join(", "), row.here.text()).unwrap();
    }
    text
}

#[test]
fn the_reference_has_the_table_of_flags() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the table has its beginning");
    let (written, after) = rest.split_once(END).expect("the table has its end");
    let expect = format!("\n{}\n", table());
    if std::env::var_os("SPHINX_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expect}{END}{after}")).unwrap();
        return;
    }
    assert!(
        written == expect,
        "{FILE} is stale: write it with SPHINX_WRITE_DOCS=1 cargo test -p sphinx --lib documented\n{expect}"
    );
}

#[test]
fn every_flag_of_the_table_is_an_option_and_every_short_option_is_in_the_table() {
    let mut command = Options::augment_args(Command::new("sphinxd").version("1"));
    command.build();
    let with_letter = |letter: char| command.get_arguments().find(|arg| arg.get_short() == Some(letter));
    for flag in &FLAGS {
        let arg = with_letter(flag.letter).unwrap_or_else(|| panic!("there is no -{}", flag.letter));
        let is_called = |name: &str| {
            arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name)
        };
        assert!(flag.long.is_empty() || is_called(flag.long), "-{} is not --{}", flag.letter, flag.long);
        assert_eq!(arg.get_action().takes_values(), flag.value.is_some(), "-{}", flag.letter);
    }
    for letter in command.get_arguments().filter_map(Arg::get_short) {
        assert!(FLAGS.iter().any(|flag| flag.letter == letter), "-{letter} is missing in the table");
    }
}

#[test]
fn every_flag_without_effect_is_accepted_with_its_warning() {
    for flag in &FLAGS {
        let words = [format!("-{}", flag.letter)].into_iter().chain(flag.value.map(|_| "1".into()));
        let read = || {
            let command = Options::augment_args(Command::new("sphinxd").no_binary_name(true));
            Options::read(&command.try_get_matches_from(words)?)
        };
        match flag.here {
            Here::NoEffect(why) => {
                assert_eq!(read().unwrap().warnings, [format!("-{} has no effect: {why}", flag.letter)]);
            }
            Here::Refused(why) => {
                let error = read().unwrap_err().to_string();
                assert_eq!(error, format!("error: -{} is refused: {why}; leave it out\n", flag.letter));
            }
            Here::Option(_) => {}
        }
    }
}
