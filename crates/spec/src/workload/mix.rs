use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

use super::Operation;
use crate::Size;
use crate::syntax::{check_sum, share_of_mix};

/// The shares of the operations. Units: per cent; they add up to 100.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    shares: Vec<Share>,
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// What is done.
    pub operation: Operation,
    /// How often. Units: per cent; over 0.
    pub percent: f64,
}

impl Default for Mix {
    /// Reads only, as in IISWC'17 §III-C.
    fn default() -> Mix {
        Mix { shares: vec![Share { operation: Operation::Get, percent: 100.0 }] }
    }
}

impl Mix {
    /// The operations in the order in which they were written, each once, none with a share of 0.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Whether any operation is such.
    pub fn any(&self, is: impl Fn(&Operation) -> bool) -> bool {
        self.shares.iter().any(|share| is(&share.operation))
    }

    /// Whether any operation changes the server's content.
    pub fn writes(&self) -> bool {
        self.any(Operation::writes)
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = self.shares.iter().map(|share| format!("{}:{}", share.operation, share.percent));
        f.pad(&shares.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Mix {
    type Err = ParseError;

    /// Reads `get:80,mget(10):5,set:10,delete:5`; other operations are 0. The number of keys of an `mget` is any
    /// distribution of sizes: `mget(uniform:2..20):5`.
    fn from_str(text: &str) -> Result<Mix, ParseError> {
        let error = |problem: String| ParseError {
            what: "operation mix",
            given: text.into(),
            problem,
            hint: "write shares in per cent that add up to 100, such as get:80,mget(10):5,set:15",
        };
        let mut mix = Mix { shares: Vec::new() };
        for part in split_outside_brackets(text) {
            let (name, percent) =
                part.rsplit_once(':').ok_or_else(|| error(format!("'{part}' is not NAME:SHARE")))?;
            let percent = share_of_mix(percent).map_err(error)?;
            let operation = operation(name.trim()).map_err(error)?;
            if percent == 0.0 {
                continue;
            }
            match mix.shares.iter_mut().find(|share| share.operation == operation) {
                Some(share) => share.percent += percent,
                None => mix.shares.push(Share { operation, percent }),
            }
        }
        check_sum(mix.shares.iter().map(|share| share.percent)).map_err(error)?;
        Ok(mix)
    }
}

fn operation(name: &str) -> Result<Operation, String> {
    if let Some(operation) = Operation::plain(name) {
        return Ok(operation);
    }
    if name == "mget" {
        return Err("mget lacks its number of keys: write mget(10)".into());
    }
    let Some(keys) = name.strip_prefix("mget(").and_then(|rest| rest.strip_suffix(')')) else {
        let names = Operation::EXPLAINED.map(|(name, ..)| name).join(", ");
        return Err(format!("there is no operation '{name}'; there are {names}"));
    };
    let keys: Size = keys.parse().map_err(|e| format!("the number of keys of {name}: {e}"))?;
    Ok(Operation::MultiGet(keys))
}

/// The parts between commas; those inside brackets belong to a distribution.
fn split_outside_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
}

as_text! { Mix; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_shares_that_add_up_and_prints_them_back() {
        let check = |text: &str, shown: &str| {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(mix.to_string(), shown);
            assert_eq!(shown.parse::<Mix>().unwrap(), mix);
        };
        check("get:90,set:10", "get:90,set:10");
        check("set:100,get:0", "set:100");
        check("get:50, get:50", "get:100");
        check("get:80,mget(10):5,set:10,delete:5", "get:80,mget(10):5,set:10,delete:5");
        check("mget(uniform:2..20):62.5,mget(3):37.5", "mget(uniform:2..20):62.5,mget(3):37.5");
        check(
            "gets:10,add:10,replace:10,append:10,prepend:10,incr:10,decr:10,touch:10,gat:10,cas:5,insert:5",
            "gets:10,add:10,replace:10,append:10,prepend:10,incr:10,decr:10,touch:10,gat:10,cas:5,insert:5",
        );
        check("get:33.33333,set:33.33333,add:33.33334", "get:33.33333,set:33.33333,add:33.33334");
        assert_eq!(Mix::default().to_string(), "get:100");
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Mix>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "'' is not NAME:SHARE");
        check("get", "'get' is not NAME:SHARE");
        check("get:50", "add up to 50");
        check("get:90,set:20", "add up to 110");
        check("get:NaN", "'NaN' is not a share");
        check("put:100", "no operation 'put'; there are get, mget(KEYS)");
        check("get:-5,set:105", "'-5' is not a share");
        check("mget:100", "write mget(10)");
        check("mget(x):100", "the number of keys of mget(x)");
        check("mget(10:100", "no operation 'mget(10'");
    }

    #[test]
    fn tells_readers_from_writers() {
        let check =
            |text: &str, expect: bool| assert_eq!(text.parse::<Mix>().unwrap().writes(), expect, "{text}");
        check("get:50,mget(5):25,gets:25", false);
        check("get:99,touch:1", true);
        check("get:99,incr:1", true);
        check("gat:100", true);
    }
}
