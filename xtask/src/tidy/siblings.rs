//! Workloads do not know each other: code that two of them need belongs to neither.

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;
use crate::rust_text;

/// The modules of crate `workloads` that are workloads.
const WORKLOADS: [&str; 6] = ["cache", "web", "video", "social", "movies", "null"];

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in repository.ending(".rs") {
        let Some(own) = WORKLOADS.iter().find(|name| {
            let module = format!("crates/workloads/src/{name}");
            file == format!("{module}.rs") || file.starts_with(&format!("{module}/"))
        }) else {
            continue;
        };
        for (i, line) in rust_text::lines(text).iter().enumerate() {
            let other = WORKLOADS.iter().find(|other| other != &own && names(&line.code, other));
            findings.extend(other.map(|other| {
                let problem = format!("workload {own} uses workload {other}");
                let remedy = "move what both need to a module of its own in `workloads`";
                Finding::line(file, i + 1, problem, remedy)
            }));
        }
    }
    findings
}

/// Whether `code` names the crate's module `module`.
fn names(code: &str, module: &str) -> bool {
    let after = |start: &str| {
        code.split(start).skip(1).any(|rest| {
            rest.strip_prefix(module)
                .is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    after("crate::") || after("super::super::")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn finds_one_workload_in_another() {
        let check_line = |file: &str, line: &str, expect: bool| {
            let findings = check(&Repository::of(&[(file, line)]), &[]);
            assert_eq!(!places(&findings).is_empty(), expect, "{file}: {line}");
        };
        check_line("crates/workloads/src/web/mix.rs", "use crate::cache::Items;", true);
        check_line("crates/workloads/src/web.rs", "let a = crate::video::SIZE;", true);
        check_line("crates/workloads/src/web.rs", "use crate::web::Mix;", false);
        check_line("crates/workloads/src/web.rs", "use crate::cached::Mix; // not crate::cache", false);
        check_line("crates/workloads/src/lib.rs", "use crate::cache::Items;", false);
    }
}
