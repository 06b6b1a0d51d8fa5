use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

/// The prefix of every key, so that a foreign server's own items are never touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// The longest prefix; it leaves 20 digits and more for the number within memcached's 250 B.
    pub const MAX: usize = 64;

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix("taillight:".into())
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Prefix {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Prefix, ParseError> {
        let error = |problem: &str| ParseError {
            what: "key prefix",
            given: text.into(),
            problem: problem.into(),
            hint: "write 1 to 64 visible ASCII characters, such as taillight:",
        };
        match text.len() {
            0 => Err(error("it is empty, and keys could then collide with others' items")),
            n if n > Prefix::MAX => Err(error("it is longer than 64 bytes")),
            _ if !text.bytes().all(|b| b.is_ascii_graphic()) => {
                Err(error("it has a character that a key may not have"))
            }
            _ => Ok(Prefix(text.into())),
        }
    }
}

as_text! { Prefix; }
