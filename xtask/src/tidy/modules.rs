//! One style of modules: `name.rs` next to the folder `name`, so that a search for a file finds it by its name. Every
//! file of tests is named in the test program of its crate, or its tests would not run.

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let of_sources = |file: &str| file.contains("/src/") && file.ends_with("/mod.rs");
    let files = repository.ending(".rs").filter(|(file, _)| of_sources(file));
    let styled = files.map(|(file, _)| {
        let remedy = format!("git mv {file} {}.rs", file.trim_end_matches("/mod.rs"));
        Finding::file(file, "is a module called mod.rs", remedy)
    });
    let unnamed = repository.ending(".rs").filter_map(|(file, _)| unnamed(repository, file));
    styled.chain(unnamed).collect()
}

/// A file of tests that is missing in `tests/main.rs`.
fn unnamed(repository: &Repository, file: &str) -> Option<Finding> {
    let (folder, name) = file.split_once("/tests/")?;
    let name = name.strip_suffix("/mod.rs").or_else(|| name.strip_suffix(".rs"))?;
    let program = format!("{folder}/tests/main.rs");
    let text = repository.text(&program).filter(|_| name != "main" && !name.contains('/'))?;
    let line = format!("mod {name};");
    let is_named = text.lines().any(|other| other.ends_with(&line));
    (!is_named).then(|| Finding::file(file, "is in no test program", format!("write `{line}` in {program}")))
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
        // Without a main.rs each file of tests is a program.
        assert_eq!(places(&findings), ["crates/a/src/b/mod.rs:0"]);
        assert_eq!(findings[0].remedy, "git mv crates/a/src/b/mod.rs crates/a/src/b.rs");
    }

    #[test]
    fn finds_tests_that_no_program_has() {
        let files = [
            ("crates/a/tests/main.rs", "mod one;\nmod folder;\n"),
            ("crates/a/tests/one.rs", ""),
            ("crates/a/tests/two.rs", ""),
            ("crates/a/tests/folder/mod.rs", ""),
            ("crates/a/tests/folder/part.rs", ""),
            ("crates/b/tests/two.rs", ""),
        ];
        let findings = check(&Repository::of(&files), &[]);
        assert_eq!(places(&findings), ["crates/a/tests/two.rs:0"]);
        assert_eq!(findings[0].remedy, "write `mod two;` in crates/a/tests/main.rs");
    }
}
