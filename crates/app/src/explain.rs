//! The settings of each application with their sources, to be explained.

use std::collections::BTreeMap;

use spec::{Entry, Section};

use crate::{App, Error, Setting, names, of_name};

/// Why a setting has its default: by application and setting.
type Sources = BTreeMap<String, BTreeMap<String, String>>;

/// The settings of every application that comes along and has some.
///
/// Errors: a description is damaged.
pub fn explain() -> Result<Vec<Section>, Error> {
    let sources = sources();
    let sections = names().map(|name| settings_of(name, &sources));
    let mut sections = sections.collect::<Result<Vec<_>, Error>>()?;
    sections.retain(|section| !section.entries.is_empty());
    Ok(sections)
}

fn sources() -> Sources {
    toml::from_str(include_str!("sources.toml")).expect("a test reads it")
}

fn all_of(app: &App) -> impl Iterator<Item = &Setting> {
    app.settings.iter().chain(app.services.iter().flat_map(|service| &service.settings))
}

fn settings_of(name: &str, sources: &Sources) -> Result<Section, Error> {
    let app = of_name(name)?;
    // Settings that an application inherits are explained at the application it is based on.
    let other = app.like.as_deref().map(of_name).transpose()?;
    let is_own = |setting: &&Setting| {
        other.as_ref().is_none_or(|other| all_of(other).all(|one| one.name != setting.name))
    };
    let entries = all_of(&app).filter(is_own).map(|setting| {
        let source = sources.get(name).and_then(|sources| sources.get(&setting.name));
        Entry {
            name: format!("{name}.{}", setting.name),
            value: Some(setting.default.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)),
            option: Some(format!("--server-set {}=…", setting.name)),
            meaning: setting.doc.clone(),
            source: source.cloned().unwrap_or_default(),
        }
    });
    Ok(Section::new(&format!("Settings of {name}: {}", app.title), entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_every_application_has_its_source() {
        let told: Vec<Entry> = explain().unwrap().into_iter().flat_map(|section| section.entries).collect();
        let sources = sources();
        for (app, settings) in &sources {
            for (setting, source) in settings {
                let entry = told.iter().find(|entry| entry.name == format!("{app}.{setting}"));
                assert_eq!(entry.map(|entry| &entry.source), Some(source), "{app}.{setting}");
                assert!(spec::is_source(source), "{source}");
            }
        }
        assert_eq!(told.len(), sources.values().map(BTreeMap::len).sum::<usize>(), "{told:?}");
    }
}
