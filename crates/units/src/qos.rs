use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Nanos, ParseError};

/// Which figure a quality-of-service target judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QosBasis {
    /// The percentile over all requests of the window.
    Raw,
    /// The median over 100 ms windows of each window's percentile; robust against stalls of the host.
    Windowed,
}

/// A quality-of-service (QoS) target: a percentile of the response time and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Qos {
    /// The percentile, over 0 and below 100: 99 for p99.
    pub percentile: f64,
    /// The response time that it must not pass.
    pub limit_ns: Nanos,
    /// The figure that is judged; `None` lets the measurement choose: windowed where host stalls were seen.
    pub basis: Option<QosBasis>,
}

impl Default for Qos {
    /// p99 ≤ 1 ms, the target of IISWC'17 for Memcached.
    fn default() -> Qos {
        Qos { percentile: 99.0, limit_ns: Nanos::from_millis(1), basis: None }
    }
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let basis = match self.basis {
            Some(QosBasis::Windowed) => "windowed ",
            Some(QosBasis::Raw) => "raw ",
            None => "",
        };
        write!(f, "{basis}p{} ≤ {}", self.percentile, self.limit_ns)
    }
}

impl FromStr for Qos {
    type Err = ParseError;

    /// Reads `p99<1ms`, `windowed p99<1ms`, `raw p99.9 <= 500us`. Only p99 has a windowed form.
    fn from_str(text: &str) -> Result<Qos, ParseError> {
        let error = |problem: String| ParseError {
            what: "QoS target",
            given: text.into(),
            problem,
            hint: "write 'p99<1ms', 'raw p99.9<5ms' or 'windowed p99<1ms'",
        };
        let (left, limit) = text.split_once(['<', '≤']).ok_or_else(|| error("it has no '<'".into()))?;
        let limit_ns: Nanos =
            limit.trim_start_matches('=').trim().parse().map_err(|e: ParseError| error(e.to_string()))?;
        if limit_ns == Nanos::ZERO {
            return Err(error("its limit is zero".into()));
        }
        let left = left.trim();
        let (basis, percentile) = if let Some(rest) = left.strip_prefix("windowed") {
            (Some(QosBasis::Windowed), rest.trim())
        } else if let Some(rest) = left.strip_prefix("raw") {
            (Some(QosBasis::Raw), rest.trim())
        } else {
            (None, left)
        };
        let percentile: f64 = percentile
            .strip_prefix('p')
            .and_then(|p| p.parse().ok())
            .filter(|p: &f64| *p > 0.0 && *p < 100.0)
            .ok_or_else(|| error(format!("'{percentile}' is not a percentile between p0 and p100")))?;
        if basis == Some(QosBasis::Windowed) && percentile != 99.0 {
            return Err(error(
                "only p99 has a windowed form, since a 100 ms window holds too few samples beyond".into(),
            ));
        }
        // Other percentiles have no windowed form, so there is nothing left to choose.
        let basis = if percentile == 99.0 { basis } else { Some(QosBasis::Raw) };
        Ok(Qos { percentile, limit_ns, basis })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, shown: &str| assert_eq!(text.parse::<Qos>().unwrap().to_string(), shown);
        check("p99<1ms", "p99 ≤ 1 ms");
        check("windowed p99<1ms", "windowed p99 ≤ 1 ms");
        check("p99.9 <= 500us", "raw p99.9 ≤ 500 µs");
        check("raw p99 ≤ 20ms", "raw p99 ≤ 20 ms");
    }

    #[test]
    fn refuses_with_a_reason() {
        for text in [
            "p99",
            "p99<",
            "p99<5",
            "q99<1ms",
            "p0<1ms",
            "p100<1ms",
            "pNaN<1ms",
            "p99<0s",
            "windowed p50<1ms",
        ] {
            assert!(text.parse::<Qos>().is_err(), "{text}");
        }
    }
}
