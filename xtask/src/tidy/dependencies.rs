//! Every library has one line with the reason for it, and every line has its library.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::markdown::{code_spans, unfenced};
use crate::metadata::Package;
use crate::repository::Repository;

const REASONS: &str = "docs/reference/dependencies.md";
const WORKSPACE: &str = "Cargo.toml";

pub(super) fn check(repository: &Repository, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let declared = declared(repository.text(WORKSPACE).unwrap_or_default());
    let reasons = reasons(repository.text(REASONS).unwrap_or_default());
    let mut used = BTreeSet::new();
    for package in packages {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.source.is_some()) {
            used.insert(dependency.name.as_str());
            if !declared.iter().any(|(_, name)| *name == dependency.name) {
                let (file, name) = (format!("{}/Cargo.toml", package.folder()), &dependency.name);
                let problem = format!("{name} is not a dependency of the workspace");
                let remedy = format!("declare it in {WORKSPACE} and write `{name}.workspace = true` here");
                findings.push(Finding::file(&file, problem, remedy));
            }
        }
    }
    for (line, name) in &declared {
        if !reasons.iter().any(|(_, reason)| reason == name) {
            let remedy = format!("add a row to {REASONS}: what it does here and why this one");
            findings.push(Finding::line(WORKSPACE, *line, format!("{name} has no reason"), remedy));
        }
        if !used.contains(name) {
            findings.push(Finding::line(WORKSPACE, *line, format!("no crate uses {name}"), "remove it"));
        }
    }
    for (line, name) in &reasons {
        if !declared.iter().any(|(_, declared)| declared == name) {
            let problem = format!("{name} is not a dependency of the workspace");
            findings.push(Finding::line(REASONS, *line, problem, "remove the row"));
        }
    }
    findings
}

/// Libraries in `[workspace.dependencies]` that are not crates of this workspace, with their lines.
fn declared(toml: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut names = Vec::new();
    for (i, line) in toml.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim() == "[workspace.dependencies]";
        }
        let Some((name, value)) = line.split_once('=').filter(|_| inside && !line.starts_with('#')) else {
            continue;
        };
        let name = name.trim();
        if !name.ends_with(".path") && !value.contains("path =") {
            names.push((i + 1, name));
        }
    }
    names
}

/// The names in the first column of the tables.
fn reasons(markdown: &str) -> Vec<(usize, &str)> {
    unfenced(markdown)
        .filter_map(|(number, line)| {
            let cell = line.trim().strip_prefix('|')?.split('|').next()?;
            Some((number, code_spans(cell).next()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const TOML: &str =
        "[workspace.dependencies]\n# a comment = x\nserde = \"1\"\nown.path = \"crates/own\"\n\n[x]\ny = 1\n";

    #[test]
    fn every_library_has_its_reason() {
        let check_all = |reasons: &str, dependencies: &[&str], expect: &[&str]| {
            let files = [(WORKSPACE, TOML), (REASONS, reasons)];
            let findings = check(&Repository::of(&files), &[Package::of("a", dependencies)]);
            assert_eq!(places(&findings), expect, "{reasons}");
        };
        let reasons = "| crate | job |\n|---|---|\n| `serde` | x |\n";
        check_all(reasons, &["serde(registry)", "own"], &[]);
        check_all("", &["serde(registry)"], &["Cargo.toml:3"]);
        check_all(reasons, &[], &["Cargo.toml:3"]);
        check_all(reasons, &["serde(registry)", "rand(registry)"], &["crates/a/Cargo.toml:0"]);
        check_all(
            &format!("{reasons}| `gone` | x |\n"),
            &["serde(registry)"],
            &["docs/reference/dependencies.md:4"],
        );
    }
}
