use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads a value as the parser in it does, but without the blanks in front: memcached skips them, so that a start
/// script may pass `-m 64` as one word.
#[derive(Clone)]
pub(crate) struct Trimmed<P>(pub(crate) P);

impl<P: TypedValueParser> TypedValueParser for Trimmed<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        let value = OsStr::from_bytes(value.as_bytes().trim_ascii_start());
        self.0.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}
