//! The fields of a specification, with their defaults.

use serde_json::Value;
use spec::{Field, Spec, Workload};

use spec::{Entry, Section};

/// A section of a specification, of a workload's fields those of that workload.
pub(super) fn section(title: &str, name: &str, workload: Option<&str>) -> Section {
    let is_in = |field: &Field| {
        field.path.split('.').next() == Some(name)
            && (workload.is_none() || field.workload.as_deref() == workload)
    };
    let resolved = resolved();
    let entries = Spec::fields().into_iter().filter(is_in).map(|field| entry(field, &resolved));
    Section::new(title, entries)
}

/// The default specification, as a trial resolves it.
fn resolved() -> Value {
    let spec = Spec { workload: Workload::Null(Box::default()), ..Spec::default() };
    trial::resolve(spec).expect("it has no parameters").to_json()
}

fn entry(field: Field, resolved: &Value) -> Entry {
    let Field { path, option, meaning, source, default, .. } = field;
    let value = match (&default, resolved.pointer(&format!("/{}", path.replace('.', "/")))) {
        (Some(default), _) => shown(default),
        (None, Some(resolved)) => format!("none, resolved as {}", shown(resolved)),
        (None, None) => "none".into(),
    };
    Entry { name: path, value: Some(value), option, meaning, source }
}

/// A value of a file as a person writes it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "on".into(),
        Value::Bool(false) => "off".into(),
        Value::Array(all) if all.is_empty() => "none".into(),
        Value::Array(all) => all.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_section_has_its_own_fields_only() {
        let names = |name: &str, workload: Option<&str>| -> Vec<String> {
            section("x", name, workload).entries.into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names("time", None), ["time.search", "time.warmup", "time.window"]);
        assert_eq!(names("seed", None), ["seed"]);
        assert!(names("workload", Some("web")).contains(&"workload.files".to_owned()));
        assert!(!names("workload", Some("cache")).contains(&"workload.files".to_owned()));
        assert!(names("workload", Some("null")).is_empty());
    }

    #[test]
    fn a_value_is_the_default_or_what_it_is_resolved_as() {
        let fields = section("x", "generator", None).entries;
        let check = |name: &str, expect: &str| {
            let found =
                fields.iter().find(|entry| entry.name == name).and_then(|entry| entry.value.as_deref());
            assert_eq!(found, Some(expect), "{name}");
        };
        check("generator.connections", "64");
        check("generator.threads", "none, resolved as 1");
        check("generator.pace", "none, resolved as spin");
        check("generator.clients", "none");
    }

    #[test]
    fn values_are_shown_as_they_are_typed() {
        let check = |value: Value, expect: &str| assert_eq!(shown(&value), expect);
        check(json!("1GiB"), "1GiB");
        check(json!(64), "64");
        check(json!([]), "none");
        check(json!(["1ms", "2ms"]), "1ms, 2ms");
        check(json!(false), "off");
    }
}
