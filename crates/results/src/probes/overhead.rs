use serde::{Deserialize, Serialize};

/// Cost of a probe: the windows of 100 ms with the probe against those without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Overhead {
    /// The probe.
    pub probe: String,
    /// Windows of 100 ms in which the probe was active.
    pub windows_with: u32,
    /// Windows in which it was inactive.
    pub windows_without: u32,
    /// The median p99 response time with the probe over that without; `None` if either is unknown.
    pub p99_ratio: Option<f64>,
    /// Requests answered per second with the probe over those without.
    pub throughput_ratio: Option<f64>,
    /// The server's processor time per request with the probe over that without. Below the maximum this ratio, not the
    /// throughput, shows the loss of maximum throughput.
    pub cpu_per_request_ratio: Option<f64>,
}

impl Overhead {
    /// A probe that costs more of the throughput, or of the corresponding processor time, is flagged.
    pub const THROUGHPUT_LIMIT: f64 = 0.01;
    /// A probe that adds more to the 99th percentile is flagged.
    pub const P99_LIMIT: f64 = 0.05;

    /// Costs that exceed their limit, in words; empty if all are within it.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |ratio: Option<f64>, limit: f64, what: &str| {
            if let Some(more) = ratio.map(|ratio| ratio - 1.0).filter(|more| *more > limit) {
                flags.push(format!("{what} {:.1} % (limit {:.0} %)", 100.0 * more, 100.0 * limit));
            }
        };
        flag(self.p99_ratio, Self::P99_LIMIT, "p99 higher by");
        flag(self.throughput_ratio.map(|r| 2.0 - r), Self::THROUGHPUT_LIMIT, "throughput lower by");
        flag(self.cpu_per_request_ratio, Self::THROUGHPUT_LIMIT, "processor time per request higher by");
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_what_costs_too_much() {
        let check = |p99, throughput, cpu, expect: &[&str]| {
            let overhead = Overhead {
                p99_ratio: p99,
                throughput_ratio: throughput,
                cpu_per_request_ratio: cpu,
                ..Overhead::default()
            };
            assert_eq!(overhead.flags(), expect);
        };
        check(None, None, None, &[]);
        check(Some(1.04), Some(0.995), Some(1.005), &[]);
        check(Some(0.5), Some(1.5), Some(0.5), &[]);
        check(Some(1.1), None, None, &["p99 higher by 10.0 % (limit 5 %)"]);
        let expect = [
            "throughput lower by 2.0 % (limit 1 %)",
            "processor time per request higher by 3.0 % (limit 1 %)",
        ];
        check(None, Some(0.98), Some(1.03), &expect);
    }
}
