//! Defaults as the declarations of options have them.

use clap::{Args, Command};

/// The options without any given value.
pub(crate) fn of_options<T: Args>() -> T {
    let command = T::augment_args(Command::new("defaults").no_binary_name(true));
    let given = command.try_get_matches_from(std::iter::empty::<&str>());
    given.and_then(|given| T::from_arg_matches(&given)).expect("each has a default, or may be absent")
}

/// Implements `Default` for the options of a command line, so that each default is written once.
macro_rules! default_options {
    ($($type:ty;)+) => {$(
        impl Default for $type {
            fn default() -> $type {
                // Files leave many fields out, and building a command takes some 100 µs.
                static USUAL: std::sync::LazyLock<$type> =
                    std::sync::LazyLock::new(crate::defaults::of_options::<$type>);
                USUAL.clone()
            }
        }
    )+};
}

pub(crate) use default_options;
