//! The origin of each value of a specification.

use serde_json::Value;

use crate::workload::{Expiry, Files};
use crate::{ArrivalSpec, Field, Notation, Popularity, Scaling, Size, Spec};

/// How a field came to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is the default.
    Default,
    /// It is the published value of this preset, which the specification names.
    Preset(&'static str),
    /// It was given, or found out while the specification was resolved.
    Given,
}

/// A value of a specification, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Its field.
    pub field: Field,
    /// The value, as a file has it.
    pub value: Value,
    /// How the field came to it.
    pub origin: Origin,
    /// The value's source; for a given value, the source of the default that it replaces.
    pub source: String,
    /// The notation of a law, a process or a scaling; else `None`.
    pub form: Option<&'static Notation>,
}

impl Spec {
    /// Every value that this specification has, in the order of [`Spec::fields`], but for flags that are off and empty lists.
    pub fn explained(&self) -> Vec<Explained> {
        let whole = self.to_json();
        let published = self.sources();
        let preset = self.workload.preset().map(|preset| preset.name);
        let is_own =
            |field: &Field| field.workload.as_deref().is_none_or(|name| name == self.workload.name());
        let explained = |field: Field| {
            let value = whole.pointer(&format!("/{}", field.path.replace('.', "/")))?.clone();
            if value == Value::Bool(false) || value.as_array().is_some_and(Vec::is_empty) {
                return None;
            }
            let (section, name) = field.path.split_once('.').unwrap_or(("", &field.path));
            // The sections that presets give values to.
            let of_preset = ["workload", "generator", "time"].contains(&section);
            let (origin, source) = match (published.get(name), preset) {
                (Some(source), Some(preset)) if of_preset => (Origin::Preset(preset), (*source).to_owned()),
                _ if field.default.as_ref() == Some(&value) => (Origin::Default, field.source.clone()),
                _ => (Origin::Given, field.source.clone()),
            };
            let form = form(&field.path, &value);
            Some(Explained { field, value, origin, source, form })
        };
        Spec::fields().into_iter().filter(is_own).filter_map(explained).collect()
    }
}

/// The notation of a value of the field at `path`, if any.
fn form(path: &str, value: &Value) -> Option<&'static Notation> {
    let text = value.as_str()?;
    match path {
        "workload.key-size" | "workload.value-size" => Some(text.parse::<Size>().ok()?.notation()),
        "workload.expiry" => Some(text.parse::<Expiry>().ok()?.seconds().notation()),
        "workload.files" => Some(text.parse::<Files>().ok()?.sizes().notation()),
        "workload.popularity" => Some(text.parse::<Popularity>().ok()?.notation()),
        "workload.scale" => Some(text.parse::<Scaling>().ok()?.notation()),
        "generator.arrivals" => match text.parse().ok()? {
            ArrivalSpec::Drawn { process, .. } => Some(process.notation()),
            ArrivalSpec::Trace { .. } => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workload::Kind;
    use crate::{Load, Preset, is_source};

    fn read(whole: Value) -> Spec {
        Spec::read(whole, &|_| Ok(Vec::new())).unwrap()
    }

    /// The places of all values at and below `value`, but for flags that are off and empty lists.
    fn places(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    places(&path, field, found);
                }
            }
            Value::Bool(false) => {}
            Value::Array(all) if all.is_empty() => {}
            // The kind of workload is already the name of its fields' section.
            _ if path == "workload.kind" => {}
            _ => found.push(path.to_owned()),
        }
    }

    fn is_whole(spec: &Spec) {
        let mut expect = Vec::new();
        places("", &spec.to_json(), &mut expect);
        let explained = spec.explained();
        let mut found: Vec<&String> = explained.iter().map(|one| &one.field.path).collect();
        found.sort();
        expect.sort();
        assert_eq!(found, expect.iter().collect::<Vec<_>>());
        for one in &explained {
            let named = match one.origin {
                Origin::Preset(_) => !one.source.is_empty(),
                Origin::Default | Origin::Given => is_source(&one.source),
            };
            assert!(named, "{}: '{}'", one.field.path, one.source);
        }
    }

    #[test]
    fn every_value_of_every_workload_has_its_source() {
        for kind in Kind::ALL {
            let mut spec = Spec { workload: kind.usual(), ..Spec::default() };
            for load in [Load::default(), Load::Rate("20k".parse().unwrap()), Load::Closed, Load::Maximum] {
                spec.load = load;
                is_whole(&spec);
            }
            // As `load --resolve` fills them in.
            spec.generator.threads = Some(2);
            spec.generator.cpus = Some("0-1".parse().unwrap());
            spec.generator.pace = Some(crate::Pace::Spin);
            spec.knobs = vec!["smt=off".parse().unwrap()];
            spec.client_knobs = vec!["swap=off".parse().unwrap()];
            spec.probes = "all".parse().unwrap();
            is_whole(&spec);
        }
        for preset in Preset::ALL.iter().filter(|preset| !preset.is_refused()) {
            is_whole(&read(json!({ "workload": { "preset": preset.name } })));
        }
        let web = json!({ "kind": "web", "files": "10xweb", "requests-per-connection": 5, "body-size": "1KiB",
            "method": "POST", "header": "a:b" });
        is_whole(&read(json!({ "workload": web })));
    }

    #[test]
    fn a_value_is_the_defaults_a_presets_or_given() {
        let spec = read(json!({
            "workload": { "preset": "ycsb-b", "keys": 7, "fill": "never" },
            "generator": { "connections": 16 },
        }));
        let explained = spec.explained();
        let check = |path: &str, origin: Origin, says: &str| {
            let one = explained.iter().find(|one| one.field.path == path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(one.origin, origin, "{path}");
            assert!(one.source.contains(says), "{path}: {}", one.source);
        };
        check("workload.mix", Origin::Preset("ycsb-b"), "SoCC 2010");
        check("workload.keys", Origin::Given, "IISWC'17 §III-B has 6.4 million");
        check("workload.fill", Origin::Given, "ours, because");
        check("generator.connections", Origin::Given, "ours, because");
        check("time.window", Origin::Default, "IISWC'17 §III-C");
        check("seed", Origin::Default, "ours, because");
    }

    #[test]
    fn forms_are_those_of_the_values() {
        let spec = read(json!({
            "workload": { "value-size": "etc-value", "popularity": "zipf:0.99", "expiry": 60 },
            "generator": { "arrivals": "mmpp:4x,100ms,900ms" },
        }));
        let explained = spec.explained();
        let check = |path: &str, expect: Option<&str>| {
            let one = explained.iter().find(|one| one.field.path == path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(one.form.map(Notation::name), expect, "{path}");
        };
        check("workload.value-size", Some("etc-value"));
        check("workload.popularity", Some("zipf"));
        check("workload.expiry", Some("fixed"));
        check("workload.scale", Some("COPIESx"));
        check("generator.arrivals", Some("mmpp"));
        check("generator.depth", None);
    }
}
