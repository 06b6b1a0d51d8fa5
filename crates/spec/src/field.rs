//! The fields of a specification: meaning, default, and the default's source, read from the types themselves.
//!
//! Each field's definition holds its meaning and source: the meaning is its comment, which is also its option's help,
//! the source its attribute `x-source`. Both are read from the schema, so that each is written once.

use clap::{Args, Command};
use serde_json::Value;

use crate::read::SECTIONS;
use crate::workload::Kind;
use crate::{Generator, Spec, Target, Time, Workload};

/// A field of a specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its place in a file: `generator.connections`.
    pub path: String,
    /// The workload that the field belongs to, if any.
    pub workload: Option<String>,
    /// Its option on the command line, if any: `--connections`.
    pub option: Option<String>,
    /// What it means.
    pub meaning: String,
    /// The source of its default, or the reason why it has none; see [`is_source`](crate::is_source).
    pub source: String,
    /// Its default, as in a file; `None` if it is absent unless given.
    pub default: Option<Value>,
}

impl Spec {
    /// Every field, section by section; a workload's field once for each workload that has it.
    pub fn fields() -> Vec<Field> {
        let schema = schemars::schema_for!(Spec).to_value();
        let defaults = Spec::default().to_json();
        let mut walk = Walk { schema: &schema, options: Options::all(), found: Vec::new() };
        for section in SECTIONS {
            walk.below(section, None, &schema["properties"][section], &defaults[section]);
        }
        walk.found
    }
}

/// A walk through the schema of a specification.
struct Walk<'a> {
    schema: &'a Value,
    options: Options,
    found: Vec<Field>,
}

impl<'a> Walk<'a> {
    /// Adds the fields at and below `node`, which is at `path` and has this default.
    fn below(&mut self, path: &str, workload: Option<&str>, node: &'a Value, default: &Value) {
        let whole = self.referred(node);
        if let Some(kinds) = whole["oneOf"].as_array() {
            for kind in kinds {
                let name = kind.pointer("/properties/kind/const").and_then(Value::as_str);
                let defaults = name.map_or(Value::Null, |name| {
                    let workload = Workload::named(name).unwrap_or_default();
                    Spec { workload, ..Spec::default() }.to_json()["workload"].take()
                });
                self.below(path, name, self.referred(kind), &defaults);
            }
        } else if whole["type"] == "object" {
            for (name, field) in whole["properties"].as_object().into_iter().flatten() {
                self.below(&format!("{path}.{name}"), workload, field, &default[name.as_str()]);
            }
        } else {
            let text = |key: &str| node[key].as_str().unwrap_or_default().replace('\n', " ");
            self.found.push(Field {
                path: path.to_owned(),
                workload: workload.map(str::to_owned),
                option: self.options.of(path, workload),
                meaning: text("description"),
                source: text("x-source"),
                default: (!default.is_null()).then(|| default.clone()),
            });
        }
    }

    /// The node itself, or the node that its `$ref` names.
    fn referred(&self, node: &'a Value) -> &'a Value {
        let pointer = node["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        pointer.and_then(|pointer| self.schema.pointer(pointer)).unwrap_or(node)
    }
}

/// The options of each section, without their dashes.
struct Options {
    /// By the workload's name.
    workloads: Vec<(&'static str, Vec<String>)>,
    generator: Vec<String>,
    time: Vec<String>,
    target: Vec<String>,
}

impl Options {
    fn all() -> Options {
        Options {
            workloads: Kind::ALL.iter().map(|kind| (kind.name, options_of(|c| kind.options(c)))).collect(),
            generator: options_of(Generator::augment_args),
            time: options_of(Time::augment_args),
            target: options_of(Target::augment_args),
        }
    }

    /// The option that gives the field at `path`.
    fn of(&self, path: &str, workload: Option<&str>) -> Option<String> {
        let (section, name) = path.split_once('.').unwrap_or(("", path));
        let known = match (section, workload) {
            ("workload", Some(kind)) => &self.workloads.iter().find(|(name, _)| *name == kind)?.1,
            ("generator", _) => &self.generator,
            ("time", _) => &self.time,
            ("target", _) if name != "server" => &self.target,
            // Of the commands, not of the types.
            _ => return of_commands(path).map(str::to_owned),
        };
        // One at a time on the command line, a list in a file.
        let name = if name == "args" { "arg" } else { name };
        let is_it = |long: &&String| *long == name || long.strip_prefix("server-") == Some(name);
        known.iter().find(is_it).map(|long| format!("--{long}"))
    }
}

/// The option of the commands that gives the field at `path`.
fn of_commands(path: &str) -> Option<&'static str> {
    Some(match path {
        "target.server" => "--target",
        "load.rate" => "--rate",
        "load.closed" => "--closed",
        "qos.target" => "--qos",
        "probes" => "--probe",
        "knobs" => "--server-knob",
        "client-knobs" => "--client-knob",
        "seed" => "--seed",
        _ => return None,
    })
}

fn options_of(add: impl Fn(Command) -> Command) -> Vec<String> {
    let command = add(Command::new("options"));
    command.get_arguments().filter_map(|arg| arg.get_long()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_source;

    #[test]
    fn every_field_says_what_it_means_and_where_its_default_comes_from() {
        let fields = Spec::fields();
        for Field { path, workload, meaning, source, .. } in &fields {
            assert!(!meaning.is_empty(), "{path} ({workload:?}) has no comment");
            assert!(is_source(source), "{path} ({workload:?}) has no source, but '{source}'");
        }
    }

    #[test]
    fn no_field_is_forgotten() {
        let fields = Spec::fields();
        let has = |path: &str, workload: Option<&str>| {
            fields.iter().any(|field| field.path == path && field.workload.as_deref() == workload)
        };
        for kind in Kind::ALL {
            let (name, whole) = (kind.name, serde_json::to_value(kind.usual()).unwrap());
            for key in whole.as_object().unwrap().keys().filter(|key| *key != "kind") {
                assert!(has(&format!("workload.{key}"), Some(name)), "workload.{key} of {name}");
            }
        }
        let whole = serde_json::to_value(Spec::default()).unwrap();
        for (section, value) in whole.as_object().unwrap().iter().filter(|(name, _)| *name != "workload") {
            match value.as_object() {
                Some(keys) => {
                    for key in keys.keys() {
                        assert!(has(&format!("{section}.{key}"), None), "{section}.{key}");
                    }
                }
                None => assert!(has(section, None), "{section}"),
            }
        }
    }

    #[test]
    fn defaults_and_options_are_those_of_the_types() {
        let fields = Spec::fields();
        let check = |path: &str, workload: Option<&str>, option: Option<&str>, default: Option<Value>| {
            let field = fields
                .iter()
                .find(|field| field.path == path && field.workload.as_deref() == workload)
                .unwrap_or_else(|| panic!("{path}"));
            assert_eq!((field.option.as_deref(), &field.default), (option, &default), "{path}");
        };
        check("generator.connections", None, Some("--connections"), Some(64.into()));
        check("generator.threads", None, Some("--threads"), None);
        check("target.memory", None, Some("--server-memory"), Some("1GiB".into()));
        check("target.args", None, Some("--server-arg"), Some(Value::Array(Vec::new())));
        check("target.server", None, Some("--target"), Some("sphinx".into()));
        check("time.search", None, None, Some("1s".into()));
        check("load.share", None, None, Some("50%".into()));
        check("load.rate", None, Some("--rate"), None);
        check("workload.key-size", Some("cache"), Some("--key-size"), Some("fixed:30".into()));
        check("workload.popularity", Some("web"), Some("--popularity"), Some("uniform".into()));
        check("workload.popularity", Some("video"), Some("--popularity"), Some("zipf:0.8".into()));
        check("workload.chunk-timeout", Some("video"), Some("--chunk-timeout"), None);
        check("workload.mix", Some("social"), Some("--mix"), Some("table-2".into()));
        check("workload.think-time", Some("social"), Some("--think-time"), Some("2s".into()));
        check("workload.ajax", Some("social"), Some("--ajax"), None);
        check("qos.target", None, Some("--qos"), Some("windowed p99<1ms".into()));
    }
}
