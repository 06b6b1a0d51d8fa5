//! The built-in studies: the repeated measurement, its publication, and the parameters derived from this machine, with an entry for each
//! parameter, named `STUDY.PARAMETER`.

use anyhow::Result;
use lab::study::{Machine, STUDIES, in_words};
use results::study::Parameter;

use super::limits;
use spec::{Chapter, Entry, Section};

pub(super) fn chapter() -> Result<Chapter> {
    let mut entries = Vec::new();
    let machine = Machine::here();
    for study in STUDIES {
        let definition = study.read(&machine, &[])?;
        let option = Some(format!("taillight study show {}", study.name()));
        let entry = Entry::named(study.name(), definition.title.clone(), &definition.source);
        entries.push(Entry { option, ..entry });
        entries.extend(definition.parameters.iter().map(|parameter| Entry {
            name: format!("{}.{}", study.name(), parameter.name),
            value: Some(in_words(&parameter.value)),
            option: Some(format!("taillight study run {} --set {}=VALUE", study.name(), parameter.name)),
            meaning: parameter.about.clone(),
            source: source_of(parameter, &definition.source),
        }));
    }
    Ok(Chapter::of([Section::new("Studies", entries), limits::claims()]))
}

/// The source of a parameter's value: the publication if it has the same value, else this machine.
fn source_of(parameter: &Parameter, publication: &str) -> String {
    match &parameter.published {
        Some(published) if *published == parameter.value => publication.to_owned(),
        Some(published) => format!("this machine; {publication} has {}", in_words(published)),
        None => "ours, because it follows from this machine".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_says_what_was_published() {
        let of = |published: Option<i64>| {
            let published = published.map(Into::into);
            source_of(&Parameter { value: 1.into(), published, ..Parameter::default() }, "Fig. 1")
        };
        assert_eq!((of(Some(1)), of(Some(7))), ("Fig. 1".into(), "this machine; Fig. 1 has 7".into()));
        assert!(of(None).starts_with("ours, because"));
        let chapter = chapter().unwrap();
        assert!(chapter.entries().any(|entry| entry.name == "latency-vs-load.threads"));
    }

    #[test]
    fn has_every_study_with_its_source() {
        let chapter = chapter().unwrap();
        for study in STUDIES {
            let entry = chapter.entries().find(|entry| entry.name == study.name()).unwrap();
            assert!(!entry.meaning.is_empty() && !entry.source.is_empty(), "{entry:?}");
        }
    }
}
