use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Knob};

/// The profiles of this program, by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("cache-client", include_str!("../profiles/cache-client.toml")),
    ("cache-server", include_str!("../profiles/cache-server.toml")),
    ("cache-server-apart", include_str!("../profiles/cache-server-apart.toml")),
];

/// A list of knobs for many hosts, each line with its reason; a TOML file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its purpose, in a sentence.
    pub title: String,
    /// Its lines, in the order in which they are applied.
    #[serde(alias = "setting")]
    pub knob: Vec<Line>,
}

/// A knob and why it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The knob.
    pub set: Knob,
    /// The reason.
    pub why: String,
    /// The source of the recommendation.
    pub source: String,
}

impl Profile {
    /// The names of the profiles of this program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The profile of this name, or in the file at this path.
    ///
    /// Errors: there is neither; the file is not a profile.
    pub fn find(name_or_path: &str) -> Result<Profile, Error> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(name, _)| *name == name_or_path) {
            return Profile::parse(name_or_path, text);
        }
        let text = fs::read_to_string(Path::new(name_or_path)).map_err(|e| {
            let names: Vec<&str> = Profile::names().collect();
            let limit = format!("it is neither a profile nor a file that can be read ({e})");
            Error::usage(name_or_path, limit, format!("name {}, or a file", names.join(", ")))
        })?;
        Profile::parse(name_or_path, &text)
    }

    fn parse(name: &str, text: &str) -> Result<Profile, Error> {
        toml::from_str(text).map_err(|e| {
            let message = e.to_string();
            Error::usage(name, message.trim(), "each [[knob]] has the keys set, why and source")
        })
    }

    /// Its knobs alone.
    pub fn knobs(&self) -> Vec<Knob> {
        self.knob.iter().map(|line| line.set.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_ones_are_justified_line_by_line() {
        for name in Profile::names() {
            let profile = Profile::find(name).unwrap();
            assert!(!profile.knob.is_empty() && !profile.title.is_empty(), "{name}");
            for line in &profile.knob {
                assert!(line.why.len() > 20 && !line.source.is_empty(), "{name}: {}", line.set);
            }
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_file() {
        let check = |text: &str, expect: &str| {
            let error = Profile::parse("x.toml", text).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check("title = 1", "x.toml");
        check("title = 'x'\n[[knob]]\nset = 'rpss=1'\nwhy = 'x'\nsource = 'y'", "the nearest is 'rps'");
        check("title = 'x'\n[[knob]]\nset = 'rps=1'\nwhy = 'x'\nwho = 'y'", "who");
        let missing = Profile::find("no-such-profile").unwrap_err().to_string();
        assert!(missing.contains("cache-client, cache-server"), "{missing}");
    }
}
