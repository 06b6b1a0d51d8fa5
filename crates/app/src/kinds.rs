//! Kinds of services: what several services of an application have in common is written once.
//!
//! `[kind.NAME]` holds keys of a service. A `[[service]]` with `kind = "NAME"` has them beside its own: tables are merged key by
//! key, and of everything else the service's own counts. A kind may have a kind in turn.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Table, Value};

use crate::App;
use crate::check::near;
use crate::description::{Build, Cache, DataSet, Entrance, Image, Member, Service, Store};
use crate::settings::Setting;

/// Keys that a kind cannot set, as each service has its own.
const OWN: [&str; 3] = ["name", "number", "interface"];
/// How many kinds may stand behind each other; more lead in a circle.
const DEPTH: usize = 8;

/// The text of a description; `S` is a service.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Text<S> {
    name: String,
    title: String,
    like: Option<String>,
    #[serde(default, rename = "kind")]
    kinds: BTreeMap<String, Spanned<Table>>,
    #[serde(default, rename = "entrance")]
    entrances: Vec<Entrance>,
    #[serde(rename = "service")]
    services: Vec<S>,
    #[serde(default, rename = "member")]
    members: Vec<Member>,
    #[serde(default, rename = "store")]
    stores: Vec<Store>,
    #[serde(default, rename = "cache")]
    caches: Vec<Cache>,
    #[serde(default, rename = "setting")]
    settings: Vec<Setting>,
    #[serde(default, rename = "build")]
    builds: Vec<Build>,
    data: Option<DataSet>,
    #[serde(default, rename = "image")]
    images: Vec<Image>,
}

/// The application that `text` describes, without its files.
///
/// Errors: the first mistake, with its line; within a service that has a kind, with the lines of both.
pub(crate) fn read(text: &str) -> Result<App, String> {
    let said = |error: toml::de::Error| error.to_string();
    let table: Table = toml::from_str(text).map_err(said)?;
    if !table.contains_key("kind") && !has_kinds(&table) {
        let mut read: Text<Service> = toml::from_str(text).map_err(said)?;
        let services = std::mem::take(&mut read.services);
        return Ok(read.app(services));
    }
    let read: Text<Spanned<Table>> = toml::from_str(text).map_err(said)?;
    for (name, kind) in &read.kinds {
        if let Some(own) = OWN.iter().find(|own| kind.get_ref().contains_key(**own)) {
            return Err(format!(
                "kind '{name}' (line {}): `{own}` is each service's own; give it in [[service]]",
                line(text, kind.span().start)
            ));
        }
    }
    let services = read.services.iter().map(|service| merged(text, service, &read.kinds));
    let services = services.collect::<Result<_, _>>()?;
    Ok(read.app(services))
}

impl<S> Text<S> {
    fn app(self, services: Vec<Service>) -> App {
        App {
            name: self.name,
            title: self.title,
            like: self.like,
            entrances: self.entrances,
            services,
            members: self.members,
            stores: self.stores,
            caches: self.caches,
            settings: self.settings,
            builds: self.builds,
            data: self.data,
            images: self.images,
            templates: BTreeMap::new(),
            compiled: &[],
            folder: None,
        }
    }
}

/// Whether any service names a kind, even if no kind is described.
fn has_kinds(table: &Table) -> bool {
    let services = table.get("service").and_then(Value::as_array);
    services.into_iter().flatten().any(|service| service.get("kind").is_some())
}

fn merged(
    text: &str,
    service: &Spanned<Table>,
    kinds: &BTreeMap<String, Spanned<Table>>,
) -> Result<Service, String> {
    let own = service.get_ref();
    let name = own.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut place = format!("service '{name}' (line {})", line(text, service.span().start));
    let (mut whole, mut next) = (own.clone(), own.get("kind"));
    for depth in 0.. {
        let kind = match next {
            None => break,
            Some(Value::String(kind)) if depth < DEPTH => kind,
            Some(Value::String(_)) => {
                return Err(format!("{place}: more than {DEPTH} kinds; leave some out"));
            }
            Some(_) => return Err(format!("{place}: kind: it is a name, in quotation marks")),
        };
        let Some(found) = kinds.get(kind) else {
            let all: Vec<&str> = kinds.keys().map(String::as_str).collect();
            return Err(format!("{place}: there is no kind '{kind}'{}", near(kind, &all)));
        };
        place += &format!(", of kind '{kind}' (line {})", line(text, found.span().start));
        add(&mut whole, found.get_ref());
        next = found.get_ref().get("kind");
    }
    Value::Table(whole).try_into().map_err(|error| format!("{place}: {error}"))
}

/// Adds the keys of `kind` that `own` lacks.
fn add(own: &mut Table, kind: &Table) {
    for (key, value) in kind {
        match (own.get_mut(key), value) {
            (None, _) => drop(own.insert(key.clone(), value.clone())),
            (Some(Value::Table(own)), Value::Table(kind)) => add(own, kind),
            (Some(_), _) => {}
        }
    }
}

/// The line of the byte at `place`, from 1 on.
fn line(text: &str, place: usize) -> usize {
    text.get(..place).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"name = "a"
title = "T"

[kind.shell]
args = ["-c", "x"]
env = { A = "kind", B = "kind" }
[kind.shell.program]
name = "sh"
package = "dash"

[[service]]
name = "one"
kind = "shell"

[[service]]
name = "two"
kind = "shell"
args = ["-x"]
env = { B = "own" }
program = { package = "bash" }

[[service]]
name = "three"
program = { name = "true" }
"#;

    #[test]
    fn a_service_has_its_own_keys_and_those_of_its_kind() {
        let app = read(TWO).unwrap();
        let [one, two, three] = &app.services[..] else { panic!("{:?}", app.services) };
        assert_eq!((one.program.name.as_str(), one.program.package.as_deref()), ("sh", Some("dash")));
        assert_eq!((two.program.name.as_str(), two.program.package.as_deref()), ("sh", Some("bash")));
        assert_eq!((one.args.len(), two.args.len(), three.args.len()), (2, 1, 0));
        let env = |service: &Service| service.env.values().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!([env(one), env(two), env(three)], ["kind kind", "kind own", ""]);
        assert_eq!((one.kind.as_deref(), &three.kind), (Some("shell"), &None));
    }

    #[test]
    fn a_kind_may_have_a_kind() {
        let text = TWO.replace(
            "[kind.shell]",
            "[kind.all]\nrole = \"r\"\nwhen = \"all\"\n[kind.shell]\nkind = \"all\"\nwhen = \"shell\"",
        );
        let [one, _, three] = &read(&text).unwrap().services[..] else { panic!("three services") };
        assert_eq!((one.kind.as_deref(), one.role.as_str()), (Some("shell"), "r"));
        assert_eq!((one.when.as_deref(), three.role.as_str()), (Some("shell"), ""));
        let circle = read(&text.replace("[kind.all]", "[kind.all]\nkind = \"shell\"")).unwrap_err();
        assert!(circle.contains("more than 8 kinds"), "{circle}");
    }

    #[test]
    fn a_mistake_names_both_places() {
        let check = |old: &str, new: &str, says: &[&str]| {
            assert!(TWO.contains(old), "{old}");
            let error = read(&TWO.replacen(old, new, 1)).unwrap_err();
            assert!(says.iter().all(|words| error.contains(words)), "{new}: {error}");
        };
        let both = ["service 'one' (line 11)", "of kind 'shell' (line 4)"];
        check("args = [\"-c\"", "arg = [\"-c\"", &[both[0], both[1], "unknown field `arg`"]);
        check("kind = \"shell\"\n\n", "kind = \"shell\"\nwhn = \"a\"\n\n", &[both[0], both[1], "`whn`"]);
        check("kind = \"shell\"", "kind = \"shel\"", &["(line 11)", "no kind 'shel'; did you mean 'shell'?"]);
        check("kind = \"shell\"", "kind = 1", &["(line 11)", "kind: it is a name"]);
        check("[kind.shell]\n", "[kind.shell]\nnumber = 1\n", &["kind 'shell' (line 4)", "`number` is each"]);
        check("title", "titel", &["line 2", "unknown field `titel`"]);
        check(
            "[[service]]\nname = \"three\"",
            "[[service]]\nname = 3",
            &["service '' (line 22)", "invalid type"],
        );
    }

    #[test]
    fn without_kinds_a_mistake_has_its_line() {
        let error = read("name = 'a'\ntitle = 'T'\n[[service]]\nname = 'b'\nprogramm = 1\n").unwrap_err();
        assert!(error.contains("line 5"), "{error}");
        let error = read("name = 'a'\ntitle = 'T'\n[[service]]\nname = 'b'\nkind = 'c'\n").unwrap_err();
        assert!(error.contains("there is no kind 'c'"), "{error}");
    }
}
