//! The subset of JSON Schema that the types use: a library for all of it is 60 packages.
//!
//! An unknown keyword fails, so that nothing passes unchecked.

use serde_json::Value;

/// The parts of `value` that violate `schema`.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    check(schema, schema, value, "")
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let keywords = match schema {
        Value::Bool(true) => return Vec::new(),
        Value::Object(keywords) => keywords,
        other => panic!("{at}: {other} is not a schema"),
    };
    let (mut found, mut below) = (Vec::new(), Vec::new());
    let mut require = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{at}: {what}: {value:.60}"));
        }
    };
    let list = |keyword: &Value| keyword.as_array().unwrap().clone();
    let fits = |schema: &Value| check(root, schema, value, at).is_empty();
    for (keyword, given) in keywords {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" | "pattern" | "x-source" => {
            }
            "$ref" => {
                let pointer = given.as_str().unwrap().strip_prefix('#').unwrap();
                below.extend(check(root, root.pointer(pointer).unwrap(), value, at));
            }
            "type" => {
                let types = if given.is_array() { list(given) } else { vec![given.clone()] };
                require(types.iter().any(|name| has_type(value, name.as_str().unwrap())), "wrong type");
            }
            "enum" => require(list(given).contains(value), "not one of those listed"),
            "const" => require(given == value, "not what it must be"),
            "anyOf" => require(list(given).iter().any(fits), "fits nothing of anyOf"),
            "oneOf" => require(
                list(given).iter().filter(|schema| fits(schema)).count() == 1,
                "fits not one of oneOf",
            ),
            "minimum" => require(value.as_f64().is_none_or(|v| v >= given.as_f64().unwrap()), "too small"),
            "maximum" => require(value.as_f64().is_none_or(|v| v <= given.as_f64().unwrap()), "too large"),
            "minItems" => {
                require(
                    value.as_array().is_none_or(|v| v.len() as u64 >= given.as_u64().unwrap()),
                    "too few items",
                );
            }
            "maxItems" => {
                require(
                    value.as_array().is_none_or(|v| v.len() as u64 <= given.as_u64().unwrap()),
                    "too many items",
                );
            }
            "required" => {
                for name in list(given) {
                    let name = name.as_str().unwrap().to_owned();
                    require(value.get(&name).is_some() || !value.is_object(), &format!("{name} is required"));
                }
            }
            "properties" => {
                for (name, schema) in given.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        below.extend(check(root, schema, value, &format!("{at}.{name}")));
                    }
                }
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(name)) {
                        below.extend(check(root, given, value, &format!("{at}.{name}")));
                    }
                }
            }
            "items" => {
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    below.extend(check(root, given, value, &format!("{at}[{i}]")));
                }
            }
            "prefixItems" => {
                let values = value.as_array().into_iter().flatten();
                for (i, (schema, value)) in list(given).iter().zip(values).enumerate() {
                    below.extend(check(root, schema, value, &format!("{at}[{i}]")));
                }
            }
            other => panic!("{at}: the keyword {other} is not known to this check"),
        }
    }
    found.append(&mut below);
    found
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other} is not a type"),
    }
}
