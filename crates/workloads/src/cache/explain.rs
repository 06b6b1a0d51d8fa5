//! The object-caching workload: its operations, its distributions, and published loads.

use spec::workload::Operation;
use spec::{Chapter, Entry, Notation, Preset, Section};

/// Operations, distributions and presets.
pub fn chapter() -> Chapter {
    Chapter::of([vec![operations()], distributions(), presets()].concat())
}

/// Every operation of a mix.
pub fn operations() -> Section {
    let entries = Operation::EXPLAINED.map(|(name, meaning)| {
        let lacking = if matches!(name, "gets" | "cas" | "prepend") { "; not by RESP" } else { "" };
        Entry::named(name, format!("{meaning}{lacking}"), source(name))
    });
    Section::new("Operations (--mix)", entries)
}

/// Where an operation, and the numbers in it, come from.
fn source(operation: &str) -> &'static str {
    match operation {
        "append" | "prepend" => {
            "memcached's protocol.txt; ours, because the item must not outgrow its size: 8 B 64 times are 512 B"
        }
        "cas" => "memcached's protocol.txt; YCSB F reads, modifies and writes so",
        "insert" => "YCSB D and E: new records",
        _ => "memcached's protocol.txt",
    }
}

/// Sizes, popularities, arrivals, data sets and their scaling.
pub fn distributions() -> Vec<Section> {
    let form = |notation: &Notation| {
        Entry::named(
            notation.syntax,
            format!("{}. Such as {}; checked: {}", notation.meaning, notation.example, notation.check),
            notation.source,
        )
    };
    let sections = dist::catalogue().sections;
    let section = |kind: &dist::Section| {
        Section::new(&format!("{} ({})", kind.title, kind.options), kind.forms.iter().map(form))
    };
    sections.iter().map(section).collect()
}

/// Published loads, each value with its source.
pub fn presets() -> Vec<Section> {
    Preset::ALL.iter().map(preset).collect()
}

fn preset(preset: &Preset) -> Section {
    let remark =
        preset.refused.map_or_else(|| preset.note.to_owned(), |why| format!("cannot be served: {why}"));
    let summary =
        if remark.is_empty() { preset.summary.to_owned() } else { format!("{}; {remark}", preset.summary) };
    let head = Entry {
        name: preset.name.into(),
        option: Some(format!("--preset {}", preset.name)),
        meaning: summary,
        ..Entry::default()
    };
    let values = preset.parameters.iter().map(|parameter| Entry {
        name: format!("{}.{}", preset.name, parameter.option.trim_start_matches('-')),
        value: Some(parameter.value.into()),
        option: None,
        meaning: String::new(),
        source: parameter.source.into(),
    });
    Section::new(&format!("Preset {}", preset.name), std::iter::once(head).chain(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_every_operation_form_and_preset() {
        let chapter = chapter();
        let find = |name: &str| {
            chapter.entries().find(|entry| entry.name == name).unwrap_or_else(|| panic!("{name} is missing"))
        };
        for (name, _) in Operation::EXPLAINED {
            assert!(spec::is_source(&find(name).source), "{name}");
        }
        for form in dist::catalogue().sections.iter().flat_map(|section| section.forms) {
            let told = find(form.syntax);
            assert!(told.meaning.contains(form.check) && told.source == form.source, "{told:?}");
        }
        for preset in Preset::ALL {
            // Some presets share their name with a law.
            let is_told = |entry: &Entry| entry.name == preset.name && entry.meaning.contains(preset.summary);
            assert!(chapter.entries().any(is_told), "{}", preset.name);
            for parameter in preset.parameters {
                let told = find(&format!("{}.{}", preset.name, parameter.option.trim_start_matches('-')));
                assert_eq!(
                    (told.value.as_deref(), told.source.as_str()),
                    (Some(parameter.value), parameter.source)
                );
            }
        }
        assert!(find("ycsb-e").meaning.contains("cannot be served: 95 %"));
    }
}
