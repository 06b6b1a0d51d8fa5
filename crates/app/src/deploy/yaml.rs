//! YAML as a person would write it: only what Kubernetes' files need, in the order in which it is given.

use std::fmt::Write;

/// A value. Shape: a key of a map that begins with `{{` is a line of Helm's, written as it is and without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Yaml {
    Text(String),
    Number(u64),
    Flag(bool),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
    /// An expression of Helm's, which is not quoted.
    Helm(&'static str),
}

macro_rules! map {
    ($($key:expr => $value:expr),* $(,)?) => {
        $crate::deploy::yaml::Yaml::Map(vec![$(($key.into(), $crate::deploy::yaml::Yaml::from($value))),*])
    };
}
pub(crate) use map;

impl From<&str> for Yaml {
    fn from(text: &str) -> Yaml {
        Yaml::Text(text.into())
    }
}

impl From<String> for Yaml {
    fn from(text: String) -> Yaml {
        Yaml::Text(text)
    }
}

impl From<&String> for Yaml {
    fn from(text: &String) -> Yaml {
        Yaml::Text(text.clone())
    }
}

impl From<u64> for Yaml {
    fn from(number: u64) -> Yaml {
        Yaml::Number(number)
    }
}

impl From<u16> for Yaml {
    fn from(number: u16) -> Yaml {
        Yaml::Number(number.into())
    }
}

impl From<bool> for Yaml {
    fn from(flag: bool) -> Yaml {
        Yaml::Flag(flag)
    }
}

impl<T: Into<Yaml>> From<Vec<T>> for Yaml {
    fn from(all: Vec<T>) -> Yaml {
        Yaml::List(all.into_iter().map(Into::into).collect())
    }
}

impl Yaml {
    pub(crate) fn with(mut self, key: &str, value: impl Into<Yaml>) -> Yaml {
        if let Yaml::Map(pairs) = &mut self {
            pairs.push((key.into(), value.into()));
        }
        self
    }

    /// A line of Helm's within a map.
    pub(crate) fn helm(self, line: &str) -> Yaml {
        self.with(line, false)
    }

    pub(crate) fn document(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0, false);
        out
    }

    /// Writes it with its first line where the cursor is, and the others `depth` spaces in.
    fn write(&self, out: &mut String, depth: usize, in_list: bool) {
        let space = " ".repeat(depth);
        match self {
            Yaml::Map(pairs) if !pairs.is_empty() => {
                for (at, (key, value)) in pairs.iter().enumerate() {
                    if at > 0 || !in_list {
                        out.push_str(&space);
                    }
                    if key.starts_with("{{") {
                        let _ = writeln!(out, "{key}");
                        continue;
                    }
                    let _ = write!(out, "{}:", scalar(key));
                    value.behind_key(out, depth);
                }
            }
            Yaml::List(all) if !all.is_empty() => {
                for (at, one) in all.iter().enumerate() {
                    if at > 0 || !in_list {
                        out.push_str(&space);
                    }
                    out.push_str("- ");
                    one.write(out, depth + 2, true);
                }
            }
            Yaml::Text(text) if is_block(text) => block(out, text, depth),
            other => {
                let _ = writeln!(out, "{}", other.inline());
            }
        }
    }

    fn behind_key(&self, out: &mut String, depth: usize) {
        let is_below = match self {
            Yaml::Map(pairs) => !pairs.is_empty(),
            Yaml::List(all) => !all.is_empty(),
            _ => false,
        };
        out.push(if is_below { '\n' } else { ' ' });
        self.write(out, depth + 2, false);
    }

    fn inline(&self) -> String {
        match self {
            Yaml::Text(text) => scalar(text),
            Yaml::Number(number) => number.to_string(),
            Yaml::Flag(flag) => flag.to_string(),
            Yaml::List(_) => "[]".into(),
            Yaml::Map(_) => "{}".into(),
            Yaml::Helm(expression) => (*expression).into(),
        }
    }
}

/// Whether a text is written as a literal block: it has several lines, and only characters that a block can hold.
fn is_block(text: &str) -> bool {
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    text.trim_end_matches('\n').contains('\n')
        && text.chars().all(is_plain)
        && !text.starts_with([' ', '\t', '\n'])
}

fn block(out: &mut String, text: &str, depth: usize) {
    let body = text.trim_end_matches('\n');
    let keeps = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let _ = writeln!(out, "|{keeps}");
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        match line {
            "" => out.push('\n'),
            line => {
                let _ = writeln!(out, "{}{line}", " ".repeat(depth));
            }
        }
    }
}

/// A text on one line, in quotation marks where YAML would read another thing or another type.
fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_./-:".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let is_plain = begins && text.chars().all(is_word) && !text.ends_with(':');
    // Source: YAML 1.1, which Kubernetes reads: the words of `bool` and `null`.
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    match is_plain && !words.contains(&text.to_ascii_lowercase().as_str()) {
        true => text.to_owned(),
        // Every text of JSON's is one of YAML's.
        false => serde_json::to_string(text).expect("a text is written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_as_one_writes_it() {
        let list = vec![map! { "name" => "a", "args" => vec!["-c", "x y"] }, map! { "name" => "b" }];
        let yaml = map! { "kind" => "Pod", "spec" => map! { "count" => 2_u64, "on" => true, "all" => list } };
        let yaml = yaml.with("empty", Yaml::Map(Vec::new())).with("none", Vec::<String>::new());
        assert_eq!(
            yaml.document(),
            "kind: Pod\nspec:\n  count: 2\n  \"on\": true\n  all:\n    - name: a\n      args:\n        - \"-c\"\n        - \"x y\"\n    \
             - name: b\nempty: {}\nnone: []\n"
        );
    }

    #[test]
    fn texts_stay_texts() {
        let check = |text: &str, expect: &str| assert_eq!(scalar(text), expect);
        check("/app/bin/plot", "/app/bin/plot");
        check("localhost/taillight-movies-plot:0.1.0", "localhost/taillight-movies-plot:0.1.0");
        for text in ["true", "No", "1", "16Mi", "", "a: b", "a:", "- a", "#", "{{ x }}", "é", "a\tb"] {
            assert!(scalar(text).starts_with('"'), "{text}");
        }
    }

    #[test]
    fn lines_are_a_block() {
        let check =
            |text: &str, expect: &str| assert_eq!(map! { "a" => text }.document(), expect, "{text:?}");
        check("one\n\n  two\n", "a: |\n  one\n\n    two\n");
        check("one\ntwo", "a: |-\n  one\n  two\n");
        check("one\ntwo\n\n", "a: |+\n  one\n  two\n\n");
        check("one\n", "a: \"one\\n\"\n");
        check(" one\ntwo", "a: \" one\\ntwo\"\n");
        check("one\r\ntwo", "a: \"one\\r\\ntwo\"\n");
    }

    #[test]
    fn lines_of_helm_are_written_as_they_are() {
        let yaml = map! { "name" => "a" }.helm("{{- if .Values.x }}").with("b", 1_u64).helm("{{- end }}");
        assert_eq!(vec![yaml].into_yaml(), "- name: a\n  {{- if .Values.x }}\n  b: 1\n  {{- end }}\n");
    }

    trait IntoYaml {
        fn into_yaml(self) -> String;
    }

    impl IntoYaml for Vec<Yaml> {
        fn into_yaml(self) -> String {
            Yaml::List(self).document()
        }
    }
}
