//! Checks of this repository, for people and for CI alike.
//!
//! `tidy` compares the tree with the rules in the documents: dependencies that crates must never have, the
//! architecture's tables, the length of files, the words. `ci` is the README's test command: from an empty machine it
//! installs the tools that the tests need, runs every check and ends with one line that counts the tests. `docs` makes
//! the documents' measured tables from the results next to them.
//!
//! Try it: `cargo xtask tidy`.

mod aarch64;
mod ci;
mod command;
mod differential;
mod dist;
mod docs;
mod evidence;
mod finding;
mod markdown;
mod metadata;
mod qemu;
mod repository;
mod rust_text;
mod tidy;

use std::process::ExitCode;

use finding::Finding;
use repository::Repository;

/// The root of this repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const HELP: &str = "\
Checks of this repository.

cargo xtask tidy             the rules that no compiler checks: dependencies between crates, documents
                             against the tree, length of files, words
cargo xtask ci               install what the tests need, then format, tidy, clippy, tests; names what
                             it leaves to --all
cargo xtask ci --all         also what takes long to compile and rarely breaks, and the unit tests for aarch64
cargo xtask docs             write the measured tables in the documents from the packed results beside them
cargo xtask docs --check     only say which differ from what their result gives; part of tidy
cargo xtask docs --due       the results that are missing or older than what they measure, with what measures them
cargo xtask evidence [--budget 90m] [STUDY]...
                             measure the studies that are due, the longest first, and publish their results; an
                             interrupted study continues
cargo xtask ci --no-install  with what is there; says what that leaves out
cargo xtask tools [--all]    only what `ci` does first: install what the tests need
cargo xtask ci --shuffle     the tests of each program in a random order, which the shown --shuffle-seed repeats
                             as --shuffle=SEED
cargo xtask ci --once        no failed test a second time
cargo xtask aarch64          check the workspace for aarch64, and run its unit tests under QEMU; as root it installs what
                             that takes, the target of rustc by rustup or from Debian
cargo xtask aarch64 --core   only the unit tests of what is pure, serves, or meets the kernel
cargo xtask differential --seconds N [--seed S]
                             Sphinx and memcached with the same random commands, in every sharing mode and on both
                             event loops; prints the first difference that DIFFERENCES.md does not list
cargo xtask dist [--out DIR] [--target TARGET]... [--profile NAME] [--programs DIR] [--registry HOST] [--url URL]
                             compile the programs and write the files of a release: archives, Debian packages, images,
                             chart, checksums; with --programs package those in DIR/TARGET
cargo xtask qemu [NAME]      boot guests, all or those that are named, and check what works there: knobs, and studies on
                             four and on eight processors; --list names them
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["tidy"] => tidy(),
        ["docs"] => docs(false),
        ["docs", "--check"] => docs(true),
        ["docs", "--due"] => due(),
        ["evidence", words @ ..] => evidence::run(words),
        ["aarch64", words @ ..] => aarch64::run_checks(words),
        ["qemu", words @ ..] => qemu::run_guests(words),
        ["dist", words @ ..] => dist::run(words),
        ["differential", words @ ..] => differential::run(words),
        ["tools"] => Ok(ci::tools_for(ci::Tier::Fast)),
        ["tools", "--all"] => Ok(ci::tools_for(ci::Tier::Slow)),
        ["ci", words @ ..] => match ci::CiOptions::read(words) {
            Some(request) => ci::run(request),
            None => Err(format!("cannot read 'ci {}'\n\n{HELP}", words.join(" "))),
        },
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(true)
        }
        [] => Err(format!("no task is given\n\n{HELP}")),
        given => Err(format!("there is no task '{}'\n\n{HELP}", given.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the generated regions, or with `check` prints those that differ; true if there are no findings.
fn docs(check: bool) -> Result<bool, String> {
    let repository = Repository::read()?;
    let findings = if check { docs::findings(&repository) } else { docs::write(&repository)? };
    Ok(print("docs", &findings))
}

/// Prints which results are to be measured, and how.
fn due() -> Result<bool, String> {
    let repository = Repository::read()?;
    for due in docs::due(&repository) {
        println!("{}:{}", due.path, due.why);
        due.commands().iter().for_each(|command| println!("    {command}"));
    }
    Ok(true)
}

/// Prints tidy's findings; true if there are none.
fn tidy() -> Result<bool, String> {
    let repository = Repository::read()?;
    let packages = metadata::read(repository.root())?;
    println!("tidy: {} checks", tidy::CHECKS);
    Ok(print("tidy", &tidy::findings(&repository, &packages)))
}

/// Prints findings and their number; true if there are none.
fn print(task: &str, findings: &[Finding]) -> bool {
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.len() {
        0 => println!("{task}: nothing to say"),
        1 => println!("{task}: 1 finding"),
        n => println!("{task}: {n} findings"),
    }
    findings.is_empty()
}
