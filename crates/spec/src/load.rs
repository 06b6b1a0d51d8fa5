//! The offered load.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Rate;

use crate::text::{as_text, count, exact_or_none};

/// The offered load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub enum Load {
    /// A share of a maximum throughput.
    Share {
        /// 0 to 1.
        share: f64,
        /// The series of that maximum, optionally with a place after ` @ `; `None` for the cell's
        /// own.
        of: Option<String>,
    },
    /// A rate.
    Rate(Rate),
    /// The rate of the replayed trace.
    Trace,
    /// A closed loop: each client asks again once it has its answer.
    Closed,
    /// The maximum throughput is searched.
    Maximum,
    /// The peak throughput under QoS is searched.
    Peak,
    /// No load: the knobs are applied this number of times, and timed.
    Apply(u32),
    /// No load: the server is restarted this number of times, and timed.
    Restart(u32),
}

impl Load {
    /// The rate, if the load is given as one.
    pub fn rate(&self) -> Option<Rate> {
        if let Load::Rate(rate) = self { Some(*rate) } else { None }
    }
}

impl Default for Load {
    /// Half of the server's maximum throughput.
    fn default() -> Load {
        Load::Share { share: 0.5, of: None }
    }
}

/// A load as it is written: one of these.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
struct Written {
    /// A share of the maximum throughput: `70%`.
    #[schemars(extend("x-source" = "ours, because at half of its maximum a server's queues are short and any two servers can be compared; IISWC'17 §IV-A goes from 10 to 100 %"))]
    share: Option<Share>,
    /// The series whose maximum it is a share of.
    #[schemars(extend("x-source" = "ours, because a share is that of the own maximum unless another is named"))]
    of: Option<String>,
    /// Requests per second: `50krps`.
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "ours, because no rate suits every server: it is given, or a share of the maximum that is found"))]
    rate: Option<Rate>,
    /// The rate of the trace that `generator.arrivals` names.
    #[schemars(extend("x-source" = "ours, because the arrivals are drawn unless a trace is named"))]
    trace: bool,
    /// A closed loop.
    #[schemars(extend("x-source" = "IISWC'17 §III-C: open-loop generators, as a closed loop asks a slow server less"))]
    closed: bool,
    /// The load to search for: `maximum` or `peak`.
    #[schemars(extend("x-source" = "ours, because a load is offered unless one is to be found"))]
    find: Option<String>,
    /// Applications of the knobs, which are timed.
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "IISWC'17 §V-A, Table IV: each mechanism is applied 10 000 times; here as often as it is asked for"))]
    apply: Option<u32>,
    /// Restarts of the server, which are timed.
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "IISWC'17 §V-A, Table IV: container restarts; here as often as it is asked for"))]
    restart: Option<u32>,
}

/// A share as it is written: `70%`.
#[derive(Clone, Copy, Debug)]
struct Share(f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let share = percent(text).map(Share);
        share.ok_or_else(|| format!("its share is '{text}'; write per cent over 0, such as \"70%\""))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::syntax::percent(self.0))
    }
}

as_text! { Share, needs_unit = "70%"; }

impl TryFrom<Written> for Load {
    type Error = String;

    fn try_from(written: Written) -> Result<Load, String> {
        let Written { share, of, rate, trace, closed, find, apply, restart } = written;
        if of.is_some() && share.is_none() {
            return Err("'of' says whose maximum a share refers to; there is no share".into());
        }
        // A form of a study may say how often knobs are applied; restarts replace that.
        let cost = restart.map(Load::Restart).or(apply.map(Load::Apply));
        let find = match find.as_deref() {
            None => None,
            Some("maximum") => Some(Load::Maximum),
            Some("peak") => Some(Load::Peak),
            Some(_) => return Err("find is \"maximum\" or \"peak\"".into()),
        };
        let given = [
            share.map(|Share(share)| Load::Share { share, of }),
            rate.map(Load::Rate),
            trace.then_some(Load::Trace),
            closed.then_some(Load::Closed),
            find,
            cost,
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (None, _) => Ok(Load::default()),
            (Some(load), None) => Ok(load),
            _ => Err("only one of share, rate, trace, closed, find, apply and restart can be meant".into()),
        }
    }
}

impl From<Load> for Written {
    fn from(load: Load) -> Written {
        let none = Written::default();
        match load {
            Load::Share { share, of } => Written { share: Some(Share(share)), of, ..none },
            Load::Rate(rate) => Written { rate: Some(rate), ..none },
            Load::Trace => Written { trace: true, ..none },
            Load::Closed => Written { closed: true, ..none },
            Load::Maximum => Written { find: Some("maximum".into()), ..none },
            Load::Peak => Written { find: Some("peak".into()), ..none },
            Load::Apply(times) => Written { apply: Some(times), ..none },
            Load::Restart(times) => Written { restart: Some(times), ..none },
        }
    }
}

/// A share written in per cent: `70%`, `12.5 %`.
///
/// Bounds: over 0 to 1000 %, ten times the maximum throughput, which shows no more than 200 % does.
pub fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
    (number > 0.0 && number <= 1000.0).then_some(number / 100.0)
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In per cent without the noise of binary fractions.
        let percent = |share: f64| (1e4 * share).round() / 1e2;
        match self {
            Load::Share { share, of: None } => write!(f, "{} % of its own maximum", percent(*share)),
            Load::Share { share, of: Some(of) } => write!(f, "{} % of the maximum of {of}", percent(*share)),
            Load::Rate(rate) => rate.fmt(f),
            Load::Trace => f.write_str("the rate of the trace"),
            Load::Closed => f.write_str("closed loop"),
            Load::Maximum => f.write_str("maximum throughput"),
            Load::Peak => f.write_str("peak throughput under QoS"),
            Load::Apply(times) => write!(f, "{times} applications of the knobs"),
            Load::Restart(times) => write!(f, "{times} restarts of the server"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_per_cents() {
        let check = |text: &str, expect: Option<f64>| assert_eq!(percent(text), expect, "{text}");
        check("70%", Some(0.7));
        check(" 12.5 % ", Some(0.125));
        check("70", None);
        check("0%", None);
        check("NaN%", None);
        check("-5%", None);
        check("%", None);
    }
}
