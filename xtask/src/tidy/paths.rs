//! Documents refer only to existing paths: in backticks and in relative links.

use crate::finding::Finding;
use crate::markdown::{code_spans, resolve, unfenced, without_code};
use crate::metadata::Package;
use crate::repository::Repository;

/// Folders of this repository; a code span that starts with one of them and a slash is a path in
/// it.
const FOLDERS: [&str; 8] = ["crates", "deploy", "docs", "xtask", "fuzz", "studies", ".ci", ".cargo"];

/// The history may name removed files.
const HISTORY: &str = "CHANGELOG.md";

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in repository.ending(".md").filter(|(file, _)| *file != HISTORY) {
        for (number, line) in unfenced(text) {
            let paths = code_spans(line).filter_map(repository_path).map(str::to_owned);
            let prose = without_code(line);
            let links = links(&prose).filter_map(|link| resolve(file, link));
            for path in paths.chain(links).filter(|path| !repository.exists(path)) {
                let problem = format!("{path} does not exist");
                findings.push(Finding::line(file, number, problem, "name the file that took its place"));
            }
        }
    }
    findings
}

/// The path in `code`, if it looks like a single path of this repository rather than a pattern.
fn repository_path(code: &str) -> Option<&str> {
    let path = code.split(':').next()?;
    let (folder, rest) = path.split_once('/')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    (FOLDERS.contains(&folder) && !rest.is_empty() && rest.chars().all(plain)).then_some(path)
}

fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tidy::places;

    #[test]
    fn finds_pointers_to_nowhere() {
        let check_doc = |line: &str, expect: bool| {
            let files =
                [("docs/a.md", line), ("docs/b.md", ""), ("crates/x/src/y.rs", ""), ("README.md", "")];
            let findings = check(&Repository::of(&files), &[]);
            assert_eq!(places(&findings) == ["docs/a.md:1"], expect, "{line}: {findings:?}");
        };
        check_doc("see `crates/x/src/y.rs`", false);
        check_doc("see `crates/x/src/y.rs:12` and `crates/x`", false);
        check_doc("see `crates/x/src/z.rs`", true);
        check_doc("see `docs/` and `results/gone.json` and `crates/*/src`", false);
        check_doc("see [b](b.md#part), [r](../README.md), [w](https://example.org/x)", false);
        check_doc("see [c](c.md)", true);
        check_doc("see [r](../../README.md/x)", true);
        check_doc("such as `[c](c.md)`", false);
    }

    #[test]
    fn the_folders_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in FOLDERS {
            assert!(root.join(folder).is_dir(), "{folder}");
        }
    }

    #[test]
    fn history_may_name_what_was_removed() {
        let check_file = |file: &str, expect: usize| {
            assert_eq!(check(&Repository::of(&[(file, "`docs/gone.md`")]), &[]).len(), expect, "{file}");
        };
        check_file("CHANGELOG.md", 0);
        check_file("README.md", 1);
    }
}
