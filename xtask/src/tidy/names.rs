//! The name of a type says what it holds. A name that many crates define says too little, and a file that needs two of
//! them has to import one under another name.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;
use crate::rust_text;

/// The most public types of one name.
const MOST: usize = 5;
/// The name that every crate may give to its error.
const EXCEPTED: &str = "Error";
/// The words that define a type.
const KINDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "union "];

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let mut defined: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (file, text) in repository.ending(".rs").filter(|(file, _)| file.contains("/src/")) {
        for (i, line) in rust_text::lines(text).iter().enumerate() {
            if let Some(name) = public_type(&line.code).filter(|name| *name != EXCEPTED) {
                defined.entry(name.to_owned()).or_default().push((file, i + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in defined.iter().filter(|(_, places)| places.len() > MOST) {
        findings.extend(places.iter().map(|(file, line)| {
            let problem = format!("{} public types are called {name}, over {MOST}", places.len());
            Finding::line(file, *line, problem, "give one of them a name that says what it holds")
        }));
    }
    findings
}

/// The name of the public type that a line of code defines.
fn public_type(code: &str) -> Option<&str> {
    let rest = code.trim_start().strip_prefix("pub ")?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let rest = KINDS.iter().find_map(|kind| rest.strip_prefix(*kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn finds_names_of_too_many_types() {
        let check_types = |text: &str, expect: usize| {
            let files: Vec<String> = (0..6).map(|n| format!("crates/a{n}/src/lib.rs")).collect();
            let files: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), text)).collect();
            assert!(check(&Repository::of(&files[..5]), &[]).is_empty(), "{text}");
            assert_eq!(check(&Repository::of(&files), &[]).len(), expect, "{text}");
        };
        check_types("pub struct Row<'a> {", 6);
        check_types("    pub enum Row {", 6);
        check_types("pub type Row = u8;\npub trait Line {}", 12);
        check_types("pub enum Error {", 0);
        check_types("pub(crate) struct Row;", 0);
        check_types("// pub struct Row;", 0);
        check_types("pub enum $type {", 0);
        check_types("pub use a::Row;", 0);
        let text = "use a;\npub unsafe trait Row {}\n".repeat(6);
        assert_eq!(places(&check(&Repository::of(&[("xtask/src/a.rs", &text)]), &[]))[1], "xtask/src/a.rs:4");
        assert!(check(&Repository::of(&[("crates/a/tests/a.rs", &text)]), &[]).is_empty());
    }
}
