//! Settings of a service, each with a type, a default and bounds.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use units::Bytes;

/// A setting of a service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// Its name in `NAME=VALUE`.
    pub name: String,
    /// One-line description.
    pub doc: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Its default, as text; without one the setting is absent, `none` in templates.
    pub default: Option<Value>,
    /// The least number or size.
    pub min: Option<u64>,
    /// The greatest number or size.
    pub max: Option<u64>,
    /// The values of a choice; of a number or size, words that stand for something else, such as `off`.
    #[serde(default)]
    pub words: Vec<String>,
}

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number of bytes, written as `64MiB`.
    Size,
    /// `on` or `off`.
    Bool,
    /// One of some words.
    Choice,
    /// Any single-line text.
    Text,
}

/// The value of a setting, as templates see it; of a default, as TOML has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// It is absent.
    Absent,
    /// Of a bool.
    Bool(bool),
    /// Of an integer, or of a size in bytes.
    Number(u64),
    /// Of a choice, a text, or a word of a number.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Absent => Ok(()),
            Value::Bool(on) => f.write_str(if *on { "on" } else { "off" }),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => f.write_str(text),
        }
    }
}

impl Setting {
    /// The value that `text` means.
    ///
    /// Errors: why it is not one, with what to write.
    pub(crate) fn read(&self, text: &str) -> Result<Value, String> {
        let wrong = |problem: String| {
            format!("{}={text}: {problem}; write {}={}", self.name, self.name, self.allowed())
        };
        match self.kind {
            Kind::Bool => match text {
                "on" | "true" => Ok(Value::Bool(true)),
                "off" | "false" => Ok(Value::Bool(false)),
                _ => Err(wrong(format!("'{text}' is neither on nor off"))),
            },
            Kind::Choice if self.words.iter().any(|word| word == text) => Ok(Value::Text(text.into())),
            Kind::Choice => Err(wrong(format!("'{text}' is not one of its values"))),
            Kind::Text if text.contains(['\n', '\r', '\0']) => Err(wrong("it is not one line".into())),
            Kind::Text => Ok(Value::Text(text.into())),
            Kind::Integer | Kind::Size if self.words.iter().any(|word| word == text) => {
                Ok(Value::Text(text.into()))
            }
            Kind::Integer | Kind::Size => {
                let number = match self.kind {
                    Kind::Size => {
                        text.parse::<Bytes>().map(|bytes| bytes.0).map_err(|e| wrong(e.to_string()))?
                    }
                    _ => text.parse().map_err(|_| wrong(format!("'{text}' is not a whole number")))?,
                };
                if self.min.is_some_and(|min| number < min) || self.max.is_some_and(|max| number > max) {
                    return Err(wrong(format!("{number} is out of its bounds")));
                }
                Ok(Value::Number(number))
            }
        }
    }

    pub(crate) fn usual(&self) -> Result<Value, String> {
        self.default.as_ref().map_or(Ok(Value::Absent), |usual| self.read(&usual.to_string()))
    }

    /// The values allowed after its name.
    fn allowed(&self) -> String {
        let mut all: Vec<String> = match self.kind {
            Kind::Bool => vec!["on".into(), "off".into()],
            Kind::Text => vec!["any text of one line".into()],
            Kind::Choice => Vec::new(),
            Kind::Integer => vec![self.bounds("a number")],
            Kind::Size => vec![self.bounds("a size such as 64MiB")],
        };
        all.extend(self.words.iter().cloned());
        all.join("|")
    }

    fn bounds(&self, what: &str) -> String {
        match (self.min, self.max) {
            (None | Some(0), None) => what.into(),
            (Some(min), None) => format!("{what}, {min} or more"),
            (min, Some(max)) => format!("{what} from {} to {max}", min.unwrap_or(0)),
        }
    }

    /// `gzip=a number from 1 to 9|off`.
    pub fn usage(&self) -> String {
        format!("{}={}", self.name, self.allowed())
    }
}

/// The settings of one service, all of them with their values, in the order of the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(Vec<(String, Value)>);

impl Values {
    pub(crate) fn usual(settings: &[Setting]) -> Result<Values, String> {
        let value = |setting: &Setting| Ok((setting.name.clone(), setting.usual()?));
        settings.iter().map(value).collect::<Result<_, String>>().map(Values)
    }

    /// Changes one. It is of `settings`.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        if let Some((_, old)) = self.0.iter_mut().find(|(found, _)| found == name) {
            *old = value;
        }
    }

    /// The value of one setting.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    pub(crate) fn map(&self) -> BTreeMap<&str, &Value> {
        self.0.iter().map(|(name, value)| (name.as_str(), value)).collect()
    }
}

impl fmt::Display for Values {
    /// All settings in the form in which they are read: `gzip=6 access_log=off`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.0.iter().filter(|(_, value)| *value != Value::Absent);
        let words: Vec<String> = there.map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(text: &str) -> Setting {
        toml::from_str(&format!("name = 'x'\ndoc = 'd'\n{text}")).unwrap()
    }

    #[test]
    fn values_have_types_and_bounds() {
        let check = |of: &str, text: &str, expect: Result<&str, &str>| match (setting(of).read(text), expect)
        {
            (Ok(value), Ok(expect)) => assert_eq!(value.to_string(), expect, "{of} {text}"),
            (Err(error), Err(says)) => {
                assert!(error.contains(says) && error.contains("write x="), "{text}: {error}");
            }
            (found, expect) => panic!("{of} {text}: {found:?} and not {expect:?}"),
        };
        let level = "type = 'integer'\nmin = 1\nmax = 9\nwords = ['off']";
        check(level, "6", Ok("6"));
        check(level, "off", Ok("off"));
        check(level, "0", Err("out of its bounds; write x=a number from 1 to 9|off"));
        check(level, "10", Err("out of its bounds"));
        check(level, "-1", Err("not a whole number"));
        check("type = 'size'", "64MiB", Ok("67108864"));
        check("type = 'size'\nmax = 1024", "1MiB", Err("out of its bounds"));
        check("type = 'size'", "much", Err("much"));
        check("type = 'bool'", "on", Ok("on"));
        check("type = 'bool'", "yes", Err("neither on nor off"));
        check("type = 'choice'\nwords = ['a', 'b']", "b", Ok("b"));
        check("type = 'choice'\nwords = ['a', 'b']", "c", Err("write x=a|b"));
        check("type = 'text'", "a b", Ok("a b"));
        check("type = 'text'", "a\nb", Err("one line"));
    }

    #[test]
    fn defaults_are_values_of_their_types() {
        let check = |of: &str, expect: Option<Value>| assert_eq!(setting(of).usual().ok(), expect, "{of}");
        check("type = 'bool'\ndefault = true", Some(Value::Bool(true)));
        check("type = 'integer'\ndefault = 7", Some(Value::Number(7)));
        check("type = 'integer'\ndefault = 'off'\nwords = ['off']", Some(Value::Text("off".into())));
        check("type = 'integer'\ndefault = 'off'", None);
        check("type = 'choice'\nwords = ['a']", Some(Value::Absent));
    }
}
