//! Arrivals as a person asks for them.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

use super::{Process, Profile};
use crate::syntax::Syntax;

/// The requested arrivals: a process, optionally under a profile, as in `poisson+ramp:0.1x..1x/60s`; or a
/// trace.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalSpec {
    /// Drawn at the offered rate.
    Drawn {
        /// The process.
        process: Process,
        /// Factors of its rate over time.
        profile: Option<Profile>,
    },
    /// Replayed from a file, at its own rate.
    Trace {
        /// Its path; the caller opens and reads it.
        file: String,
        /// How many times as fast as it was.
        speed: f64,
    },
}

const HINT: &str = "write a process such as poisson or mmpp:4x,100ms,900ms, maybe with +PROFILE behind it as in \
     poisson+ramp:0.1x..1x/60s, or trace:FILE or trace:FILE@2x";

impl Default for ArrivalSpec {
    fn default() -> ArrivalSpec {
        Process::default().into()
    }
}

impl From<Process> for ArrivalSpec {
    fn from(process: Process) -> ArrivalSpec {
        ArrivalSpec::Drawn { process, profile: None }
    }
}

impl fmt::Display for ArrivalSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrivalSpec::Drawn { process, profile: None } => process.fmt(f),
            ArrivalSpec::Drawn { process, profile: Some(profile) } => f.pad(&format!("{process}+{profile}")),
            ArrivalSpec::Trace { file, speed } => f.pad(&format!("trace:{file}@{speed}x")),
        }
    }
}

impl FromStr for ArrivalSpec {
    type Err = ParseError;

    /// Reads `PROCESS`, `PROCESS+PROFILE`, a profile alone (of Poisson), `trace:FILE` and `trace:FILE@2x`.
    fn from_str(text: &str) -> Result<ArrivalSpec, ParseError> {
        let syntax = Syntax { what: "arrivals", given: text, hint: HINT };
        if let Some(file) = text.trim().strip_prefix("trace:") {
            // A name with an @ that no factor follows is a name.
            let (file, speed) = match file.rsplit_once('@') {
                Some((name, factor)) if factor.trim().ends_with('x') => {
                    (name, syntax.factor(factor, "speed", Profile::MAX_FACTOR)?)
                }
                _ => (file, 1.0),
            };
            return match (file.is_empty(), speed > 0.0) {
                (true, _) => Err(syntax.error("it names no file")),
                (_, false) => Err(syntax.error("its speed is 0")),
                _ => Ok(ArrivalSpec::Trace { file: file.into(), speed }),
            };
        }
        let is_profile = |text: &str| Profile::FORMS.iter().any(|form| text.trim().starts_with(form.name()));
        match text.split_once('+') {
            Some((process, profile)) => {
                Ok(ArrivalSpec::Drawn { process: process.parse()?, profile: Some(profile.parse()?) })
            }
            None if is_profile(text) => {
                Ok(ArrivalSpec::Drawn { process: Process::Poisson, profile: Some(text.parse()?) })
            }
            None => Ok(text.parse::<Process>()?.into()),
        }
    }
}

as_text! { ArrivalSpec; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, shown: &str| {
            let spec: ArrivalSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), shown);
            assert_eq!(shown.parse::<ArrivalSpec>().unwrap(), spec);
        };
        check("poisson", "poisson");
        check("etc+ramp:0..1/10s", "etc+ramp:0x..1x/10s");
        check("steps:1@1s,2@1s", "poisson+steps:1x@1s,2x@1s");
        check("trace:a.txt", "trace:a.txt@1x");
        check("trace:a@b.txt@2.5x", "trace:a@b.txt@2.5x");
        check("trace:a@b.txt", "trace:a@b.txt@1x");
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<ArrivalSpec>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("trace:", "names no file");
        check("trace:a@0x", "its speed is 0");
        check("trace:a@fastx", "not a number");
        check("poisson+poisson", "load profile 'poisson'");
        check("ramp:1", "load profile");
        check("etc:1", "arrival process");
    }
}
