//! Options from a TOML file, under their long names.
//!
//! The file's settings are turned into words of a command line, so that they are parsed and checked, and errors
//! reported, in one place.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use toml::Value;

/// The words of a command line as given, followed by the words of `file` that they do not override.
///
/// Errors: the file cannot be read, is not TOML, or has a key that is not an option; names the file and the key.
pub(crate) fn words(
    command: &Command,
    given: &ArgMatches,
    file: &Path,
) -> Result<Vec<OsString>, clap::Error> {
    let complain =
        |text: String| clap::Error::raw(ErrorKind::ValueValidation, format!("{}: {text}\n", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| complain(error.to_string()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| complain(error.to_string()))?;
    let mut words = given_words(command, given);
    for (key, value) in &table {
        let Some(arg) = command.get_arguments().find(|arg| is_called(arg, key)) else {
            let known: Vec<&str> =
                command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(Arg::get_long).collect();
            return Err(complain(format!("there is no option '{key}'; there are {}", known.join(", "))));
        };
        if given.value_source(arg.get_id().as_str()) != Some(ValueSource::CommandLine) {
            words.extend(words_of(arg, key, value).map_err(&complain)?);
        }
    }
    Ok(words)
}

fn is_called(arg: &Arg, key: &str) -> bool {
    let is = |name: &str| name == key && name != "config";
    arg.get_long().is_some_and(is) || arg.get_all_aliases().unwrap_or_default().into_iter().any(is)
}

/// The command line's arguments, converted back to words.
fn given_words(command: &Command, given: &ArgMatches) -> Vec<OsString> {
    let mut words = Vec::new();
    for arg in command.get_arguments() {
        let (id, Some(long)) = (arg.get_id().as_str(), arg.get_long()) else { continue };
        if given.value_source(id) != Some(ValueSource::CommandLine) || id == "config" {
            continue;
        }
        if !arg.get_action().takes_values() {
            let times = given.try_get_one::<u8>(id).ok().flatten().map_or(1, |count| usize::from(*count));
            words.extend(std::iter::repeat_n(format!("--{long}").into(), times));
        } else {
            words.extend(given.get_raw(id).into_iter().flatten().map(|value| word(long, value)));
        }
    }
    words
}

fn word(long: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("--{long}="));
    word.push(value);
    word
}

fn words_of(arg: &Arg, key: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let long = arg.get_long().unwrap_or(key);
    let takes_value = arg.get_action().takes_values();
    let one = |value: &Value| match value {
        Value::String(text) => Ok(word(long, OsStr::new(text))),
        Value::Integer(number) => Ok(word(long, OsStr::new(&number.to_string()))),
        _ => Err(format!("'{key}' is {}; write a string or a whole number", value.type_str())),
    };
    match value {
        Value::Boolean(false) if !takes_value => Ok(Vec::new()),
        Value::Boolean(true) if !takes_value || arg.get_num_args().is_some_and(|n| n.min_values() == 0) => {
            Ok(vec![format!("--{long}").into()])
        }
        Value::Integer(times @ 0..=9) if !takes_value => {
            Ok(std::iter::repeat_n(format!("--{long}").into(), *times as usize).collect())
        }
        _ if !takes_value => Err(format!("'{key}' is {}; write true or false", value.type_str())),
        Value::Array(values) => values.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}
