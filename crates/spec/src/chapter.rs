//! The explanation of a word, as text and as JSON.

use std::fmt;

use serde::Serialize;
use units::Limit;

/// One thing that is explained: a field, a limit, a knob, an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Entry {
    /// The name that a user looks up: `generator.connections`.
    pub name: String,
    /// Its value, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Its option on the command line, if any: `--connections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What it means.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub meaning: String,
    /// Where the value, or the thing itself, comes from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// Entries of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// The explained things.
    pub entries: Vec<Entry>,
}

/// The whole explanation of one word.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chapter {
    /// Prose, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The entries, by kind.
    pub sections: Vec<Section>,
}

impl Section {
    /// A section of these entries.
    pub fn new(title: &str, entries: impl IntoIterator<Item = Entry>) -> Section {
        Section { title: title.into(), entries: entries.into_iter().collect() }
    }

    /// Limits, each named `PREFIX.NAME`.
    pub fn of_limits(title: &str, prefix: &str, limits: Vec<Limit>) -> Section {
        let entry = |limit: Limit| {
            let name = format!("{prefix}.{}", limit.name.to_lowercase().replace('_', "-"));
            Entry::of_value(name, limit.to_string(), unmarked(limit.meaning.trim()), limit.source)
        };
        Section::new(title, limits.into_iter().map(entry))
    }
}

impl Chapter {
    /// A chapter without prose.
    pub fn of(sections: impl Into<Vec<Section>>) -> Chapter {
        Chapter { text: String::new(), sections: sections.into() }
    }

    /// Its entries, of all sections.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.sections.iter().flat_map(|section| &section.entries)
    }
}

impl Entry {
    /// A value with its meaning and its source.
    pub fn of_value(
        name: impl Into<String>,
        value: impl ToString,
        meaning: impl Into<String>,
        source: impl Into<String>,
    ) -> Entry {
        let value = Some(value.to_string());
        Entry { name: name.into(), value, option: None, meaning: meaning.into(), source: source.into() }
    }

    /// A thing without a value, with its meaning and its source.
    pub fn named(name: &str, meaning: impl Into<String>, source: &str) -> Entry {
        let (meaning, source) = (meaning.into(), source.into());
        Entry { name: name.into(), meaning, source, ..Entry::default() }
    }

    /// Whether `word` names it: by its whole name, the part before or after one of its dots, the part before its
    /// parameters, or its option.
    pub fn is_called(&self, word: &str) -> bool {
        let word = plain(word.trim_start_matches('-'));
        let name = plain(&self.name);
        let begins =
            name.strip_prefix(word.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(PARTS));
        let option =
            self.option.as_deref().is_some_and(|option| plain(option.trim_start_matches('-')) == word);
        let ends = name.strip_suffix(word.as_str()).is_some_and(|front| front.ends_with('.'));
        begins || option || ends
    }

    /// The words that it may be found by.
    pub fn names(&self) -> Vec<String> {
        let last = self.name.rsplit('.').next().unwrap_or_default();
        let word = self.name.split([':', '(']).next().unwrap_or_default();
        vec![self.name.clone(), last.to_owned(), word.to_owned()]
    }
}

/// A comment without links and backticks.
fn unmarked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        plain.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.replace(['`', '[', ']'], "")
}

/// Separators between the parts of a name, and before parameters.
const PARTS: [char; 3] = ['.', ':', '('];

/// A name as it is compared: a writer may take other signs between its words.
fn plain(name: &str) -> String {
    name.replace(['_', ' '], "-")
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", self.name)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        if let Some(option) = &self.option {
            write!(f, "  ({option})")?;
        }
        writeln!(f)?;
        if !self.meaning.is_empty() {
            writeln!(f, "      {}", self.meaning)?;
        }
        if !self.source.is_empty() {
            writeln!(f, "      source: {}", self.source)?;
        }
        Ok(())
    }
}

impl fmt::Display for Chapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for (i, section) in self.sections.iter().enumerate() {
            if i > 0 || !self.text.is_empty() {
                writeln!(f)?;
            }
            writeln!(f, "{}\n", section.title)?;
            for entry in &section.entries {
                write!(f, "{entry}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_its_names() {
        let entry = Entry {
            name: "generator.connections".into(),
            option: Some("--connections".into()),
            ..Entry::default()
        };
        let check = |word: &str, expect: bool| assert_eq!(entry.is_called(word), expect, "{word}");
        check("generator.connections", true);
        check("connections", true);
        check("nections", false);
        check("--connections", true);
        check("generator", true);
        check("gen", false);
        check("target.connections", false);
        check("connection", false);
    }

    #[test]
    fn a_chapter_has_a_line_for_each_thing_that_is_said() {
        let entry = Entry {
            name: "a.b".into(),
            value: Some("5".into()),
            option: Some("--b".into()),
            meaning: "What it is.".into(),
            source: "IISWC'17".into(),
        };
        let plain = Entry { name: "c".into(), ..Entry::default() };
        let chapter =
            Chapter { text: "Prose.\n".into(), sections: vec![Section::new("Fields", [entry, plain])] };
        let expect = "Prose.\n\nFields\n\n  a.b = 5  (--b)\n      What it is.\n      source: IISWC'17\n  c\n";
        assert_eq!(chapter.to_string(), expect);
    }
}
