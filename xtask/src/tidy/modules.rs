//! One style of modules: `name.rs` beside the folder `name`, so that a search for a file finds it by its name.

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let of_sources = |file: &str| file.contains("/src/") && file.ends_with("/mod.rs");
    let files = repository.ending(".rs").filter(|(file, _)| of_sources(file));
    files.map(|(file, _)| Finding::file(file, "is a module called mod.rs", moved(file))).collect()
}

fn moved(file: &str) -> String {
    format!("git mv {file} {}.rs", file.trim_end_matches("/mod.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn finds_modules_of_the_other_style() {
        let files = [
            ("crates/a/src/b/mod.rs", ""),
            ("crates/a/src/b.rs", ""),
            // Programs of tests share modules in this way, or each would be a program itself.
            ("crates/a/tests/support/mod.rs", ""),
        ];
        let findings = check(&Repository::of(&files), &[]);
        assert_eq!(places(&findings), ["crates/a/src/b/mod.rs:0"]);
        assert_eq!(findings[0].remedy, "git mv crates/a/src/b/mod.rs crates/a/src/b.rs");
    }
}
