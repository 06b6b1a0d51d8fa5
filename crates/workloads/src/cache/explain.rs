//! The object-caching workload: its operations, its distributions, and published loads.

use dist::{DataSet, Trace};
use spec::workload::Operation;
use spec::{Chapter, Entry, Notation, Popularity, Preset, Process, Profile, Scaling, Section, Size};

/// The distributions from which a load can be drawn: heading, options and forms of each kind, in the order in which a
/// user chooses.
const KINDS: [(&str, &str, &[Notation]); 7] = [
    ("Sizes; [LEAST..MOST] behind any of them clips it", "--key-size, --value-size", &Size::FORMS),
    ("Popularity of keys", "--popularity", &Popularity::FORMS),
    ("Arrival processes", "--arrivals", &Process::FORMS),
    ("Load profiles, behind a process as in poisson+ramp:0.1x..1x/60s", "--arrivals", &Profile::FORMS),
    ("Arrivals from a trace", "--arrivals", &Trace::FORMS),
    ("Data sets", "--data-set", &DataSet::FORMS),
    ("Scaling of a data set", "--scale", &Scaling::FORMS),
];

/// Operations, distributions and presets.
pub fn chapter() -> Chapter {
    Chapter::of([vec![operations()], distributions(), presets()].concat())
}

/// Every operation of a mix.
pub fn operations() -> Section {
    let entries = Operation::EXPLAINED.map(|(name, _, meaning)| {
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
    let entry = |form: &Notation| {
        let meaning = format!("{}. Such as {}; checked: {}", form.meaning, form.example, form.check);
        Entry::named(form.syntax, meaning, form.source)
    };
    let section = |(title, options, forms): &(&str, &str, &[Notation])| {
        Section::new(&format!("{title} ({options})"), forms.iter().map(entry))
    };
    KINDS.iter().map(section).collect()
}

/// Published loads, each value with its source.
pub fn presets() -> Vec<Section> {
    Preset::ALL.iter().map(preset).collect()
}

fn preset(preset: &Preset) -> Section {
    let remark = if preset.is_refused() {
        format!("cannot be served: {}", preset.note)
    } else {
        preset.note.to_owned()
    };
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
        for (name, ..) in Operation::EXPLAINED {
            assert!(spec::is_source(&find(name).source), "{name}");
        }
        for form in KINDS.iter().flat_map(|(_, _, forms)| *forms) {
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

    #[test]
    fn every_example_can_be_typed_and_every_text_is_there() {
        for (title, options, forms) in KINDS {
            let reads = |text: &str| match options {
                "--key-size, --value-size" => text.parse::<Size>().is_ok(),
                "--popularity" => text.parse::<Popularity>().is_ok(),
                "--arrivals" => text.parse::<spec::ArrivalSpec>().is_ok(),
                "--scale" => text.parse::<Scaling>().is_ok(),
                _ => !text.is_empty(),
            };
            for form in forms {
                assert!(reads(form.example), "{title}: {}", form.example);
                let texts = [form.syntax, form.meaning, form.example, form.source, form.check];
                assert!(texts.iter().all(|text| !text.is_empty() && !text.contains("  ")), "{form:?}");
            }
        }
    }
}
