//! Reading TOML strictly: every key is known, every quantity has its unit.

use std::fmt::Display;
use std::str::FromStr;

use results::study::{Axis, Scale};
use toml::{Table, Value};

use spec::percent;

use super::DefinitionError;

/// A table of a file that is being read: keys not read by its end are unknown keys.
pub(super) struct Section {
    /// Its path in the file, for messages: `experiment.target`.
    place: String,
    table: Table,
    asked: Vec<&'static str>,
}

impl Section {
    pub(super) fn new(place: impl Into<String>, table: Table) -> Section {
        Section { place: place.into(), table, asked: Vec::new() }
    }

    /// The place of `key` in the file.
    pub(super) fn at(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        self.table.remove(key)
    }

    pub(super) fn wrong(&self, key: &str, given: &Value, expected: &str) -> DefinitionError {
        DefinitionError(format!("{}: it is {}; write {expected}", self.at(key), shown(given)))
    }

    /// A text; `None` if the key is absent.
    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, DefinitionError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
            Some(other) => {
                Err(self.wrong(key, &other, "a text in quotation marks, quantities with their unit"))
            }
        }
    }

    pub(super) fn needed(&mut self, key: &'static str) -> Result<String, DefinitionError> {
        self.text(key)?.ok_or_else(|| DefinitionError(format!("{}: it is missing", self.at(key))))
    }

    /// Chooses a value by one of several words; `hint` lists the words. `None` if the key is absent.
    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        hint: &str,
    ) -> Result<Option<T>, DefinitionError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => Err(self.not_known(key, &text, hint)),
        }
    }

    /// An axis; its scale is linear by default.
    pub(super) fn axis(&mut self) -> Result<Axis, DefinitionError> {
        let scales = [("linear", Scale::Linear), ("log", Scale::Log)];
        Ok(Axis {
            label: self.text("label")?.unwrap_or_default(),
            unit: self.text("unit")?.unwrap_or_default(),
            scale: self.choice("scale", &scales, "write \"linear\" or \"log\"")?.unwrap_or(Scale::Linear),
            categories: Vec::new(),
        })
    }

    /// The error for an unknown word at `key`.
    pub(super) fn not_known(&self, key: &str, given: &str, hint: &str) -> DefinitionError {
        DefinitionError(format!("{}: '{given}' is not known; {hint}", self.at(key)))
    }

    /// A quantity with its unit, written as a text.
    pub(super) fn quantity<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Result<Option<T>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let is_bare = |text: &&str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let Some(text) = value.as_str().map(str::trim).filter(|text| !is_bare(text)) else {
            return Err(self.wrong(key, &value, &format!("it with its unit, such as \"{example}\"")));
        };
        text.parse().map(Some).map_err(|e| DefinitionError(format!("{}: {e}", self.at(key))))
    }

    /// A share in per cent: `"70%"`.
    pub(super) fn share(&mut self, key: &'static str) -> Result<Option<f64>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let read = value.as_str().and_then(percent);
        read.map(Some).ok_or_else(|| self.wrong(key, &value, "per cent over 0, such as \"70%\""))
    }

    /// A count, which has no unit.
    pub(super) fn count(&mut self, key: &'static str) -> Result<Option<u32>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let count = value.as_integer().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        count
            .map(Some)
            .ok_or_else(|| self.wrong(key, &value, "a whole number from 1 on, without quotation marks"))
    }

    pub(super) fn number(&mut self, key: &'static str) -> Result<Option<f64>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        number(&value).map(Some).ok_or_else(|| self.wrong(key, &value, "a number"))
    }

    /// Plain numbers; empty if the key is absent.
    pub(super) fn numbers(&mut self, key: &'static str) -> Result<Vec<f64>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let numbers = value.as_array().and_then(|values| values.iter().map(number).collect());
        numbers.ok_or_else(|| self.wrong(key, &value, "a list of numbers, such as [430, 118]"))
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<bool, DefinitionError> {
        match self.take(key) {
            None => Ok(false),
            Some(Value::Boolean(flag)) => Ok(flag),
            Some(other) => Err(self.wrong(key, &other, "true or false")),
        }
    }

    /// Several texts; empty if the key is absent. A single text is accepted.
    pub(super) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, DefinitionError> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(values)) => values
                .into_iter()
                .map(|value| match value {
                    Value::String(text) => Ok(text),
                    other => {
                        Err(self.wrong(key, &other, "texts in quotation marks, quantities with their unit"))
                    }
                })
                .collect(),
            Some(other) => Err(self.wrong(key, &other, "a list of texts, such as [\"10%\", \"50%\"]")),
        }
    }

    pub(super) fn value(&mut self, key: &'static str) -> Option<Value> {
        self.take(key)
    }

    /// A table below this one, empty if absent.
    pub(super) fn below(&mut self, key: &'static str) -> Result<Section, DefinitionError> {
        Ok(Section::new(self.at(key), self.raw_table(key)?))
    }

    /// A table below this one, unparsed; empty if absent.
    pub(super) fn raw_table(&mut self, key: &'static str) -> Result<Table, DefinitionError> {
        match self.take(key) {
            None => Ok(Table::new()),
            Some(Value::Table(table)) => Ok(table),
            Some(other) => Err(self.wrong(key, &other, &format!("a section [{}]", self.at(key)))),
        }
    }

    /// All tables with one name, `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<Section>, DefinitionError> {
        let values = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(values)) => values,
            Some(other) => return Err(self.wrong(key, &other, &format!("sections [[{}]]", self.at(key)))),
        };
        let table = |(n, value)| match value {
            Value::Table(table) => Ok(Section::new(format!("{}[{n}]", self.at(key)), table)),
            other => Err(self.wrong(key, &other, &format!("sections [[{}]]", self.at(key)))),
        };
        values.into_iter().enumerate().map(table).collect()
    }

    pub(super) fn rest(self) -> Table {
        self.table
    }

    /// Refuses keys that were not read, with the key that it may have meant.
    pub(super) fn end(self) -> Result<(), DefinitionError> {
        match self.table.keys().next() {
            None => Ok(()),
            Some(key) => Err(unknown(&self.at(key), key, self.asked.iter().copied())),
        }
    }
}

/// The error for an unknown `key` at `place`.
pub(super) fn unknown<'a>(place: &str, key: &str, known: impl Iterator<Item = &'a str>) -> DefinitionError {
    DefinitionError(spec::unknown_key(place, key, &known.collect::<Vec<_>>()).0)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(_) => "a date".into(),
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a section".into(),
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).filter(|n| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn section(text: &str) -> Section {
        Section::new("target", text.parse().unwrap())
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_known_one() {
        let check = |text: &str, expect: &str| {
            let mut section = section(text);
            let _ = (section.text("server"), section.count("threads"), section.texts("args"));
            let error = section.end().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("thread = 2", "target.thread: this key is not known; did you mean 'threads'?");
        check("sever = 'x'", "did you mean 'server'?");
        check("colour = 'x'", "known here: server, threads, args");
    }

    #[test]
    fn a_quantity_needs_its_unit() {
        let check = |text: &str, expect: Result<u64, &str>| {
            let got = section(text).quantity::<Bytes>("memory", "64MiB");
            match (got, expect) {
                (Ok(Some(bytes)), Ok(expect)) => assert_eq!(bytes.0, expect, "{text}"),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{text}: {error}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        };
        check("memory = '64MiB'", Ok(64 << 20));
        check("memory = 64", Err("target.memory: it is 64; write it with its unit, such as \"64MiB\""));
        check("memory = '64'", Err("with its unit"));
        check("memory = '64 parsec'", Err("not a unit"));
    }

    #[test]
    fn a_wrong_kind_is_named() {
        let check = |got: Result<(), DefinitionError>, expect: &str| {
            let error = got.unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(section("threads = 0").count("threads").map(drop), "a whole number from 1 on");
        check(section("threads = '2'").count("threads").map(drop), "without quotation marks");
        check(section("args = [1]").texts("args").map(drop), "target.args: it is 1");
        check(section("server = 1").text("server").map(drop), "a text in quotation marks");
        check(section("").needed("server").map(drop), "target.server: it is missing");
        check(section("x = 1").below("x").map(drop), "a section [target.x]");
        check(section("x = 1").tables("x").map(drop), "sections [[target.x]]");
    }
}
