use std::fmt;

use units::{Nanos, Rate, SessionFigure};

use crate::judged::suffers_delays;

mod evaluate;
mod parse;

pub use evaluate::GateResult;

/// A condition that a trial must meet, such as `p99<1ms`, `get.p99.9<=2ms`, `within(1ms)>99%`, `rate>=99%` or
/// `misses<1%`.
///
/// A program checks it on every trial and fails if a trial does not meet it. A missing figure (too few requests,
/// or not counted) meets no condition; neither does an invalid trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The operation or distribution of sessions that it applies to; `None` for all requests.
    operation: Option<String>,
    /// The judged figure.
    figure: Figure,
    /// Whether the limit itself is allowed.
    inclusive: bool,
    /// The limit.
    limit: Limit,
}

/// The figure of a trial that a gate judges.
#[derive(Clone, Debug, PartialEq)]
enum Figure {
    /// A percentile of the response time, over 0 and below 100.
    Percentile(f64),
    /// The median over windows (see the glossary) of each window's p99.
    WindowedP99,
    /// The longest response time.
    Max,
    /// The mean response time.
    Mean,
    /// Requests answered within a target over all that were due.
    Within(Nanos),
    /// Throughput: relative to the offered load, or absolute.
    Rate,
    /// Requests that failed or timed out over all that were due.
    Errors,
    /// A ratio that the workload counts, such as `hit_ratio` or `misses`.
    Ratio(String),
}

/// The limit in the unit of the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Time(Nanos),
    Percent(f64),
    Rate(Rate),
}

impl Figure {
    /// Whether lower is better.
    fn is_cost(&self) -> bool {
        match self {
            Figure::Percentile(_) | Figure::WindowedP99 | Figure::Max | Figure::Mean | Figure::Errors => true,
            Figure::Within(_) | Figure::Rate => false,
            Figure::Ratio(name) => SessionFigure::ratio(name).is_some_and(|ratio| ratio.is_cost),
        }
    }

    /// Whether it is a response time or derived from response times.
    fn is_of_time(&self) -> bool {
        !matches!(self, Figure::Rate | Figure::Errors | Figure::Ratio(_))
    }

    /// Whether delays by generator or host can make it worse.
    fn suffers_delays(&self) -> bool {
        match self {
            Figure::Ratio(name) => suffers_delays(name),
            other => other.is_of_time(),
        }
    }

    /// Whether it exists only for an operation.
    fn is_of_operations(&self) -> bool {
        matches!(self, Figure::Percentile(_) | Figure::Max | Figure::Mean | Figure::Errors)
    }
}

impl Gate {
    /// The target of a gate on the share of requests within it, so that the share can be counted from the full
    /// histogram.
    pub fn within_target(&self) -> Option<Nanos> {
        match self.figure {
            Figure::Within(target) => Some(target),
            _ => None,
        }
    }

    /// The sign between figure and limit.
    fn sign(&self) -> &'static str {
        match (self.figure.is_cost(), self.inclusive) {
            (true, false) => "<",
            (true, true) => "<=",
            (false, false) => ">",
            (false, true) => ">=",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Percentile(percentile) => write!(f, "p{percentile}"),
            Figure::WindowedP99 => f.write_str("windowed_p99"),
            Figure::Max => f.write_str("max"),
            Figure::Mean => f.write_str("mean"),
            Figure::Within(target) => write!(f, "within({})", exact(*target)),
            Figure::Rate => f.write_str("rate"),
            Figure::Errors => f.write_str("errors"),
            Figure::Ratio(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Time(time) => f.write_str(&exact(*time)),
            Limit::Percent(percent) => write!(f, "{percent}%"),
            Limit::Rate(rate) => write!(f, "{}rps", rate.rps()),
        }
    }
}

impl fmt::Display for Gate {
    /// In command-line form, without loss: parsing it yields the same gate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = &self.operation {
            write!(f, "{operation}.")?;
        }
        write!(f, "{}{}{}", self.figure, self.sign(), self.limit)
    }
}

/// `time` exact to the nanosecond, in the most readable unit.
fn exact(time: Nanos) -> String {
    let (scale, unit) = match time.0 {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let (whole, rest) = (time.0 / scale, time.0 % scale);
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    let digits = scale.ilog10() as usize;
    let fraction = format!("{rest:0digits$}");
    format!("{whole}.{}{unit}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests;
