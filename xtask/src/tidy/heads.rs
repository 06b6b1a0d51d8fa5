//! Every crate opens with its purpose, the reason for it, and one command to try.

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

pub(super) fn check(repository: &Repository, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let roots = ["lib", "main"].map(|root| format!("{}/src/{root}.rs", package.folder()));
        for (file, text) in roots.iter().filter_map(|file| Some((file, repository.text(file)?))) {
            let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
            // The program of a crate that also has a library may be a line that calls it.
            let second = file.ends_with("main.rs") && repository.exists(&roots[0]);
            if head.is_empty() {
                let remedy = "say in `//!` what it is and why";
                findings.push(Finding::line(file, 1, "the crate has no head", remedy));
            } else if !second && !head.iter().any(|line| line.contains("Try it: `")) {
                let remedy = "end it with ``Try it: `command`.``, a command that shows the crate at work";
                findings.push(Finding::line(file, 1, "the crate's head has nothing to try", remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wants_a_head_with_something_to_try() {
        let check_head = |files: &[(&str, &str)], expect: usize| {
            let found = check(&Repository::of(files), &[Package::of("a", &[]), Package::of("xtask", &[])]);
            assert_eq!(found.len(), expect, "{files:?}");
        };
        let good = "//! What.\n//!\n//! Try it: `cargo test`.\nmod b;\n";
        check_head(&[("crates/a/src/lib.rs", good)], 0);
        check_head(&[("crates/a/src/lib.rs", "mod b; //! Try it: `x`")], 1);
        check_head(&[("crates/a/src/main.rs", "//! What.\n")], 1);
        check_head(&[("crates/a/src/lib.rs", good), ("crates/a/src/main.rs", "//! What.\n")], 0);
        check_head(&[("crates/a/src/lib.rs", good), ("crates/a/src/main.rs", "fn main() {}\n")], 1);
        check_head(&[("xtask/src/main.rs", "fn main() {}\n")], 1);
    }
}
