//! A study's file with its expressions replaced, and its repeated sections written out.

use toml::{Table, Value};

use super::DefinitionError;
use super::language::Language;

/// The key of a section that is written out for each value of a list: `for = "n in range(1, threads + 1)"`.
const FOR: &str = "for";
/// The key of a section that is left out where its expression is false.
const WHEN: &str = "when";

/// The keys of names.
const NAMES: [&str; 2] = ["name", "at"];

/// `table` with every expression replaced.
///
/// Errors: an expression that is wrong, with its place.
pub(super) fn table(table: Table, language: &Language, place: &str) -> Result<Table, DefinitionError> {
    let below = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    let mut filled = Table::new();
    for (key, value) in table {
        // A key with the value `none` is left out; a name is a text even if it looks like a number.
        if let Some(value) = replaced(value, language, &below(&key))? {
            let value = match value {
                Value::Integer(number) if NAMES.contains(&key.as_str()) => Value::String(number.to_string()),
                value => value,
            };
            filled.insert(key, value);
        }
    }
    Ok(filled)
}

fn replaced(value: Value, language: &Language, place: &str) -> Result<Option<Value>, DefinitionError> {
    Ok(Some(match value {
        Value::String(text) if text.contains('{') => return language.fill(&text).map_err(|e| at(place, &e)),
        Value::Table(below) => Value::Table(table(below, language, place)?),
        Value::Array(values) => {
            let mut all = Vec::new();
            for (n, value) in values.into_iter().enumerate() {
                let place = format!("{place}[{n}]");
                match value {
                    Value::Table(section) => all.extend(sections(section, language, &place)?),
                    other => all.extend(replaced(other, language, &place)?),
                }
            }
            Value::Array(all)
        }
        other => other,
    }))
}

/// A section once, or once for each value of its list; one that is the same as an earlier one is left out.
fn sections(mut section: Table, language: &Language, place: &str) -> Result<Vec<Value>, DefinitionError> {
    let wrong = |key: &str, hint: &str| DefinitionError(format!("{place}.{key}: write {hint}"));
    let repeated = section.remove(FOR);
    let when = section.remove(WHEN);
    let languages = match repeated {
        None => vec![language.clone()],
        Some(Value::String(text)) => {
            let hint = "NAME in LIST, such as \"n in range(1, threads + 1)\"";
            let (name, list) = text.split_once(" in ").ok_or_else(|| wrong(FOR, hint))?;
            let list = language.value(list).map_err(|e| at(place, &e))?;
            let values = list.try_iter().map_err(|_| wrong(FOR, hint))?;
            values.map(|value| language.with(name.trim(), value)).collect()
        }
        Some(_) => return Err(wrong(FOR, "a text in quotation marks")),
    };
    let mut all: Vec<Value> = Vec::new();
    for language in languages {
        let is_there = match &when {
            None => true,
            Some(Value::String(text)) => language.value(text).map_err(|e| at(place, &e))?.is_true(),
            Some(_) => return Err(wrong(WHEN, "an expression in quotation marks")),
        };
        if is_there {
            let one = Value::Table(table(section.clone(), &language, place)?);
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    Ok(all)
}

fn at(place: &str, error: &DefinitionError) -> DefinitionError {
    DefinitionError(format!("{place}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::machine::{LoadFrom, Machine};
    use super::*;

    fn expanded(text: &str) -> Result<Table, DefinitionError> {
        let cores: Vec<Vec<usize>> = (0..4).map(|core| vec![core]).collect();
        let language = Language::of(&Machine::planted(cores, 1, LoadFrom::Here));
        table(text.parse().unwrap(), &language, "")
    }

    #[test]
    fn sections_are_written_out_for_each_value() {
        let text = "a = '{cores}'\n[[x.point]]\nfor = 'n in range(1, most + 1)'\nname = '{n} of {cores}'\n\
                    set.target.threads = '{n}'\n[[x.point]]\nname = 'all'\n\
                    [[x.point]]\nwhen = 'smt > 1'\nname = 'smt'";
        let expect = "a = 4\n[[x.point]]\nname = '1 of 4'\nset.target.threads = 1\n\
                      [[x.point]]\nname = '2 of 4'\nset.target.threads = 2\n\
                      [[x.point]]\nname = '3 of 4'\nset.target.threads = 3\n[[x.point]]\nname = 'all'";
        assert_eq!(expanded(text).unwrap(), expect.parse::<Table>().unwrap());
    }

    #[test]
    fn the_same_twice_is_one() {
        let got = expanded("[[p]]\nfor = 'n in [1, 1, 2]'\nname = '{n}!'").unwrap();
        assert_eq!(got, "[[p]]\nname = '1!'\n[[p]]\nname = '2!'".parse::<Table>().unwrap());
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let check = |text: &str, words: &str| {
            let error = expanded(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        };
        check("[a]\nb = '{thread}'", "a.b: 'thread'");
        check("[[p]]\nfor = 'n'", "p[0].for: write NAME in LIST");
        check("[[p]]\nfor = 3", "p[0].for: write a text");
        check("[[p]]\nfor = 'n in 3'", "p[0].for: write NAME in LIST");
        check("[[p]]\nwhen = 'x'", "p[0]: 'x'");
    }
}
