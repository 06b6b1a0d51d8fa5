//! Expressions of a study: text in braces in its files, such as `{min(7, server)}`.
//!
//! The engine is minijinja, whose expressions are those of Jinja: `//` divides whole numbers, `A if C else B` chooses.
//! An unknown name is an error.

use std::collections::BTreeMap;

use minijinja::value::{Rest, Value};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use spec::workload::VideoSet;
use units::CpuList;

use super::DefinitionError;
use super::machine::{LoadFrom, Machine};

/// The names that describe a machine, with their meanings, for documents and errors.
pub(super) const NAMES: [(&str, &str); 16] = [
    ("cores", "physical cores that may be used"),
    ("processors", "logical processors that may be used"),
    ("smt", "logical processors of a core"),
    ("nodes", "memory nodes"),
    ("queues", "receive queues of the network card"),
    ("ways", "ways of the last-level cache, 0 where unknown"),
    ("memory", "bytes of memory that are available"),
    ("disk", "bytes that are free where temporary files are made, 0 where unknown"),
    ("clock", "nominal clock of the processors in MHz, 0 where none can be set"),
    ("clock_least", "the lowest clock that they can be set to in MHz, 0 where unknown"),
    ("interrupts", "cores that are kept for the card's interrupts"),
    ("most", "the most cores that servers can have by themselves"),
    ("server", "cores that a server may have lest the generator bound it"),
    ("elsewhere", "whether the load is generated on other machines"),
    ("video_bytes", "bytes of a video of whole size in all of its rungs, on average"),
    ("viewer_bytes", "bytes that a viewer asks for, of videos of whole size, on average"),
];

/// The expression language of a machine.
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
        let of = machine.clone();
        environment.add_function("siblings_of", move |n: usize| -> String { listed(&of.siblings(n)) });
        let of = machine.clone();
        environment.add_function("seconds_of", move |n: usize| -> String { listed(&of.seconds(n)) });
        let of = machine.clone();
        environment.add_function("rest_of", move |n: usize| -> String { listed(&of.rest(n)) });
        let of = machine.clone();
        environment.add_function("interrupt_cores", move |n: Option<usize>| -> String {
            listed(&of.of_interrupts(n.unwrap_or(usize::MAX)))
        });
        let of = machine.clone();
        environment.add_function("clock_at", move |mhz: u64| -> u64 { of.nearest_clock_mhz(mhz) });
        let of = machine.clone();
        environment.add_function("all_of", move || -> String {
            listed(&of.by_core().iter().flatten().copied().collect())
        });
        let values: [Value; NAMES.len()] = [
            machine.cores().into(),
            machine.processors().into(),
            machine.smt().into(),
            machine.nodes().into(),
            machine.queues().into(),
            machine.ways().into(),
            machine.memory_bytes().into(),
            machine.disk_bytes().into(),
            machine.clock_mhz().into(),
            machine.lowest_clock_mhz().into(),
            machine.interrupts().into(),
            machine.most().into(),
            machine.server().into(),
            (machine.load() == LoadFrom::Elsewhere).into(),
            VideoSet::MEAN_BYTES.into(),
            VideoSet::VIEWER_BYTES.into(),
        ];
        let values = NAMES.iter().map(|(name, _)| (*name).to_owned()).zip(values).collect();
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
