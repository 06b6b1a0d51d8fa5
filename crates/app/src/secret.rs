//! A secret that the services of one application share.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use serde::{Serialize, Serializer};

/// Random bytes of a secret: more than can be tried.
const BYTES: usize = 32;

/// A secret that is drawn when an application is planned, and that its services know each other by: a password of a
/// database. Templates have it in hexadecimal; it is in no message.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// A new one.
    ///
    /// Errors: the kernel gives no random bytes.
    pub(crate) fn draw() -> io::Result<Secret> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Placeholder in files that are written before the secret is drawn.
    pub(crate) fn placeholder(text: &str) -> Secret {
        Secret(text.into())
    }

    /// It, for the one file that is to hold it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_and_none_is_shown() {
        let [one, other] = [Secret::draw().unwrap(), Secret::draw().unwrap()];
        assert_ne!(one, other);
        assert_eq!(one.0.len(), 2 * BYTES);
        assert!(one.0.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(!format!("{one:?}").contains(&one.0));
    }
}
