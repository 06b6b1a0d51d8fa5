//! Expressions of a study: text in braces in its files, such as `{min(7, server)}`.
//!
//! The engine is minijinja, whose expressions are those of Jinja: `//` divides whole numbers, `A if C else B` chooses.
//! An unknown name is an error. docs/reference/studies.md tells what the names mean.

use std::collections::BTreeMap;

use minijinja::value::{Rest, Value};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use spec::workload::VideoSet;
use units::CpuList;

use super::DefinitionError;
use super::machine::{LoadFrom, Machine};

/// A list of processors of a machine, for a number of cores.
type ListOf = fn(&Machine, usize) -> CpuList;

#[derive(Clone)]
pub(super) struct Language {
    environment: Environment<'static>,
    values: BTreeMap<String, Value>,
}

impl Language {
    /// The language for a machine: its names, and functions that list its processors.
    pub(super) fn of(machine: &Machine) -> Language {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_function("min", |all: Rest<Value>| least(all.0));
        environment.add_function("max", |all: Rest<Value>| most(all.0));
        let of = machine.clone();
        environment.add_function("cores_of", move |n: usize, skip: Option<usize>| -> String {
            listed(&of.of_cores(n, skip.unwrap_or(0)))
        });
        let lists: [(&str, ListOf); 3] = [
            ("siblings_of", Machine::siblings),
            ("seconds_of", Machine::seconds),
            ("rest_of", Machine::rest),
        ];
        for (name, list) in lists {
            let of = machine.clone();
            environment.add_function(name, move |n: usize| -> String { listed(&list(&of, n)) });
        }
        let of = machine.clone();
        environment.add_function("interrupt_cores", move |n: Option<usize>| -> String {
            listed(&of.of_interrupts(n.unwrap_or(usize::MAX)))
        });
        let of = machine.clone();
        environment.add_function("clock_at", move |mhz: u64| -> u64 { of.nearest_clock_mhz(mhz) });
        let all = listed(&machine.cores.iter().flatten().copied().collect());
        environment.add_function("all_of", move || -> String { all.clone() });
        let (nominal, lowest) = machine.clock_mhz;
        let values: [(&str, Value); 16] = [
            ("cores", machine.cores.len().into()),
            ("processors", machine.processors().into()),
            ("smt", machine.smt().into()),
            ("nodes", machine.nodes.into()),
            ("queues", machine.queues.into()),
            ("ways", machine.ways.into()),
            ("memory", machine.memory_bytes.into()),
            ("disk", machine.disk_bytes.into()),
            ("clock", nominal.into()),
            ("clock_least", lowest.into()),
            ("interrupts", machine.interrupts().into()),
            ("most", machine.most().into()),
            ("server", machine.server().into()),
            ("elsewhere", (machine.load == LoadFrom::Elsewhere).into()),
            ("video_bytes", VideoSet::MEAN_BYTES.into()),
            ("viewer_bytes", VideoSet::VIEWER_BYTES.into()),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        Language { environment, values }
    }

    /// The same with one name more.
    pub(super) fn with(&self, name: &str, value: Value) -> Language {
        let mut more = self.clone();
        more.values.insert(name.into(), value);
        more
    }

    /// The value of an expression.
    ///
    /// Errors: it is none, or one of its names is unknown.
    pub(super) fn value(&self, text: &str) -> Result<Value, DefinitionError> {
        let wrong = |error: minijinja::Error| {
            let detail = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
            let known: Vec<&str> = self.values.keys().map(String::as_str).collect();
            DefinitionError(format!("'{text}': {}{detail}; known here: {}", error.kind(), known.join(", ")))
        };
        let expression = self.environment.compile_expression(text).map_err(wrong)?;
        let value = expression.eval(&self.values).map_err(wrong)?;
        // A name that stands alone is undefined without an error.
        match value.is_undefined() {
            true => Err(wrong(ErrorKind::UndefinedError.into())),
            false => Ok(value),
        }
    }

    /// Replaces the expressions in braces: a single expression by its value, otherwise each by its text. `None` if the
    /// value is none: the key is left out.
    ///
    /// Errors: as [`Language::value`]; an unmatched brace.
    pub(super) fn fill(&self, text: &str) -> Result<Option<toml::Value>, DefinitionError> {
        let mut filled = String::new();
        let mut left = text;
        while let Some((before, rest)) = left.split_once('{') {
            let (expression, after) = rest.split_once('}').ok_or_else(|| {
                DefinitionError(format!(
                    "'{text}': a '{{' has no '}}'; write {{EXPRESSION}}, such as {{threads}}"
                ))
            })?;
            let value = self.value(expression)?;
            if before.is_empty() && after.is_empty() && filled.is_empty() {
                if value.is_none() {
                    return Ok(None);
                }
                return as_toml(&value)
                    .map(Some)
                    .ok_or_else(|| DefinitionError(format!("'{text}': {value} cannot stand in a study")));
            }
            filled.push_str(before);
            filled.push_str(&value.to_string());
            left = after;
        }
        filled.push_str(left);
        Ok(Some(toml::Value::String(filled)))
    }
}

/// A value of the engine as one of a file.
pub(super) fn as_toml(value: &Value) -> Option<toml::Value> {
    toml::Value::try_from(value).ok()
}

fn least(all: Vec<Value>) -> Result<Value, minijinja::Error> {
    all.into_iter().min().ok_or_else(|| minijinja::Error::new(ErrorKind::MissingArgument, "min of nothing"))
}

fn most(all: Vec<Value>) -> Result<Value, minijinja::Error> {
    all.into_iter().max().ok_or_else(|| minijinja::Error::new(ErrorKind::MissingArgument, "max of nothing"))
}

/// A list in a specification's format; an empty list is the default of a server without a list.
fn listed(cpus: &CpuList) -> String {
    if cpus.is_empty() { "apart".into() } else { cpus.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language() -> Language {
        let cores: Vec<Vec<usize>> = (0..8).map(|core| vec![core, core + 8]).collect();
        Language::of(&Machine::planted(cores, 4, LoadFrom::Elsewhere))
    }

    #[test]
    fn an_expression_alone_keeps_its_type_and_one_in_a_text_its_words() {
        let language = language().with("threads", 3.into());
        let check = |text: &str, expect: toml::Value| {
            assert_eq!(language.fill(text).unwrap(), Some(expect), "{text}")
        };
        check("{min(7, cores // 3)}", 2.into());
        check("{threads} threads on {threads} of {cores}", "3 threads on 3 of 8".into());
        check("plain", "plain".into());
        check("{range(1, threads + 1)}", toml::Value::Array(vec![1.into(), 2.into(), 3.into()]));
        check("{'a' if elsewhere else 'b'}", "a".into());
        check("{cores_of(2)}", "2-3".into());
        check("{cores_of(2, 1)}", "3-4".into());
        check("{siblings_of(3)}", "2-3,10".into());
        check("{seconds_of(2)}", "10-11".into());
        check("{rest_of(4)}", "6-7".into());
        check("{interrupt_cores()}", "0-1,8-9".into());
        check("{interrupt_cores(1)}", "0,8".into());
        check("{all_of()}", "0-15".into());
        check("{seconds_of(0)}", "apart".into());
        assert_eq!(language.fill("{none if elsewhere else 1}").unwrap(), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, words: &str| {
            let error = language().fill(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        };
        check("{threads}", "known here: clock, clock_least, cores, disk, elsewhere");
        check("{cores", "has no '}'");
        check("{1 +}", "syntax error");
        check("{cores + thread}", "undefined");
        check("{min()}", "min of nothing");
    }
}
