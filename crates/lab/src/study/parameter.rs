//! The named parameters that a study derives from the machine, with the publication's values.

use minijinja::value::{Value, ValueKind};
use results::study::Parameter;
use toml::Table;

use super::language::Language;
use super::section::Section;
use super::{DefinitionError, section};

/// Keys of a study set by hand: `threads=4`, or a part of the specification, `target.memory=4GiB`.
pub type Overrides = [(String, String)];

/// The parameter that says how many cores are kept for interrupts: set by hand, it moves the servers.
pub(super) const IRQ_CORES: &str = "irq_cores";

/// The parameters of a study, in their order; each may use earlier ones. Adds them to the `language`.
///
/// Errors: a wrong expression; a name already in use; an override of an unknown name, or with another type.
pub(super) fn read_all(
    sections: Vec<Section>,
    language: &mut Language,
    overrides: &Overrides,
) -> Result<Vec<Parameter>, DefinitionError> {
    let mut all: Vec<Parameter> = Vec::new();
    for mut section in sections {
        let name = section.needed("name")?;
        let about = section.needed("about")?;
        let expression = section.value("value");
        let published = section.value("published");
        let place = section.at("value");
        section.end()?;
        if all.iter().any(|one| one.name == name) {
            return Err(DefinitionError(format!("{place}: the name '{name}' is taken")));
        }
        let by_hand = overrides.iter().rev().find(|(over, _)| *over == name);
        let own = match expression {
            Some(toml::Value::String(text)) => {
                language.value(&text).map_err(|e| DefinitionError(format!("{place}: {e}")))
            }
            Some(other) => Ok(Value::from_serialize(other)),
            None => Err(DefinitionError(format!("{place}: it is missing"))),
        };
        let value = match by_hand {
            Some((_, text)) => {
                let given = Value::from_serialize(typed(text));
                // Where the machine gives it no value of its own, one is set by hand for that very reason.
                own.map_or(Ok(()), |own| same_kind(&name, &own, text, &given))
                    .map_err(|e| DefinitionError(format!("{place}: {e}")))?;
                given
            }
            None => own?,
        };
        *language = language.with(&name, value.clone());
        all.push(Parameter {
            name,
            about,
            value: serde_json::to_value(&value).unwrap_or_default(),
            published: published.map(|value| serde_json::to_value(value).unwrap_or_default()),
            set: by_hand.is_some(),
        });
    }
    for (name, text) in overrides {
        if name.contains('.') {
            let value = serde_json::to_value(typed(text)).unwrap_or_default();
            let about = "set by hand in every specification".into();
            all.push(Parameter { name: name.clone(), about, value, published: None, set: true });
        } else if !all.iter().any(|one| one.name == *name) {
            let names = all.iter().map(|one| one.name.as_str());
            return Err(section::unknown(name, name, names.chain(["a path such as target.memory"])));
        }
    }
    Ok(all)
}

/// Checks that a value set by hand has the type of the study's own value, if that is a number or a truth value:
/// expressions that use it accept no other type.
fn same_kind(name: &str, own: &Value, text: &str, given: &Value) -> Result<(), String> {
    let kind = own.kind();
    let needed = match kind {
        ValueKind::Number => "a number",
        ValueKind::Bool => "true or false",
        _ => return Ok(()),
    };
    if given.kind() == kind {
        return Ok(());
    }
    Err(format!(
        "--set {name}={text}: '{text}' is not {needed}, and {name} is, {own} on this machine; give one, such as --set {name}={own}"
    ))
}

/// What overrides set in every specification.
///
/// Errors: a path that leads through a value.
pub(super) fn of_specification(overrides: &Overrides) -> Result<Table, DefinitionError> {
    let mut table = Table::new();
    for (path, text) in overrides.iter().filter(|(name, _)| name.contains('.')) {
        super::axis::assign(&mut table, path, typed(text))?;
    }
    Ok(table)
}

/// Where the study differs from the publication because of the machine, one sentence for each parameter.
pub(super) fn deviations(parameters: &[Parameter]) -> Vec<String> {
    let differs = |one: &&Parameter| one.published.as_ref().is_some_and(|published| *published != one.value);
    let sentence = |one: &Parameter| {
        let published = one.published.as_ref().map(words).unwrap_or_default();
        let why = if one.set { ", set by hand" } else { "" };
        format!("{}: {} instead of the published {published}{why}.", capital(&one.about), words(&one.value))
    };
    parameters.iter().filter(differs).map(sentence).collect()
}

/// A value as a reader writes it.
pub fn words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A number if the text is one.
fn typed(text: &str) -> toml::Value {
    let whole = text.parse::<i64>().map(toml::Value::Integer).ok();
    let float = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(toml::Value::Float);
    let flag = || text.parse::<bool>().ok().map(toml::Value::Boolean);
    whole.or_else(float).or_else(flag).unwrap_or_else(|| toml::Value::String(text.into()))
}

/// The values of a record as overrides, to read the same study again as it was.
pub(super) fn as_overrides(parameters: &[Parameter]) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    parameters.iter().map(|one| (one.name.clone(), text(&one.value))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::machine::{LoadFrom, Machine};
    use super::*;

    const TEXT: &str = "[[p]]\nname = 'threads'\nabout = 'threads'\nvalue = 'min(7, cores // 3)'\npublished = 7\n\
                        [[p]]\nname = 'half'\nabout = 'half of them'\nvalue = 'threads // 2'\n";

    fn read(text: &str, over: &[(&str, &str)]) -> Result<Vec<Parameter>, DefinitionError> {
        let cores: Vec<Vec<usize>> = (0..12).map(|core| vec![core]).collect();
        let mut language = Language::of(&Machine::planted(cores, 1, LoadFrom::Here));
        let mut section = Section::new("", text.parse().unwrap());
        let over: Vec<(String, String)> = over.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        read_all(section.tables("p")?, &mut language, &over)
    }

    fn values(all: &[Parameter]) -> Vec<String> {
        all.iter()
            .map(|one| format!("{}={}{}", one.name, words(&one.value), if one.set { "!" } else { "" }))
            .collect()
    }

    #[test]
    fn each_may_use_those_before_it_and_be_set_by_hand() {
        assert_eq!(values(&read(TEXT, &[]).unwrap()), ["threads=4", "half=2"]);
        assert_eq!(values(&read(TEXT, &[("threads", "7")]).unwrap()), ["threads=7!", "half=3"]);
        let over = [("target.memory", "4GiB"), ("half", "1")];
        let all = read(TEXT, &over).unwrap();
        assert_eq!(values(&all), ["threads=4", "half=1!", "target.memory=4GiB!"]);
        let again: Vec<(String, String)> = as_overrides(&all);
        assert_eq!(again[1], ("half".into(), "1".into()));
        let path: Vec<(String, String)> = vec![("target.threads".into(), "3".into())];
        assert_eq!(of_specification(&path).unwrap(), "target.threads = 3".parse::<Table>().unwrap());
    }

    #[test]
    fn what_the_machine_cannot_give_may_be_set_to_anything() {
        let text = "[[p]]\nname = 'a'\nabout = 'a'\nvalue = '1 // (cores - 12)'\n";
        assert!(read(text, &[]).is_err());
        assert_eq!(values(&read(text, &[("a", "b")]).unwrap()), ["a=b!"]);
        let flag = TEXT.replace("'threads // 2'", "true");
        assert_eq!(values(&read(&flag, &[("half", "false")]).unwrap()), ["threads=4", "half=false!"]);
        assert!(
            read(&flag, &[("half", "no")]).unwrap_err().to_string().contains("'no' is not true or false")
        );
    }

    #[test]
    fn what_differs_from_the_publication_is_said() {
        let said = |over| deviations(&read(TEXT, over).unwrap());
        assert_eq!(said(&[]), ["Threads: 4 instead of the published 7."]);
        assert_eq!(said(&[("threads", "3")]), ["Threads: 3 instead of the published 7, set by hand."]);
        assert!(said(&[("threads", "7")]).is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        let check = |text: &str, over: &[(&str, &str)], words: &str| {
            let error = read(text, over).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        check(TEXT, &[("thread", "3")], "did you mean 'threads'?");
        let abc = "p[0].value: --set threads=abc: 'abc' is not a number, and threads is, 4 on this machine; give one, such as --set threads=4";
        check(TEXT, &[("threads", "abc")], abc);
        check(TEXT, &[("half", "true")], "p[1].value: --set half=true: 'true' is not a number");
        check("[[p]]\nname = 'a'\nabout = 'a'", &[], "p[0].value: it is missing");
        check("[[p]]\nname = 'a'\nabout = 'a'\nvalue = 'b + 1'", &[], "p[0].value: 'b + 1'");
        check(&TEXT.replace("half'", "threads'"), &[], "is taken");
    }
}
