//! Templates of arguments and configuration files, and expressions of conditions.
//!
//! The engine is minijinja: the syntax of Jinja, where an unknown name is an error and not an empty text.

use std::collections::{BTreeMap, HashSet};

use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::program::VersionedProgram;
use crate::settings::Values;

/// The engine, with functions that depend on the program found.
pub(crate) fn environment(found: &VersionedProgram) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.add_filter("bits", bits);
    let program = found.clone();
    environment.add_function("version_at_least", move |version: String| program.is_at_least(&version));
    let program = found.clone();
    environment.add_function("built", move |word: String| program.build.contains(&word));
    environment
}

/// A list of numbers as a string of bits, bit 0 at the end and as long as the bit `last` needs: how NGINX and the kernel
/// write sets of processors.
fn bits(numbers: Vec<usize>, last: usize) -> String {
    (0..=last).rev().map(|bit| if numbers.contains(&bit) { '1' } else { '0' }).collect()
}

/// `text` with `context` filled in. Errors: the engine's message, with the line.
pub(crate) fn render(
    environment: &Environment<'_>,
    text: &str,
    context: &impl Serialize,
) -> Result<String, String> {
    environment.render_str(text, Value::from_serialize(context)).map_err(|e| said(&e))
}

pub(crate) fn value(
    environment: &Environment<'_>,
    text: &str,
    context: &impl Serialize,
) -> Result<Value, String> {
    let expression = environment.compile_expression(text).map_err(|e| said(&e))?;
    expression.eval(Value::from_serialize(context)).map_err(|e| format!("'{text}': {}", said(&e)))
}

/// Whether an expression over the settings of an application holds.
///
/// Errors: it is not an expression, or it uses other variables.
pub(crate) fn holds(text: &str, settings: &Values) -> Result<bool, String> {
    let environment = environment(&VersionedProgram::default());
    let expression = environment.compile_expression(text).map_err(|e| said(&e))?;
    let all = settings.map();
    let is_known = |name: &String| name.strip_prefix("settings.").is_some_and(|name| all.contains_key(name));
    // Compared with a text, a name that is not known would be another text.
    if let Some(unknown) = expression.undeclared_variables(true).iter().find(|name| !is_known(name)) {
        let all: Vec<&str> = all.into_keys().collect();
        return Err(format!(
            "'{text}': '{unknown}' is no setting of the application; there are {}",
            all.join(", ")
        ));
    }
    let context = BTreeMap::from([("settings", all)]);
    let value = expression.eval(Value::from_serialize(&context));
    value.map(|value| value.is_true()).map_err(|e| format!("'{text}': {}", said(&e)))
}

/// Errors: it is not a template.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let environment = environment(&VersionedProgram::default());
    environment.template_from_str(text).map(drop).map_err(|e| said(&e))
}

/// Errors: it is not an expression.
pub(crate) fn check_expression(text: &str) -> Result<(), String> {
    names_in(text).map(drop)
}

/// The variables that an expression uses, with nested names: `settings.users`.
///
/// Errors: it is not an expression.
pub(crate) fn names_in(text: &str) -> Result<HashSet<String>, String> {
    let environment = environment(&VersionedProgram::default());
    let expression = environment.compile_expression(text).map_err(|e| format!("'{text}': {}", said(&e)))?;
    Ok(expression.undeclared_variables(true))
}

fn said(error: &minijinja::Error) -> String {
    let line = error.line().map_or_else(String::new, |line| format!("line {line}: "));
    let detail = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
    format!("{line}{}{detail}", error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_an_error_with_its_line() {
        let environment = environment(&VersionedProgram::default());
        let context = BTreeMap::from([("a", 1)]);
        assert_eq!(render(&environment, "x {{ a }}\n", &context).unwrap(), "x 1\n");
        let error = render(&environment, "x\n{{ b }}", &context).unwrap_err();
        assert!(error.contains("line 2") && error.contains("undefined"), "{error}");
        assert!(check("{% if a %}").is_err() && check_expression("a +").is_err());
        assert_eq!(value(&environment, "a + 1", &context).unwrap().to_string(), "2");
    }

    #[test]
    fn sets_of_processors_are_bits() {
        assert_eq!(bits(vec![0], 0), "1");
        assert_eq!(bits(vec![1], 2), "010");
        assert_eq!(bits(vec![0, 3], 3), "1001");
    }

    #[test]
    fn templates_know_the_build() {
        let found = VersionedProgram {
            version: "1.22.1".into(),
            build: vec!["--with-x".into()],
            ..VersionedProgram::default()
        };
        let check = |text: &str, expect: bool| {
            assert_eq!(value(&environment(&found), text, &()).unwrap().is_true(), expect, "{text}");
        };
        check("version_at_least('1.19.5')", true);
        check("version_at_least('1.23')", false);
        check("built('--with-x')", true);
        check("built('--with-y')", false);
    }
}
