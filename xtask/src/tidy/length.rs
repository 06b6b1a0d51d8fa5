//! A file is one idea; the limit finds files that hold several.

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

/// Lines of code and comments, without unit tests: the longest single idea here, a request's way through the load engine,
/// takes 551. Most files have about 150.
const LIMIT: usize = 600;

/// Beginning of the unit tests at the end of a file.
const TESTS: &str = "\n#[cfg(test)]\nmod tests {";

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let long = |(file, text): (&str, &str)| {
        let lines = text.split(TESTS).next().unwrap_or_default().lines().count();
        (lines > LIMIT && !is_test(file)).then(|| {
            let problem = format!("{lines} lines without tests, over {LIMIT}");
            Finding::file(file, problem, "find the second idea in it and give that a file of its own")
        })
    };
    repository.ending(".rs").filter_map(long).collect()
}

/// Whether the file holds tests only: these may be of any length.
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
        check_file("crates/a/src/lib.rs", 600, false);
        check_file("crates/a/src/lib.rs", 601, true);
        check_file("crates/a/src/b/tests.rs", 601, false);
        check_file("crates/a/tests/cli/main.rs", 601, false);
        check_file("README.md", 601, false);
        let with_tests =
            format!("{}\n#[cfg(test)]\nmod tests {{\n{}}}\n", "x\n".repeat(600), "y\n".repeat(600));
        assert!(check(&Repository::of(&[("crates/a/src/lib.rs", &with_tests)]), &[]).is_empty());
    }
}
