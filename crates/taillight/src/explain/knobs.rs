//! Knobs, and the profiles that set them for a measurement.

use ::knobs::{Knob, Profile};
use anyhow::Result;

use super::fields;
use spec::{Chapter, Entry, Section};

pub(super) fn chapter() -> Result<Chapter> {
    let knobs = Knob::ABOUT
        .iter()
        .map(|about| Entry::named(about.name, format!("{}; {}", about.does, about.syntax), about.source));
    let mut sections = vec![
        Section::new("Knobs; docs/reference/knobs.md says by which interface each is set", knobs),
        fields::section("As a specification has them", "knobs", None),
        fields::section("Those of the generators' machines", "client-knobs", None),
    ];
    for name in Profile::names() {
        let profile = Profile::find(name)?;
        let entries = profile.knob.iter().map(|line| {
            let set = line.set.to_string();
            let (knob, value) = set.split_once('=').unwrap_or((&set, ""));
            Entry::of_value(format!("{name}.{knob}"), value, line.why.clone(), line.source.clone())
        });
        let title = format!("Profile {name}: {}", profile.title);
        sections.push(Section::new(&title, entries));
    }
    Ok(Chapter::of(sections))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_every_knob_and_profile() {
        let chapter = chapter().unwrap();
        assert_eq!(chapter.sections.len(), 3 + Profile::names().count());
        let knobs = &chapter.sections[0].entries;
        assert!(knobs.iter().all(|entry| spec::is_source(&entry.source)), "{knobs:?}");
        let affinity = chapter.entries().find(|entry| entry.name == "cache-server.irq.affinity").unwrap();
        assert_eq!(affinity.value.as_deref(), Some("all"));
        assert!(affinity.source.contains("ISPASS'16"), "{affinity:?}");
    }
}
