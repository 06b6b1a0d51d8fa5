use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

/// A knob and its value, as on the command line: `cpu.set=0`. Which knobs there are, and their values, is known to the
/// crate `knobs`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Knob(String);

impl Knob {
    /// `NAME=VALUE`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Knob {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Knob, ParseError> {
        match text.split_once('=') {
            Some((name, _)) if !name.trim().is_empty() => Ok(Knob(text.into())),
            _ => Err(ParseError {
                what: "knob",
                given: text.into(),
                problem: "it is not NAME=VALUE".into(),
                hint: "write it as taillight tune takes it, such as cpu.set=0",
            }),
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

as_text! { Knob; }
