//! No unfinished work in the tree: open work is an issue. Clippy finds the macros for unfinished code, and ignored
//! tests without a reason.

use crate::finding::Finding;
use crate::markdown::prose;
use crate::metadata::Package;
use crate::repository::Repository;
use crate::rust_text;

const NOTES: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in repository.ending("") {
        let unmerged = |line: &str| CONFLICT.iter().any(|mark| line.starts_with(mark));
        let lines = text.lines().enumerate().filter(|(_, line)| unmerged(line));
        findings.extend(lines.map(|(i, _)| {
            Finding::line(file, i + 1, "two versions stand beside each other", "merge them into one")
        }));
    }
    for (file, text) in repository.ending(".md") {
        for (number, line) in prose(text) {
            findings.extend(note(&line).map(|problem| Finding::line(file, number, problem, FINISH)));
        }
    }
    for (file, text) in repository.ending(".rs") {
        for (i, line) in rust_text::lines(text).iter().enumerate() {
            findings.extend(note(&line.comment).map(|problem| Finding::line(file, i + 1, problem, FINISH)));
        }
    }
    findings
}

/// Conflict markers of git.
const CONFLICT: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];

const FINISH: &str = "finish it, or open an issue and remove it";

fn note(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.find(|word| NOTES.contains(word)).map(|word| format!("a note '{word}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_left() {
        let check_line = |file: &str, line: &str, expect: bool| {
            assert_eq!(!check(&Repository::of(&[(file, line)]), &[]).is_empty(), expect, "{line}");
        };
        check_line("a.rs", "// TODO: later", true);
        check_line("a.rs", "/// FIXME", true);
        check_line("a.rs", "let a = \"TODO\"; // TODOS", false);
        check_line("a.md", "XXX", true);
        check_line("a.md", "`TODO`", false);
        check_line("a.toml", "<<<<<<< HEAD", true);
        check_line("a.toml", ">>>>>>> abc", true);
        check_line("a.toml", "a <<<<<<< b", false);
    }
}
