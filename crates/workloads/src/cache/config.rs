use std::fmt;
use std::str::FromStr;

use dist::{KeySampler, Popularity, Size};
use proto_memcache::limits;
use serde::{Serialize, Serializer};
use thiserror::Error;
use units::ParseError;

use crate::cache::Mix;

/// What stands before every key, so that a foreign server's own items are never touched.
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
            lever: "write 1 to 64 visible ASCII characters, such as taillight:",
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

/// Every parameter of the cache workload; what a result records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheConfig {
    /// Keys in the data set.
    pub keys: u64,
    /// What stands before every key.
    #[serde(serialize_with = "text")]
    pub key_prefix: Prefix,
    /// Length of a key with its prefix; drawn once per key. Units: bytes.
    #[serde(rename = "key_size_bytes", serialize_with = "text")]
    pub key_size: Size,
    /// Length of a value; drawn once per key. Units: bytes.
    #[serde(rename = "value_size_bytes", serialize_with = "text")]
    pub value_size: Size,
    /// How often each key is asked for.
    #[serde(serialize_with = "text")]
    pub popularity: Popularity,
    /// The shares of the operations.
    #[serde(rename = "mix_percent", serialize_with = "text")]
    pub mix: Mix,
    /// The seed of keys, sizes and operations.
    pub seed: u64,
}

fn text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// A workload that cannot be.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("{0}")]
    Parse(#[from] ParseError),
    #[error(
        "key size {given}: the shortest key must hold the prefix '{prefix}' and {digits} digits for {keys} keys; use --key-size {least} or more, fewer --keys, or a shorter --key-prefix"
    )]
    KeyTooShort { given: String, prefix: String, digits: usize, keys: u64, least: usize },
    #[error("key size {given}: memcached's protocol allows keys of at most {} bytes", limits::KEY_MAX)]
    KeyTooLong { given: String },
}

impl CacheConfig {
    /// Checks that the parameters go together.
    pub fn check(&self) -> Result<(), ConfigError> {
        KeySampler::new(self.popularity, self.keys)?;
        let digits = self.digits();
        let least = self.key_prefix.as_bytes().len() + digits;
        if (self.key_size.min().0 as usize) < least {
            return Err(ConfigError::KeyTooShort {
                given: self.key_size.to_string(),
                prefix: self.key_prefix.to_string(),
                digits,
                keys: self.keys,
                least,
            });
        }
        if self.key_size.max().0 as usize > limits::KEY_MAX {
            return Err(ConfigError::KeyTooLong { given: self.key_size.to_string() });
        }
        Ok(())
    }

    /// Digits of the largest key number.
    fn digits(&self) -> usize {
        self.keys.saturating_sub(1).max(1).ilog10() as usize + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(keys: u64, key_size: &str, prefix: &str) -> CacheConfig {
        CacheConfig {
            keys,
            key_prefix: prefix.parse().unwrap(),
            key_size: key_size.parse().unwrap(),
            value_size: "200".parse().unwrap(),
            popularity: Popularity::Uniform,
            mix: Mix::default(),
            seed: 1,
        }
    }

    #[test]
    fn keys_must_be_told_apart_and_be_legal() {
        let check = |keys, size, prefix, expect: Option<&str>| {
            let got = config(keys, size, prefix).check().err().map(|e| e.to_string());
            match expect {
                None => assert_eq!(got, None),
                Some(part) => assert!(got.as_ref().is_some_and(|e| e.contains(part)), "{got:?}"),
            }
        };
        check(100_000, "30", "taillight:", None);
        check(100_000, "15", "taillight:", None);
        check(100_000, "14", "taillight:", Some("--key-size 15 or more"));
        check(1_000_000, "uniform:5..40", "taillight:", Some("6 digits"));
        check(10, "251", "t", Some("at most 250"));
        check(0, "30", "t", Some("not between 1"));
        check(1, "2", "t", None);
        assert!("".parse::<Prefix>().is_err());
        assert!("a b".parse::<Prefix>().is_err());
    }
}
