//! Verdicts and the reasons against a trial, as the schema of results has them.

use serde_json::Value;

use super::limits;
use spec::{Chapter, Entry, Section};

pub(super) fn chapter() -> Chapter {
    let schema = results::Verdict::json_schema();
    let kinds = alternatives(&schema, "/properties/kind/const");
    let reasons = alternatives(&schema["$defs"]["Reason"], "/const");
    Chapter::of([
        Section::new("Verdicts of a trial", kinds),
        Section::new("Reasons that make a trial invalid", reasons),
        limits::verdicts(),
    ])
}

/// The alternatives of a type: the name of each is at `name`.
fn alternatives(schema: &Value, name: &str) -> Vec<Entry> {
    let all = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |one: &Value| {
        let meaning = one["description"].as_str().unwrap_or_default().replace('\n', " ");
        Some(Entry { name: one.pointer(name)?.as_str()?.to_owned(), meaning, ..Entry::default() })
    };
    all.iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use results::Reason;

    use super::*;

    #[test]
    fn has_every_verdict_and_reason() {
        let chapter = chapter();
        let names: Vec<&str> = chapter.entries().map(|entry| entry.name.as_str()).collect();
        let reason = |reason: Reason| serde_json::to_value(reason).unwrap().as_str().unwrap().to_owned();
        let host = reason(Reason::HostDisturbed);
        for expect in ["valid", "overloaded", "invalid", host.as_str(), "verdicts.lag-share"] {
            assert!(names.contains(&expect), "{expect}: {names:?}");
        }
        assert!(chapter.sections.iter().all(|section| !section.entries.is_empty()));
        assert!(chapter.entries().all(|entry| !entry.meaning.is_empty()));
    }
}
