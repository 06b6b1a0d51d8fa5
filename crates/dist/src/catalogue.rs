//! Everything that a load can be drawn from, in one list made from the types themselves.
//!
//! Try it: `cargo test -p dist catalogue`.

use crate::{ArrivalSpec, DataSet, Notation, Popularity, Preset, Process, Profile, Scaling, Size, Trace};

/// All forms of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Heading of the section.
    pub title: &'static str,
    /// The options that take them.
    pub options: &'static str,
    /// The forms.
    pub forms: &'static [Notation],
    /// Whether a text is of this kind.
    reads: fn(&str) -> bool,
}

/// Every distribution, process, data set and preset, as `taillight explain` prints them.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    /// The kinds, in the order in which one chooses.
    pub sections: [Section; 7],
    /// The presets.
    pub presets: &'static [Preset],
}

/// The catalogue, from the texts next to each type.
pub fn catalogue() -> Catalogue {
    let arrivals = "--arrivals";
    Catalogue {
        sections: [
            Section {
                title: "Sizes; [LEAST..MOST] behind any of them clips it",
                options: "--key-size, --value-size",
                forms: &Size::FORMS,
                reads: |text| text.parse::<Size>().is_ok(),
            },
            Section {
                title: "Popularity of keys",
                options: "--popularity",
                forms: &Popularity::FORMS,
                reads: |text| text.parse::<Popularity>().is_ok(),
            },
            Section {
                title: "Arrival processes",
                options: arrivals,
                forms: &Process::FORMS,
                reads: |text| text.parse::<ArrivalSpec>().is_ok(),
            },
            Section {
                title: "Load profiles, behind a process as in poisson+ramp:0.1x..1x/60s",
                options: arrivals,
                forms: &Profile::FORMS,
                reads: |text| format!("poisson+{text}").parse::<ArrivalSpec>().is_ok(),
            },
            Section {
                title: "Arrivals from a trace",
                options: arrivals,
                forms: &Trace::FORMS,
                reads: |text| text.parse::<ArrivalSpec>().is_ok(),
            },
            Section {
                title: "Data sets",
                options: "--data-set",
                forms: &DataSet::FORMS,
                reads: |text| !text.is_empty(),
            },
            Section {
                title: "Scaling of a data set",
                options: "--scale",
                forms: &Scaling::FORMS,
                reads: |text| text.parse::<Scaling>().is_ok(),
            },
        ],
        presets: &Preset::ALL,
    }
}

impl Section {
    /// Whether a text, such as a form's example, is of this kind.
    pub fn reads(&self, text: &str) -> bool {
        (self.reads)(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_can_be_typed_and_every_text_is_there() {
        for section in catalogue().sections {
            for form in section.forms {
                assert!(section.reads(form.example), "{}: {}", section.title, form.example);
                let texts = [form.syntax, form.meaning, form.example, form.source, form.check];
                assert!(texts.iter().all(|text| !text.is_empty() && !text.contains("  ")), "{form:?}");
            }
        }
        assert!(!catalogue().sections[0].reads("nonsense"));
    }
}
