use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, ParseError};

use crate::Profile;
use crate::syntax::Syntax;
use crate::text::{as_text, exact_or_none};

/// Requests of a trace in place of drawn ones.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Replay of a trace")]
#[serde(default, rename_all = "kebab-case")]
pub struct Replay {
    /// Replay the requests of this file, with their keys, operations, sizes, expiry times and arrival times: one of
    /// Twitter's or CacheLib's traces, oracleGeneral, or what memcached's watch or Redis' MONITOR printed, also as zstd;
    /// see taillight trace. Without --window all of it is replayed, without a warm-up. Its arrivals replace --arrivals,
    /// and --rate sets another mean rate. add, replace and cas are replayed as set; incr, decr, append and prepend as
    /// set of the recorded size, which are counted. --on-miss set follows a miss by a set of the recorded or last known
    /// size; it is the default for a trace that has only gets.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "keys", "data_set", "mix", "popularity", "expiry", "fill"])]
    #[schemars(extend("x-source" = "ours, because requests are drawn unless a trace is named"))]
    pub trace: Option<PathBuf>,
    /// Speed, as a multiple of the recorded one: 2x, 0.5x. Items expire sooner by the same factor.
    #[arg(long, default_value_t = Speed::default(), value_name = "FACTOR", requires = "trace")]
    #[schemars(extend("x-source" = "ours, because a trace is replayed at its own rate unless another is asked for"))]
    pub speed: Speed,
    /// Begin the trace again at its end. Takes a --window.
    #[arg(long = "loop", requires = "trace")]
    #[serde(rename = "loop")]
    #[schemars(extend("x-source" = "ours, because a second round finds the items of the first"))]
    pub is_loop: bool,
    /// Replay the keys of one in N only, chosen by their hash, each with all of its requests: 1/100. A cache of a
    /// hundredth of the memory then has about the same hit ratio.
    #[arg(long, default_value_t = KeySample::default(), value_name = "1/N", requires = "trace")]
    #[schemars(extend("x-source" = "ours, because a trace is replayed as a whole; spatial sampling: Waldspurger et al., FAST 2015"))]
    pub sample: KeySample,
    /// Replay the trace from this moment on, after its start: 90s, 1h.
    #[arg(long, value_name = "TIME", requires = "trace")]
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "ours, because a trace is replayed from its start"))]
    pub from: Option<Nanos>,
    /// Replay the trace up to this moment, after its start.
    #[arg(long, value_name = "TIME", requires = "trace")]
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "ours, because a trace is replayed to its end"))]
    pub to: Option<Nanos>,
}

/// How many times as fast a trace is replayed as it was recorded. Bounds: over 0, up to 1000.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// The factor.
    pub fn factor(self) -> f64 {
        self.0
    }
}

impl Default for Speed {
    fn default() -> Speed {
        Speed(1.0)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x", self.0))
    }
}

impl FromStr for Speed {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Speed, ParseError> {
        let syntax =
            Syntax { what: "speed of a trace", given: text, hint: "write a factor such as 2x or 0.5x" };
        match syntax.factor(text, "factor", Profile::MAX_FACTOR)? {
            factor if factor > 0.0 => Ok(Speed(factor)),
            _ => Err(syntax.error("it is 0")),
        }
    }
}

/// The share of the keys of a trace that are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySample(NonZeroU32);

impl KeySample {
    /// One key in this many.
    pub fn one_in(self) -> u32 {
        self.0.get()
    }
}

impl Default for KeySample {
    fn default() -> KeySample {
        KeySample(NonZeroU32::MIN)
    }
}

impl fmt::Display for KeySample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("1/{}", self.0))
    }
}

impl FromStr for KeySample {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<KeySample, ParseError> {
        let number =
            text.trim().strip_prefix("1/").filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
        number.and_then(|number| number.parse().ok()).map(KeySample).ok_or_else(|| ParseError {
            what: "share of keys",
            given: text.into(),
            problem: "it is not 1/N, with N from 1 to 4294967295".into(),
            hint: "write 1/100 for the keys of one in 100, 1/1 for all",
        })
    }
}

as_text! { Speed; KeySample; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_shares_read_back() {
        for text in ["1x", "2x", "0.5x"] {
            assert_eq!(text.parse::<Speed>().unwrap().to_string(), text);
        }
        assert_eq!("3".parse::<Speed>().unwrap().factor(), 3.0);
        for text in ["1/1", "1/100"] {
            assert_eq!(text.parse::<KeySample>().unwrap().to_string(), text);
        }
        let refused =
            |error: ParseError, expect: &str| assert!(error.to_string().contains(expect), "{error}");
        refused("0x".parse::<Speed>().unwrap_err(), "it is 0");
        refused("fast".parse::<Speed>().unwrap_err(), "not a number");
        refused("1/0".parse::<KeySample>().unwrap_err(), "not 1/N");
        refused("10%".parse::<KeySample>().unwrap_err(), "not 1/N");
        refused("1/+5".parse::<KeySample>().unwrap_err(), "not 1/N");
    }
}
