//! The rules that no compiler checks. Each is one file with its table, its check and a fixture that breaks it.

mod architecture;
mod arrows;
mod dependencies;
mod heads;
mod leftovers;
mod length;
mod modules;
mod names;
mod paths;
mod plain;
mod pure;
mod registry;
mod siblings;
mod words;

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

pub(crate) const CHECKS: usize = ALL.len();

type Check = fn(&Repository, &[Package]) -> Vec<Finding>;

const ALL: [Check; 15] = [
    arrows::check,
    siblings::check,
    pure::check,
    architecture::check,
    paths::check,
    dependencies::check,
    heads::check,
    length::check,
    modules::check,
    names::check,
    words::check,
    plain::check,
    leftovers::check,
    registry::check,
    |repository, _| crate::docs::findings(repository),
];

/// The findings of all checks, ordered by place.
pub(crate) fn findings(repository: &Repository, packages: &[Package]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = ALL.iter().flat_map(|check| check(repository, packages)).collect();
    findings.sort();
    findings
}

/// The lines on which `check` finds something, as tests compare them.
#[cfg(test)]
fn places(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| format!("{}:{}", f.file, f.line.unwrap_or(0))).collect()
}
