//! The fields of a specification, with their defaults.

use serde_json::Value;
use spec::{Field, Spec};

use super::chapter::{Entry, Section};

/// A section of a specification, of a workload's fields those of that workload.
pub(super) fn section(title: &str, name: &str, workload: Option<&str>) -> Section {
    let is_in = |field: &Field| {
        field.path.split('.').next() == Some(name)
            && (workload.is_none() || field.workload.as_deref() == workload)
    };
    Section::new(title, Spec::fields().into_iter().filter(is_in).map(entry))
}

fn entry(field: Field) -> Entry {
    let Field { path, option, meaning, source, default, .. } = field;
    let value = default.as_ref().map_or_else(|| "none".to_owned(), shown);
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
    fn values_are_shown_as_they_are_typed() {
        let check = |value: Value, expect: &str| assert_eq!(shown(&value), expect);
        check(json!("1GiB"), "1GiB");
        check(json!(64), "64");
        check(json!([]), "none");
        check(json!(["1ms", "2ms"]), "1ms, 2ms");
        check(json!(false), "off");
    }
}
