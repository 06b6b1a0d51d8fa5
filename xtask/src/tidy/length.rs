//! A file is one idea; the limit only finds those that became several.

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

/// Lines, unit tests included. Files of one idea have about 150 here.
const LIMIT: usize = 400;

/// Files that may be longer, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let long = |(file, text): (&str, &str)| {
        let lines = text.lines().count();
        let excepted = EXCEPTIONS.iter().any(|(exception, _)| *exception == file);
        (lines > LIMIT && !excepted && !is_test(file)).then(|| {
            let problem = format!("{lines} lines, over {LIMIT}");
            Finding::file(file, problem, "find the second idea in it and give that a file of its own")
        })
    };
    repository.ending(".rs").filter_map(long).collect()
}

/// Whether the file holds tests only: their cases may be as many as they are.
fn is_test(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/") || file.starts_with("tests/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_long_files() {
        let check_file = |file: &str, lines: usize, expect: bool| {
            let text = "x\n".repeat(lines);
            assert_eq!(!check(&Repository::of(&[(file, &text)]), &[]).is_empty(), expect, "{file} {lines}");
        };
        check_file("crates/a/src/lib.rs", 400, false);
        check_file("crates/a/src/lib.rs", 401, true);
        check_file("crates/a/src/b/tests.rs", 401, false);
        check_file("crates/a/tests/cli/main.rs", 401, false);
        check_file("README.md", 401, false);
    }
}
