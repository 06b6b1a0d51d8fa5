//! Requested knobs: by name, or by a profile that lists them.

use host::Host;
use units::ParseError;

use crate::{Error, Knob, Planned, Problem, Profile, Subject, plan, plan_what_can_be};

/// Prefix of a profile's name in places that only take `NAME=VALUE`, such as a specification.
const PROFILE: &str = "profile=";

/// The requested knobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedKnobs {
    /// All knobs, in the order of the words. A knob requested by name overrides a profile's line of that name.
    knobs: Vec<Knob>,
    /// The knobs requested by name: a host must support these.
    named: Vec<Knob>,
}

impl RequestedKnobs {
    /// Reads words: a knob (`cpu.set=0-3`), a profile (`cache-server`, `profile=cache-server`), or the file of one.
    ///
    /// Errors: a word is not a knob, a profile or a readable file.
    pub fn read<S: AsRef<str>>(words: &[S]) -> Result<RequestedKnobs, Error> {
        let words = || words.iter().map(AsRef::as_ref);
        let named: Vec<Knob> =
            words().filter(|word| profile_of(word).is_none()).map(knob).collect::<Result<_, _>>()?;
        let overridden = |knob: &Knob| named.iter().any(|other| other.name() == knob.name());
        let mut knobs = Vec::new();
        for word in words() {
            match profile_of(word) {
                None => knobs.push(knob(word)?),
                Some(name) => {
                    let lines = Profile::find(name)?.knobs();
                    knobs.extend(lines.into_iter().filter(|knob| !overridden(knob)));
                }
            }
        }
        Ok(RequestedKnobs { knobs, named })
    }

    /// The profiles among `words`.
    pub fn profiles<S: AsRef<str>>(words: &[S]) -> Vec<&str> {
        words.iter().filter_map(|word| profile_of(word.as_ref())).collect()
    }

    /// All knobs.
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// Their actions on `host` for `subject`. A profile's knobs that the host does not support are skipped and named.
    ///
    /// Errors: the host does not support a knob requested by name; a knob lacks its object.
    pub fn plan(&self, host: &Host, subject: &Subject) -> Result<Planned, Error> {
        let planned = self.plan_what_can_be(host, subject)?;
        let lacks = |knob: &&Knob| planned.skipped.iter().any(|skipped| skipped.knob == knob.to_string());
        if let Some(knob) = self.named.iter().find(lacks) {
            // Planned alone, so that the error is the one of this knob.
            plan(std::slice::from_ref(knob), host, subject)?;
        }
        Ok(planned)
    }

    /// The same, but knobs requested by name may be skipped, too.
    ///
    /// Errors: a knob lacks its object.
    pub fn plan_what_can_be(&self, host: &Host, subject: &Subject) -> Result<Planned, Error> {
        plan_what_can_be(&self.knobs, host, subject)
    }
}

/// The name of the profile in a word.
fn profile_of(word: &str) -> Option<&str> {
    match word.strip_prefix(PROFILE) {
        None if word.contains('=') => None,
        named => Some(named.unwrap_or(word)),
    }
}

fn knob(word: &str) -> Result<Knob, Error> {
    word.parse().map_err(|e: ParseError| {
        Error::Usage(Problem { what: format!("knob '{word}'"), limit: e.problem, hint: e.hint.into() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_overrides_a_line_of_a_profile() {
        for profile in ["cache-server", "profile=cache-server"] {
            let asked = RequestedKnobs::read(&[profile, "irq.affinity=0"]).unwrap();
            let affinities: Vec<String> = asked
                .knobs()
                .iter()
                .filter(|knob| knob.name() == "irq.affinity")
                .map(ToString::to_string)
                .collect();
            assert_eq!(affinities, ["irq.affinity=0"]);
            assert_eq!(asked.named.len(), 1);
            assert!(asked.knobs().iter().any(|knob| knob.to_string() == "irqbalance=off"));
        }
        assert_eq!(RequestedKnobs::profiles(&["cpu.set=0", "profile=a", "b"]), ["a", "b"]);
    }

    #[test]
    fn says_what_a_word_cannot_be() {
        let check = |word: &str, expect: &str| {
            let error = RequestedKnobs::read(&[word]).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check("no-such-profile", "cache-server");
        check("profile=no-such-profile", "cache-server");
        check("rpss=1", "the nearest is 'rps'");
    }
}
