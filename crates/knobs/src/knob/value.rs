//! Values that several knobs take.

use std::path::{Path, PathBuf};

use super::Cpus;

units::named! {
    /// On or off.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

impl Switch {
    pub(super) fn is_on(self) -> bool {
        self == Switch::On
    }

    pub(super) fn write(&self) -> String {
        self.name().into()
    }
}

/// Reads processors, or `off`.
pub(super) fn cpus_or_off(value: &str) -> Option<Option<Cpus>> {
    if value == "off" { Some(None) } else { Cpus::read(value).map(Some) }
}

pub(super) fn write_cpus_or_off(cpus: &Option<Cpus>) -> String {
    cpus.as_ref().map_or("off".to_owned(), Cpus::to_string)
}

/// A value, and the folder behind it, which is a whole path.
pub(super) fn at_folder(value: &str) -> Option<(&str, Option<PathBuf>)> {
    match value.split_once('@') {
        None => Some((value, None)),
        Some((value, folder)) => folder.starts_with('/').then(|| (value.trim(), Some(folder.into()))),
    }
}

/// The folder behind a value.
pub(super) fn behind(at: Option<&Path>) -> String {
    at.map_or_else(String::new, |at| format!("@{}", at.display()))
}

/// The words of a command.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A name that can become a part of a path or a command.
pub(super) fn word(text: &str) -> Option<String> {
    is_word(text).then(|| text.to_owned())
}

pub(super) fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(is_plain)
}

/// A count of at least 1.
pub(super) fn positive(value: &str) -> Option<u32> {
    value.parse().ok().filter(|count| *count > 0)
}
