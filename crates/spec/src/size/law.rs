//! Continuous laws, by the inverse of their distribution function.

use statrs::function::erf::erfc_inv;

/// A continuous law of sizes before they are rounded and clipped. Units: bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    Normal {
        mean: f64,
        sd: f64,
    },
    Exponential {
        mean: f64,
    },
    /// The logarithm is normal with the median's as its mean and a standard deviation of σ.
    LogNormal {
        median: f64,
        sigma: f64,
    },
    /// Generalised extreme value, in the sign of k that the ETC study uses: k > 0 is the heavy upper tail.
    Gev {
        mu: f64,
        sigma: f64,
        k: f64,
    },
    /// Generalised Pareto from θ upwards; k = 0 is exponential.
    Pareto {
        theta: f64,
        sigma: f64,
        k: f64,
    },
}

impl Law {
    /// The value that a share `u` of the draws does not exceed. Bounds: u from 0 to 1, both included.
    #[inline]
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        match *self {
            // The function for the lower tail keeps its digits there, and the upper is its mirror image.
            Law::Normal { mean, sd } => mean - sd * std::f64::consts::SQRT_2 * erfc_inv(2.0 * u),
            Law::Exponential { mean } => -mean * (-u).ln_1p(),
            Law::LogNormal { median, sigma } => {
                median * (-sigma * std::f64::consts::SQRT_2 * erfc_inv(2.0 * u)).exp()
            }
            Law::Gev { mu, sigma, k } => mu + sigma * growth(-(-u.ln()).ln(), k),
            Law::Pareto { theta, sigma, k } => theta + sigma * growth(-(-u).ln_1p(), k),
        }
    }
}

/// (e^(k t) − 1) / k, which is t at k = 0: turns a standard exponential into a standard generalised Pareto.
#[inline]
pub fn growth(t: f64, k: f64) -> f64 {
    if k == 0.0 { t } else { (k * t).exp_m1() / k }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [Law; 10] = [
        Law::Normal { mean: 500.0, sd: 100.0 },
        Law::Exponential { mean: 300.0 },
        Law::Gev { mu: 30.7984, sigma: 8.20449, k: 0.078688 },
        Law::Gev { mu: 100.0, sigma: 10.0, k: 0.0 },
        Law::Gev { mu: 100.0, sigma: 10.0, k: -0.5 },
        Law::Pareto { theta: 15.0, sigma: 214.476, k: 0.348238 },
        Law::Pareto { theta: 0.0, sigma: 100.0, k: 0.0 },
        Law::Pareto { theta: 5.0, sigma: 100.0, k: -1.0 },
        Law::Pareto { theta: 0.0, sigma: 100.0, k: 1e-12 },
        Law::LogNormal { median: 1000.0, sigma: 2.0 },
    ];

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for law in LAWS {
            for u in [1e-9, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0 - 1e-9] {
                let back = law.below(law.quantile(u));
                assert!((back - u).abs() < 1e-11, "{law:?}: {u} came back as {back}");
            }
        }
    }

    #[test]
    fn known_values() {
        let check = |law: Law, x: f64, expect: f64| {
            let got = law.below(x);
            assert!((got - expect).abs() < 1e-9, "{law:?} at {x}: {got}");
        };
        check(LAWS[0], 600.0, 0.841_344_746_1);
        check(LAWS[1], 300.0, 0.632_120_558_8);
        // exp(−1) at the location, for any σ and k.
        check(LAWS[2], 30.7984, 0.367_879_441_2);
        check(LAWS[3], 100.0, 0.367_879_441_2);
        check(LAWS[5], 15.0, 0.0);
        check(LAWS[7], 55.0, 0.5);
        check(LAWS[5], -1e9, 0.0);
        check(LAWS[4], 1e9, 1.0);
        check(LAWS[2], -1e9, 0.0);
        check(LAWS[9], 1000.0, 0.5);
        // One σ above the median, Φ(1).
        check(LAWS[9], 1000.0 * 2.0f64.exp(), 0.841_344_746_1);
        check(LAWS[9], -1.0, 0.0);
    }

    #[test]
    fn the_ends_are_no_numbers_that_break() {
        for law in LAWS {
            let ends = (law.quantile(0.0), law.quantile(1.0));
            assert!(ends.0 < ends.1 && !ends.0.is_nan() && !ends.1.is_nan(), "{law:?}: {ends:?}");
        }
    }
}
