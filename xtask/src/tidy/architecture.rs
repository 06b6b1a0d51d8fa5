//! ARCHITECTURE.md against the tree: every crate is on the map, and the table that follows one request leads
//! from type to file to guard.

use crate::finding::Finding;
use crate::markdown::{code_spans, rows};
use crate::metadata::Package;
use crate::repository::Repository;

const FILE: &str = "ARCHITECTURE.md";
const CRATES: &str = "The crates";
const REQUEST: &str = "Follow one request";

pub(super) fn check(repository: &Repository, packages: &[Package]) -> Vec<Finding> {
    let Some(text) = repository.text(FILE) else {
        return vec![Finding::file(FILE, "is missing", "write it: the map of the crates")];
    };
    let mut findings = crates_on_the_map(text, packages);
    let table = rows(text, REQUEST);
    if table.is_empty() {
        let remedy = "restore it: stage, type, file, guard";
        findings.push(Finding::file(FILE, format!("has no table under '{REQUEST}'"), remedy));
    }
    findings.extend(table.iter().filter_map(|(line, cells)| {
        let problem = request_row(repository, cells).err()?;
        Some(Finding::line(FILE, *line, problem, "follow the request again and correct the row"))
    }));
    findings
}

fn crates_on_the_map(text: &str, packages: &[Package]) -> Vec<Finding> {
    let crates = rows(text, CRATES);
    let listed = crates.iter().filter_map(|(line, cells)| Some((*line, code_spans(cells.first()?).next()?)));
    let listed: Vec<(usize, &str)> = listed.collect();
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.name != "xtask") {
        let times = listed.iter().filter(|(_, name)| *name == package.name).count();
        if times != 1 {
            let problem = format!("the table under '{CRATES}' names {} {times} times", package.name);
            findings.push(Finding::file(FILE, problem, "give each crate one row, where data reaches it"));
        }
    }
    for (line, name) in listed {
        if !packages.iter().any(|package| package.name == name) {
            let problem = format!("there is no crate {name}");
            findings.push(Finding::line(FILE, line, problem, "remove or correct the row"));
        }
    }
    findings
}

/// Whether a row's types are in its files and it names a guard.
fn request_row(repository: &Repository, cells: &[&str]) -> Result<(), String> {
    let [stage, types, files, guard] = cells else {
        return Err("a row needs stage, type, file and guard".into());
    };
    let mut texts = Vec::new();
    for path in code_spans(files) {
        texts.push(repository.text(path).ok_or_else(|| format!("'{stage}': there is no file {path}"))?);
    }
    for name in code_spans(types).filter_map(last_name) {
        if !texts.iter().any(|text| text.contains(name)) {
            return Err(format!("'{stage}': {files} does not mention {name}"));
        }
    }
    let empty = [*types, *files].iter().any(|cell| code_spans(cell).next().is_none()) || guard.is_empty();
    if empty { Err(format!("'{stage}' names no type, no file or no guard")) } else { Ok(()) }
}

/// The name itself in `Engine::admit` or `Arrival {seq, intended}`.
fn last_name(code: &str) -> Option<&str> {
    let path = code.split(['{', '(', '<', ' ']).next()?;
    path.rsplit("::").next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const MAP: &str = "\
## Follow one request

| stage | type | file | guarded by |
|---|---|---|---|
| schedule | `Arrival {seq}`, `Engine::admit` | `crates/a/src/x.rs` | its unit tests |

## The crates

| crate | what |
|---|---|
| `a` | x |
";

    #[test]
    fn compares_the_map_with_the_tree() {
        let check_map = |map: &str, packages: &[&str], expect: &[&str]| {
            let files = [(FILE, map), ("crates/a/src/x.rs", "struct Arrival; fn admit() {}")];
            let packages: Vec<Package> = packages.iter().map(|name| Package::of(name, &[])).collect();
            assert_eq!(places(&check(&Repository::of(&files), &packages)), expect, "{map}");
        };
        check_map(MAP, &["a", "xtask"], &[]);
        check_map(MAP, &["a", "b"], &["ARCHITECTURE.md:0"]);
        check_map(MAP, &[], &["ARCHITECTURE.md:11"]);
        check_map(&MAP.replace("x.rs", "y.rs"), &["a"], &["ARCHITECTURE.md:5"]);
        check_map(&MAP.replace("Arrival", "Departure"), &["a"], &["ARCHITECTURE.md:5"]);
        check_map(&MAP.replace("::admit", "::refuse"), &["a"], &["ARCHITECTURE.md:5"]);
        check_map(&MAP.replace("`crates/a/src/x.rs`", "x.rs"), &["a"], &["ARCHITECTURE.md:5"]);
        check_map(
            &MAP.replace("`crates/a/src/x.rs`", "`crates/a/src/x.rs`, `y.rs`"),
            &["a"],
            &["ARCHITECTURE.md:5"],
        );
        check_map(&MAP.replace("its unit tests", ""), &["a"], &["ARCHITECTURE.md:5"]);
        check_map(&MAP.replace("Follow", "Lose"), &["a"], &["ARCHITECTURE.md:0"]);
        assert_eq!(places(&check(&Repository::of(&[]), &[])), ["ARCHITECTURE.md:0"]);
    }
}
