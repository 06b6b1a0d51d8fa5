//! An application that is like another: its description contains only the differences.
//!
//! `like = "movies"` starts from that application's description, in a sibling folder, and its files. Tables are merged
//! key by key, and any other value of the new description overrides; in lists of tables, entries with the same `name`
//! are merged. `without` leaves services and members out.

use serde::Deserialize;
use toml::{Table, Value};

use crate::check::near;

/// Lists whose entries have names.
const NAMED: [&str; 6] = ["service", "member", "store", "cache", "setting", "build"];
/// Lists from which `without` can remove entries.
const LEFT_OUT: [&str; 2] = ["service", "member"];

/// The two keys that no other application has.
#[derive(Deserialize)]
struct Keys {
    like: Option<String>,
    without: Option<Vec<String>>,
}

/// The name of the application that the one of `text` is like; `None` for a complete description, or one with a
/// mistake, which is reported by its reader.
pub(crate) fn name(text: &str) -> Option<String> {
    toml::from_str::<Keys>(text).ok()?.like
}

/// The whole description of an application that is like the one which `base` describes.
///
/// Errors: `base` is itself like another, or a name in `without` does not exist.
pub(crate) fn joined(text: &str, base: &str) -> Result<String, String> {
    let said = |error: toml::de::Error| error.to_string();
    let keys: Keys = toml::from_str(text).map_err(said)?;
    let mut own: Table = toml::from_str(text).map_err(said)?;
    let mut all: Table = toml::from_str(base).map_err(said)?;
    if all.contains_key("like") {
        let name = keys.like.unwrap_or_default();
        return Err(format!(
            "like = \"{name}\": '{name}' is like another application itself; name that, and say what differs"
        ));
    }
    own.remove("without");
    for name in keys.without.unwrap_or_default() {
        leave_out(&mut all, &name)?;
    }
    for (key, value) in own {
        if key == "kind" {
            if let (Value::Table(kinds), Some(Value::Table(of_base))) = (value, all.get_mut("kind")) {
                put(of_base, kinds);
            }
        } else if NAMED.contains(&key.as_str()) {
            join(all.entry(key).or_insert_with(|| Value::Array(Vec::new())), value);
        } else {
            all.insert(key, value);
        }
    }
    toml::to_string(&all).map_err(|error| error.to_string())
}

fn leave_out(all: &mut Table, name: &str) -> Result<(), String> {
    let mut names = Vec::new();
    for key in LEFT_OUT {
        let Some(Value::Array(parts)) = all.get_mut(key) else { continue };
        let before = parts.len();
        names.extend(parts.iter().filter_map(named).map(str::to_owned));
        parts.retain(|part| named(part) != Some(name));
        if parts.len() < before {
            return Ok(());
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Err(format!("without: there is no service or member '{name}'{}", near(name, &names)))
}

/// Adds the parts of `own` to those of `base`; of the same name they are one.
fn join(base: &mut Value, own: Value) {
    let (Value::Array(base), Value::Array(own)) = (base, own) else { return };
    for part in own {
        let same = base.iter_mut().find(|other| named(other).is_some() && named(other) == named(&part));
        match (same, part) {
            (Some(Value::Table(same)), Value::Table(part)) => put(same, part),
            (_, part) => base.push(part),
        }
    }
}

fn put(base: &mut Table, own: Table) {
    for (key, value) in own {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(own)) => put(base, own),
            (_, value) => drop(base.insert(key, value)),
        }
    }
}

fn named(part: &Value) -> Option<&str> {
    part.get("name")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"name = "base"
title = "T"
[kind.c]
language = "C"
[kind.c.program]
name = "sh"
package = "dash"
[[service]]
name = "one"
kind = "c"
calls = ["two", "three"]
[[service]]
name = "two"
kind = "c"
[[service]]
name = "three"
kind = "c"
[[member]]
name = "four"
number = 4
"#;

    fn own(text: &str) -> String {
        format!("name = \"own\"\ntitle = \"O\"\nlike = \"base\"\n{text}")
    }

    #[test]
    fn what_differs_is_put_over_the_other() {
        let text = own(
            "without = [\"two\", \"four\"]\n[kind.c]\nlanguage = \"Java\"\nprogram = { name = \"java\" }\n\
             [[service]]\nname = \"one\"\ncalls = [\"three\"]\n[[service]]\nname = \"five\"\nkind = \"c\"\n",
        );
        assert_eq!(name(&text).as_deref(), Some("base"));
        let app = crate::kinds::read(
            &joined(&text, &BASE.replace("number = 4", "number = 4\nrole = \"r\"\nruns = \"r\"")).unwrap(),
        )
        .unwrap();
        let services: Vec<&str> = app.services.iter().map(|service| service.name.as_str()).collect();
        assert_eq!((services, app.members.len()), (vec!["one", "three", "five"], 0));
        assert_eq!((app.name.as_str(), app.title.as_str(), app.like.as_deref()), ("own", "O", Some("base")));
        assert_eq!(app.services[0].calls, ["three"]);
        for service in &app.services {
            let program = (service.program.name.as_str(), service.program.package.as_deref());
            assert_eq!((service.language.as_str(), program), ("Java", ("java", Some("dash"))));
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let error = joined(&own("without = [\"tow\"]"), BASE).unwrap_err();
        assert!(error.contains("no service or member 'tow'; did you mean 'two'?"), "{error}");
        let error = joined(&own(""), &own("")).unwrap_err();
        assert!(error.contains("'base' is like another application itself"), "{error}");
        assert_eq!(name(BASE), None);
    }
}
