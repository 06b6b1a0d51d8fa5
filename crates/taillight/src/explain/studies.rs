//! The studies that come along: what each measures again, and where that was published.
//!
//! What a study says of its parameters belongs here too: an entry for each, named `STUDY.PARAMETER`.

use anyhow::Result;
use lab::study::STUDIES;

use super::chapter::{Chapter, Entry, Section};
use super::limits;

pub(super) fn chapter() -> Result<Chapter> {
    let mut entries = Vec::new();
    for study in STUDIES {
        let definition = study.read()?;
        entries.push(Entry {
            name: study.name().into(),
            value: None,
            option: Some(format!("taillight study show {}", study.name())),
            meaning: definition.title.clone(),
            source: definition.source.clone(),
        });
    }
    Ok(Chapter::of([Section::new("Studies", entries), limits::claims()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_every_study_with_its_source() {
        let chapter = chapter().unwrap();
        for study in STUDIES {
            let entry = chapter.entries().find(|entry| entry.name == study.name()).unwrap();
            assert!(!entry.meaning.is_empty() && !entry.source.is_empty(), "{entry:?}");
        }
    }
}
