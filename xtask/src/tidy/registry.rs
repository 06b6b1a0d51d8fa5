//! The registry of an application that is made from source, `apps/NAME/app.toml`, agrees with its folders and its
//! interface definition, and no service uses another's code.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

/// The interface that every service answers in addition to its own.
const BASE: &str = "Chassis";
/// Endings of files that are code.
const CODE: [&str; 14] = [
    ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".scala", ".go", ".js", ".mjs", ".py", ".php", ".txt", ".sh",
];

/// A part of the description: its line, and its own keys with their values as they are written.
#[derive(Debug)]
struct Section<'a> {
    title: &'a str,
    line: usize,
    keys: BTreeMap<&'a str, String>,
}

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let descriptions = repository.ending("/app.toml").filter(|(file, _)| file.starts_with("apps/"));
    let made = descriptions.filter_map(|(file, text)| {
        let app = file.strip_suffix("/app.toml")?;
        let (idl_file, idl) =
            repository.ending(".thrift").find(|(idl, _)| idl.starts_with(&format!("{app}/idl/")))?;
        Some(of_app(repository, app, (file, text), (idl_file, idl)))
    });
    made.flatten().collect()
}

fn of_app(
    repository: &Repository,
    app: &str,
    (file, text): (&str, &str),
    (idl_file, idl): (&str, &str),
) -> Vec<Finding> {
    let sections = sections(text);
    let parts: Vec<&Section<'_>> =
        sections.iter().filter(|one| ["[service]", "[member]"].contains(&one.title)).collect();
    let mut findings = folders(repository, app, file, text, &sections, &parts);
    findings.extend(methods(file, &parts, idl_file, &interfaces(idl)));
    findings.extend(strangers(repository, app));
    findings
}

/// Each service that is written here has its folder, and each folder its service.
fn folders(
    repository: &Repository,
    app: &str,
    file: &str,
    text: &str,
    sections: &[Section<'_>],
    parts: &[&Section<'_>],
) -> Vec<Finding> {
    let services = format!("{app}/services/");
    let all: BTreeSet<&str> = repository
        .ending("")
        .filter_map(|(path, _)| path.strip_prefix(&services)?.split_once('/'))
        .map(|(name, _)| name)
        .collect();
    // Without services there is nothing to compare.
    if all.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for part in parts {
        let name = part.name();
        if is_written(part, sections) && !all.contains(name.as_str()) {
            let problem = format!("'{name}' is written here, and there is no folder {services}{name}");
            findings.push(Finding::line(file, part.line, problem, "write it, or leave `written` out"));
        }
    }
    for folder in all {
        let is_part = parts.iter().any(|part| part.name() == folder);
        // Some folders hold code that services of a kind share; the description names these.
        if !is_part && !text.contains(&format!("services/{folder}/")) {
            let problem = format!("{services}{folder} is no service of the registry");
            findings.push(Finding::file(file, problem, "describe it there, or remove the folder"));
        }
    }
    findings
}

/// A service has the methods of its interface, in the order in which they are numbered.
fn methods(
    file: &str,
    parts: &[&Section<'_>],
    idl_file: &str,
    interfaces: &BTreeMap<&str, (usize, Vec<&str>)>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut described = BTreeSet::from([BASE.to_owned()]);
    for part in parts {
        let Some(interface) = part.keys.get("interface").map(|value| unquoted(value)) else { continue };
        let own: Vec<String> = part.keys.get("methods").map_or(Vec::new(), |value| list(value));
        let problem = match interfaces.get(interface.as_str()) {
            None => Some(format!("interface '{interface}' is no service of {idl_file}")),
            Some((_, methods)) if *methods != own => {
                Some(format!("methods {}; {idl_file} has {}", own.join(", "), methods.join(", ")))
            }
            Some(_) => None,
        };
        findings.extend(problem.map(|problem| {
            let problem = format!("'{}': {problem}", part.name());
            Finding::line(file, part.line, problem, "both have the same, in the same order")
        }));
        described.insert(interface);
    }
    for (name, (line, _)) in interfaces.iter().filter(|(name, _)| !described.contains(**name)) {
        let problem = format!("no service of {file} has the interface '{name}'");
        findings.push(Finding::line(idl_file, *line, problem, "describe it there, or remove it"));
    }
    findings
}

/// A service that names the folder of another.
fn strangers(repository: &Repository, app: &str) -> Vec<Finding> {
    let services = format!("{app}/services/");
    let mut findings = Vec::new();
    let is_code = |file: &str| CODE.iter().any(|end| file.ends_with(end));
    let code = repository.ending("").filter(|(file, _)| file.starts_with(&services) && is_code(file));
    let names: BTreeSet<&str> = repository
        .ending("")
        .filter_map(|(file, _)| file.strip_prefix(&services)?.split_once('/'))
        .map(|(name, _)| name)
        .collect();
    for (file, text) in code {
        let Some((own, _)) = file[services.len()..].split_once('/') else { continue };
        for (at, line) in text.lines().enumerate() {
            let uses = |other: &&&str| **other != own && names_folder(line, other);
            if let Some(other) = names.iter().find(uses) {
                let problem = format!("service '{own}' uses code of '{other}'");
                findings.push(Finding::line(
                    file,
                    at + 1,
                    problem,
                    "what both need is the chassis of their language",
                ));
            }
        }
    }
    findings
}

/// Whether a line of code leads to the folder of a service: `services/NAME/`, `../NAME/`.
fn names_folder(line: &str, name: &str) -> bool {
    ["services/", "../"].iter().any(|before| {
        line.split(before)
            .skip(1)
            .any(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
    })
}

/// Whether the code of a part is in the application: the part, its kind or its kind's kind says so.
fn is_written(part: &Section<'_>, sections: &[Section<'_>]) -> bool {
    let mut one = part;
    for _ in 0..=sections.len() {
        if let Some(written) = one.keys.get("written") {
            return written == "true";
        }
        let Some(kind) = one.keys.get("kind").map(|value| unquoted(value)) else { return false };
        let title = format!("kind.{kind}");
        let Some(next) = sections.iter().find(|section| section.title == title) else { return false };
        one = next;
    }
    false
}

impl Section<'_> {
    fn name(&self) -> String {
        self.keys.get("name").map_or_else(String::new, |value| unquoted(value))
    }
}

/// The tables of a description, `[service]` for `[[service]]`. A list over several lines is joined.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut open: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        if let (Some(key), Some(section)) = (open, sections.last_mut()) {
            let value = section.keys.entry(key).or_default();
            value.push_str(line.trim());
            open = (!line.trim().starts_with(']')).then_some(key);
        } else if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push(Section { title, line: at + 1, keys: BTreeMap::new() });
        } else if let (Some((key, value)), Some(section)) = (line.split_once(" = "), sections.last_mut()) {
            let value = value.trim();
            section.keys.insert(key.trim(), value.to_owned());
            open = (value.ends_with('[') && !value.contains(']')).then(|| key.trim());
        }
    }
    sections
}

fn unquoted(value: &str) -> String {
    value.trim_matches('"').to_owned()
}

fn list(value: &str) -> Vec<String> {
    value.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The services of an interface definition: the line of each, and its methods in order.
fn interfaces(text: &str) -> BTreeMap<&str, (usize, Vec<&str>)> {
    let mut services = BTreeMap::new();
    let mut inside: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        let code = line.trim();
        if let Some(rest) = code.strip_prefix("service ") {
            let name = rest.split([' ', '{']).next().unwrap_or_default();
            services.insert(name, (at + 1, Vec::new()));
            inside = Some(name);
        } else if code.starts_with('}') {
            inside = None;
        } else if let Some((_, methods)) = inside.and_then(|name| services.get_mut(name))
            && !code.starts_with(['/', '*'])
            && let Some((before, _)) = code.split_once('(')
        {
            methods.extend(before.split_whitespace().last());
        }
    }
    services
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = r#"name = "m"
[kind.service]
written = true
[kind.cpp]
kind = "service"
file = [{ path = "a", template = "services/shared/a.j2" }]

[[service]]
name = "plot"
kind = "cpp"
interface = "Plot"
methods = ["read", "readMany"]

[[service]]
name = "front"
calls = [
    "plot",
]

[[member]]
name = "batch"
"#;
    const IDL: &str = "service Chassis {
  i64 ping(),
}
service Plot extends Chassis {
  /** What it is (about). */
  string read(1: MovieId movie) throws (1: Refused refused),
  list<string> readMany(1: list<MovieId> movies),
}
";

    type Files = Vec<(&'static str, String)>;

    fn found(change: &dyn Fn(&mut Files)) -> Vec<String> {
        let mut files: Files = vec![
            ("apps/m/app.toml", APP.to_owned()),
            ("apps/m/idl/m.thrift", IDL.to_owned()),
            ("apps/m/services/plot/main.cc", "#include \"handler.h\"\n".to_owned()),
            ("apps/m/services/shared/a.j2", String::new()),
            ("apps/other/app.toml", "name = \"other\"\n".to_owned()),
        ];
        change(&mut files);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        check(&Repository::of(&files), &[]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_registry_is_what_the_tree_has() {
        assert_eq!(found(&|_| ()), [""; 0]);
        let check = |place: usize, old: &str, new: &str, says: &str| {
            let found = found(&|files| {
                assert!(files[place].1.contains(old), "{old}");
                files[place].1 = files[place].1.replace(old, new);
            });
            assert!(found.len() == 1 && found[0].contains(says), "{new}: {found:?}");
        };
        check(
            0,
            "name = \"batch\"",
            "name = \"batch\"\nwritten = true",
            "app.toml:20: 'batch' is written here",
        );
        check(
            0,
            "\"read\", \"readMany\"",
            "\"readMany\", \"read\"",
            "app.toml:8: 'plot': methods readMany, read; apps/m/idl",
        );
        check(0, "services/shared/a.j2", "a.j2", "apps/m/services/shared is no service of the registry");
        check(
            1,
            "service Plot",
            "service Other {\n}\nservice Plot",
            "m.thrift:4: no service of apps/m/app.toml has",
        );
        check(1, "readMany", "readAll", "apps/m/idl/m.thrift has read, readAll");
        check(2, "handler.h", "../shared/x.h", "main.cc:1: service 'plot' uses code of 'shared'");
        check(2, "handler.h", "services/shared/x.h", "service 'plot' uses code of 'shared'");
        let two =
            found(&|files| files[0].1 = files[0].1.replace("interface = \"Plot\"", "interface = \"Plt\""));
        assert!(two[0].contains("'plot': interface 'Plt' is no service of") && two.len() == 2, "{two:?}");
    }

    #[test]
    fn before_the_first_folder_nothing_is_missing() {
        assert_eq!(found(&|files| files.retain(|(path, _)| !path.contains("/services/"))), [""; 0]);
    }
}
