use std::fmt::Write;
use std::{env, fs};

use super::ALL;
use super::pair::Way;
use super::program::Program;

pub(crate) const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/sphinx.md");
/// Set to write the table instead of comparing it.
const WRITE: &str = "SPHINX_WRITE_DOCS";
const BEGIN: &str =
    "<!-- made by `SPHINX_WRITE_DOCS=1 cargo test -p sphinx --test it programs document` -->\n";
const END: &str = "<!-- end of what is made -->\n";

fn table() -> String {
    let mut text = String::from("| program | version | what is checked | with Sphinx |\n|---|---|---|---|\n");
    for program in ALL {
        row(&mut text, &program());
    }
    text
}

fn row(text: &mut String, program: &Program) {
    let mut names: Vec<&str> = program.checks.iter().map(|check| check.name).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let differences =
        program.checks.iter().filter_map(|check| Some((check.name, check.difference.as_ref()?.why)));
    let differences: Vec<String> = differences.map(|(name, why)| format!("{name} ({why})")).collect();
    let other = if program.checks.iter().any(|check| check.way == Way::Resp) { "Redis" } else { "memcached" };
    let result = match &differences[..] {
        _ if !program.was_run => {
            format!("the test compares it with {other} where it is installed; no result yet")
        }
        [] => format!("as with {other}"),
        differences => format!("as with {other}, except {}", differences.join(", ")),
    };
    writeln!(text, "| {} | {} | {} | {result} |", program.name, program.version, names.join(", ")).unwrap();
}

/// The page with the table in its place.
fn with_table(page: &str, table: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the table");
    let (_, after) = rest.split_once(END).expect("the mark behind the table");
    format!("{before}{BEGIN}\n{table}\n{END}{after}")
}

#[test]
fn the_document_has_this_table() {
    let page = fs::read_to_string(PAGE).unwrap();
    let expected = with_table(&page, &table());
    if env::var_os(WRITE).is_some() {
        // At once, since other tests read it.
        let new = format!("{PAGE}.new");
        fs::write(&new, &expected).unwrap();
        fs::rename(&new, PAGE).unwrap();
    } else {
        assert!(page == expected, "docs/reference/sphinx.md is out of date; {}", BEGIN.trim());
    }
}

#[test]
fn a_table_is_replaced_between_its_marks() {
    let page = format!("a\n{BEGIN}old\n{END}b\n");
    assert_eq!(with_table(&page, "new\n"), format!("a\n{BEGIN}\nnew\n\n{END}b\n"));
}
