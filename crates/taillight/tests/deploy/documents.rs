use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, YamlOwned};
use serde_json::Value;

use crate::tools::deploy;

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn read(name: &str) -> String {
    fs::read_to_string(deploy().join(name)).unwrap()
}

/// The one document of a file.
pub(crate) fn yaml(name: &str) -> YamlOwned {
    let mut documents = YamlOwned::load_from_str(&read(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(documents.len(), 1, "{name}");
    documents.remove(0)
}

/// The names of all values, such as `agents.count`; a list or an empty mapping is one value.
fn leaves(yaml: &YamlOwned, prefix: &str) -> BTreeSet<String> {
    let Some(mapping) = yaml.as_mapping().filter(|mapping| !mapping.is_empty()) else {
        return [prefix.to_owned()].into();
    };
    let below = mapping.iter().flat_map(|(key, value)| {
        let key = key.as_str().unwrap();
        // The fields of a container's resources are defined by Kubernetes.
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        if key == "resources" { [name].into() } else { leaves(value, &name) }
    });
    below.collect()
}

/// The same of a JSON schema.
fn described(schema: &Value, prefix: &str) -> BTreeSet<String> {
    let Some(properties) = schema["properties"].as_object() else { return [prefix.to_owned()].into() };
    assert_eq!(schema["additionalProperties"], false, "{prefix}: a misspelt value would pass");
    let below = properties.iter().filter(|(key, _)| *key != "global").flat_map(|(key, schema)| {
        described(schema, &if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") })
    });
    below.collect()
}

/// Names in the first column of a document's tables.
fn rows(document: &str) -> BTreeSet<String> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_yaml_file_can_be_read() {
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|end| end == "yml" || end == "yaml");
    // Templates become YAML by Helm only: see the chart's tests.
    let plain = |path: &PathBuf| is_yaml(path) && !path.iter().any(|part| part == "templates");
    let found: Vec<PathBuf> = files(&deploy()).into_iter().filter(plain).collect();
    assert!(found.len() > 10, "{found:?}");
    for file in found {
        let text = fs::read_to_string(&file).unwrap();
        let documents = YamlOwned::load_from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert_eq!(documents.len(), 1, "{}", file.display());
        let filled = documents[0].as_mapping().is_some() || documents[0].as_sequence().is_some();
        assert!(filled, "{}: nothing in it", file.display());
    }
}

#[test]
fn every_value_of_the_chart_is_in_its_schema_and_its_document() {
    let values = leaves(&yaml("kubernetes/taillight/values.yaml"), "");
    let schema: Value = serde_json::from_str(&read("kubernetes/taillight/values.schema.json")).unwrap();
    assert_eq!(values, described(&schema, ""));
    assert_eq!(values, rows(&read("kubernetes/README.md")));
}

#[test]
fn every_variable_of_the_playbook_is_in_its_document() {
    let variables = leaves(&yaml("ansible/roles/testbed/defaults/main.yml"), "");
    assert_eq!(variables, rows(&read("ansible/README.md")));
}

#[test]
fn the_chart_is_of_this_version() {
    let chart = yaml("kubernetes/taillight/Chart.yaml");
    assert_eq!(chart["appVersion"].as_str(), Some(env!("CARGO_PKG_VERSION")));
}
