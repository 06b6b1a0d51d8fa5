//! Pure crates read no clock, open no socket and start no thread: not by a crate, not by std, not by a system call.
//!
//! clippy holds the compiler's view of it (`crates/clippy-pure.toml`, which each pure crate links to as its own
//! `clippy.toml`); this holds the text, so that a link that is missing or an `allow` is seen too.

use super::arrows::PURE;
use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;
use crate::rust_text;

/// The list of types that clippy refuses in pure crates.
const CLIPPY: &str = "crates/clippy-pure.toml";

/// Names that the code of a pure crate does without.
const IMPURE: [&str; 11] = [
    "Instant",
    "SystemTime",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "std::net",
    "std::thread",
    "rustix::net",
    "rustix::time",
    "rustix::event",
];

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in PURE.iter().filter(|name| repository.exists(&format!("crates/{name}"))) {
        let config = format!("crates/{name}/clippy.toml");
        if repository.text(&config) != repository.text(CLIPPY) {
            let remedy = format!("ln -s ../clippy-pure.toml {config}");
            findings.push(Finding::file(&config, format!("is not a link to {CLIPPY}"), remedy));
        }
        let sources = format!("crates/{name}/src/");
        for (file, text) in repository.ending(".rs").filter(|(file, _)| file.starts_with(&sources)) {
            for (i, line) in rust_text::lines(text).iter().enumerate() {
                let impure = IMPURE.iter().find(|name| has_word(&line.code, name));
                findings.extend(impure.map(|impure| {
                    let problem = format!("{impure} in a pure crate");
                    let remedy = "take the time or the bytes as an argument, and leave threads to the caller";
                    Finding::line(file, i + 1, problem, remedy)
                }));
            }
        }
    }
    findings
}

fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(part) && !code[at + word.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn finds_clocks_and_sockets() {
        let check_line = |line: &str, expect: bool| {
            let files = [("crates/units/src/a.rs", line), ("crates/units/clippy.toml", "x"), (CLIPPY, "x")];
            assert_eq!(!check(&Repository::of(&files), &[]).is_empty(), expect, "{line}");
        };
        check_line("use std::time::Instant;", true);
        check_line("use std::{net::UdpSocket, io};", true);
        check_line("let now = std::time::SystemTime::now();", true);
        check_line("use std::net::IpAddr;", true);
        check_line("std::thread::spawn(f);", true);
        check_line("use rustix::time::clock_gettime;", true);
        check_line("use std::time::Duration;", false);
        check_line("struct Instantly; // not an Instant", false);
        check_line("let text = \"Instant\";", false);
    }

    #[test]
    fn wants_clippy_to_know() {
        let check_config = |files: &[(&str, &str)], expect: &[&str]| {
            let findings = check(&Repository::of(files), &[]);
            assert_eq!(places(&findings), expect, "{files:?}");
        };
        let (source, config) = ("crates/hist/src/lib.rs", "crates/hist/clippy.toml");
        check_config(&[(source, ""), (config, "a"), (CLIPPY, "a")], &[]);
        check_config(&[(source, ""), (config, "b"), (CLIPPY, "a")], &["crates/hist/clippy.toml:0"]);
        check_config(&[(source, ""), (CLIPPY, "a")], &["crates/hist/clippy.toml:0"]);
        check_config(&[("crates/lab/src/lib.rs", "use std::time::Instant;"), (CLIPPY, "a")], &[]);
    }
}
