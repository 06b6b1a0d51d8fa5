//! The registry of an application that is made from source, `apps/NAME/app.toml`, agrees with its folders and its
//! interface definition, and no service uses another's code.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use serde::Deserialize;
use toml::Spanned;

use crate::finding::Finding;
use crate::metadata::Package;
use crate::repository::Repository;

/// The interface that every service answers in addition to its own.
const BASE: &str = "Chassis";
/// Endings of files that are code.
const CODE: [&str; 14] = [
    ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".scala", ".go", ".js", ".mjs", ".py", ".php", ".txt", ".sh",
];

/// A description, as far as the checks look at it.
#[derive(Deserialize)]
struct Description {
    #[serde(default)]
    kind: BTreeMap<String, Part>,
    #[serde(default)]
    service: Vec<Spanned<Part>>,
    #[serde(default)]
    member: Vec<Spanned<Part>>,
}

/// A service, a member or a kind.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    name: String,
    kind: Option<String>,
    written: Option<bool>,
    interface: Option<String>,
    #[serde(default)]
    methods: Vec<String>,
}

/// An application, its description and the folders of its services.
struct App<'a> {
    repository: &'a Repository,
    file: &'a str,
    text: &'a str,
    kinds: BTreeMap<String, Part>,
    /// The services and members, each with its line.
    parts: Vec<(usize, Part)>,
    /// The folder that holds the services' folders, with a slash at its end.
    services: String,
    folders: BTreeSet<&'a str>,
}

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let descriptions = repository.ending("/app.toml").filter(|(file, _)| file.starts_with("apps/"));
    let made = descriptions.filter_map(|(file, text)| {
        let folder = file.strip_suffix("/app.toml")?;
        let (idl_file, idl) =
            repository.ending(".thrift").find(|(idl, _)| idl.starts_with(&format!("{folder}/idl/")))?;
        Some(match App::read(repository, folder, file, text) {
            Ok(app) => [app.folders(), app.methods(idl_file, &interfaces(idl)), app.strangers()].concat(),
            Err(error) => {
                vec![Finding::file(file, format!("cannot be read: {}", error.message()), "correct it")]
            }
        })
    });
    made.flatten().collect()
}

impl<'a> App<'a> {
    fn read(
        repository: &'a Repository,
        folder: &str,
        file: &'a str,
        text: &'a str,
    ) -> Result<App<'a>, toml::de::Error> {
        let Description { kind: kinds, service, member } = toml::from_str(text)?;
        let line = |part: &Spanned<Part>| text[..part.span().start].matches('\n').count() + 1;
        let parts = service.into_iter().chain(member).map(|part| (line(&part), part.into_inner())).collect();
        let services = format!("{folder}/services/");
        let inside =
            repository.ending("").filter_map(|(path, _)| path.strip_prefix(&services)?.split_once('/'));
        let folders = inside.map(|(name, _)| name).collect();
        Ok(App { repository, file, text, kinds, parts, services, folders })
    }

    /// Each service that is written here has its folder, and each folder its service.
    fn folders(&self) -> Vec<Finding> {
        let App { file, services, folders, .. } = self;
        // Without services there is nothing to compare.
        if folders.is_empty() {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for (line, part) in &self.parts {
            let name = part.name.as_str();
            if self.is_written(part) && !folders.contains(name) {
                let problem = format!("'{name}' is written here, and its folder {services}{name} is missing");
                findings.push(Finding::line(file, *line, problem, "write it, or leave `written` out"));
            }
        }
        for folder in folders {
            let is_part = self.parts.iter().any(|(_, part)| part.name == *folder);
            // Some folders hold code that services of a kind share; the description names these.
            if !is_part && !self.text.contains(&format!("services/{folder}/")) {
                let problem = format!("{services}{folder} is not a service of the registry");
                findings.push(Finding::file(file, problem, "describe it there, or remove the folder"));
            }
        }
        findings
    }

    /// Whether the code of a part is in the application: the part, its kind or its kind's kind says so.
    fn is_written(&self, part: &Part) -> bool {
        let kinds = iter::successors(Some(part), |part| self.kinds.get(part.kind.as_ref()?));
        // Kinds may name each other in a circle.
        kinds.take(self.kinds.len() + 1).find_map(|part| part.written) == Some(true)
    }

    /// A service has the methods of its interface, in the order in which they are numbered.
    fn methods(&self, idl_file: &str, interfaces: &BTreeMap<&str, (usize, Vec<&str>)>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut described = BTreeSet::from([BASE]);
        for (line, part) in &self.parts {
            let Some(interface) = part.interface.as_deref() else { continue };
            let problem = match interfaces.get(interface) {
                None => Some(format!("interface '{interface}' is not a service of {idl_file}")),
                Some((_, methods)) if *methods != part.methods => Some(format!(
                    "methods {}; {idl_file} has {}",
                    part.methods.join(", "),
                    methods.join(", ")
                )),
                Some(_) => None,
            };
            findings.extend(problem.map(|problem| {
                let problem = format!("'{}': {problem}", part.name);
                Finding::line(self.file, *line, problem, "both have the same, in the same order")
            }));
            described.insert(interface);
        }
        for (name, (line, _)) in interfaces.iter().filter(|(name, _)| !described.contains(**name)) {
            let problem = format!("no service of {} has the interface '{name}'", self.file);
            findings.push(Finding::line(idl_file, *line, problem, "describe it there, or remove it"));
        }
        findings
    }

    /// Finds services whose code names the folder of another service.
    fn strangers(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_code = |file: &str| CODE.iter().any(|end| file.ends_with(end));
        for (file, text) in self.repository.ending("").filter(|(file, _)| is_code(file)) {
            let path = file.strip_prefix(&self.services).and_then(|path| path.split_once('/'));
            let Some((own, _)) = path else { continue };
            for (at, line) in text.lines().enumerate() {
                let uses = |other: &&&str| **other != own && names_folder(line, other);
                if let Some(other) = self.folders.iter().find(uses) {
                    let problem = format!("service '{own}' uses code of '{other}'");
                    let remedy = "move shared code to the chassis of their language";
                    findings.push(Finding::line(file, at + 1, problem, remedy));
                }
            }
        }
        findings
    }
}

/// Whether a line of code leads to the folder of a service: `services/NAME/`, `../NAME/`.
fn names_folder(line: &str, name: &str) -> bool {
    ["services/", "../"].iter().any(|before| {
        line.split(before)
            .skip(1)
            .any(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
    })
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
        check(0, "services/shared/a.j2", "a.j2", "apps/m/services/shared is not a service of the registry");
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
        assert!(two[0].contains("'plot': interface 'Plt' is not a service of") && two.len() == 2, "{two:?}");
    }

    #[test]
    fn before_the_first_folder_nothing_is_missing() {
        assert_eq!(found(&|files| files.retain(|(path, _)| !path.contains("/services/"))), [""; 0]);
    }
}
