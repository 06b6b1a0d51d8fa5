//! crates/README.md lists every crate, in the order of the map: the order in which data flows.

use super::architecture;
use crate::finding::Finding;
use crate::markdown::{code_spans, rows};
use crate::metadata::Package;
use crate::repository::Repository;

const FILE: &str = "crates/README.md";
const TITLE: &str = "In the order in which data flows";

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let Some(text) = repository.text(FILE) else {
        return vec![Finding::file(FILE, "is missing", "write it: one row for each crate")];
    };
    let map = architecture::listed(repository.text(architecture::FILE).unwrap_or_default());
    let map: Vec<&str> = map.into_iter().map(|(_, name)| name).collect();
    let rows = rows(text, TITLE);
    let names: Vec<&str> = rows.iter().filter_map(|(_, cells)| code_spans(cells.first()?).next()).collect();
    if names == map {
        return Vec::new();
    }
    let apart = names.iter().zip(&map).position(|(a, b)| a != b).unwrap_or(names.len().min(map.len()));
    let or_end = |list: &[&str]| list.get(apart).map_or("the end".to_owned(), |name| format!("`{name}`"));
    let problem = format!("has {} where {} has {}", or_end(&names), architecture::FILE, or_end(&map));
    let line = rows.get(apart).map(|(line, _)| *line);
    vec![Finding { line, ..Finding::file(FILE, problem, "list the same crates in the same order in both") }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn wants_the_order_of_the_map() {
        let check_list = |names: &[&str], expect: &[&str]| {
            let rows: String = names.iter().map(|name| format!("| `{name}` | x |\n")).collect();
            let list = format!("## {TITLE}\n| crate | x |\n|---|---|\n{rows}");
            let map = "## The crates\n| crate |\n|---|\n| `a` |\n| `b` |\n";
            let findings = check(&Repository::of(&[(FILE, &list), ("ARCHITECTURE.md", map)]), &[]);
            assert_eq!(places(&findings), expect, "{names:?}");
        };
        check_list(&["a", "b"], &[]);
        check_list(&["b", "a"], &["crates/README.md:4"]);
        check_list(&["a"], &["crates/README.md:0"]);
        check_list(&["a", "b", "c"], &["crates/README.md:6"]);
        check_list(&[], &["crates/README.md:0"]);
    }
}
