//! Which p99 a target judges where it leaves that open.

use results::Trial;
use units::{Qos, QosBasis};

/// From this share of disturbed 100 ms windows on, a raw p99 is partly the host's.
///
/// Source: a p99 is decided by 1 % of the requests; where 1 % of the windows or more was disturbed, the host alone
/// can decide it.
const DISTURBED: f64 = 0.01;
/// From this share of processor time on, the hypervisor's part is not a rounding of the kernel's counters.
const STOLEN: f64 = 0.001;

/// The figure that `qos` judges, with the reason in words, after what `trials` saw of the host.
pub fn choose_basis<'a>(qos: &Qos, trials: impl IntoIterator<Item = &'a Trial>) -> (QosBasis, String) {
    let Some(target) = qos.response_time() else {
        return (QosBasis::Raw, "no response time is judged".into());
    };
    if let Some(basis) = target.basis {
        let reason = if target.percentile == 99.0 { "as asked for" } else { "only p99 has a windowed form" };
        return (basis, reason.into());
    }
    let (mut windows, mut disturbed, mut steal) = (0, 0, 0.0f64);
    for trial in trials {
        windows += trial.windows.len() as u64;
        disturbed += trial.noise.disturbed_windows;
        steal = steal.max(trial.noise.steal_share.unwrap_or(0.0));
    }
    let seen = format!("{disturbed} of {windows} windows of 100 ms were disturbed by the host");
    let stolen = format!("up to {:.1} % of processor time was taken by the hypervisor", 100.0 * steal);
    if windows == 0 {
        (QosBasis::Raw, "no window was recorded, so no disturbance was seen".into())
    } else if disturbed as f64 >= DISTURBED * windows as f64 {
        (QosBasis::Windowed, format!("{seen}, which the raw p99 would charge to the server"))
    } else if steal >= STOLEN {
        (QosBasis::Windowed, format!("{stolen}, which the raw p99 would charge to the server"))
    } else {
        (QosBasis::Raw, format!("the host was quiet: {seen}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn windowed_where_the_host_disturbed() {
        let check = |qos: &str, disturbed: u64, steal: Option<f64>, expect: QosBasis, words: &str| {
            let mut trial = sample::trial("sphinx", 10_000.0);
            assert_eq!(trial.windows.len(), 20);
            (trial.noise.disturbed_windows, trial.noise.steal_share) = (disturbed, steal);
            let quiet = vec![sample::trial("sphinx", 10_000.0); 4];
            let (basis, reason) = choose_basis(&qos.parse().unwrap(), quiet.iter().chain([&trial]));
            assert_eq!(basis, expect, "{qos} {disturbed} {steal:?}");
            assert!(reason.contains(words), "{reason}");
        };
        check("p99<1ms", 0, None, QosBasis::Raw, "quiet: 0 of 100");
        check("p99<1ms", 0, Some(0.0004), QosBasis::Raw, "quiet");
        check("p99<1ms", 1, None, QosBasis::Windowed, "1 of 100 windows");
        check("p99<1ms", 0, Some(0.004), QosBasis::Windowed, "0.4 % of processor time");
        check("raw p99<1ms", 50, None, QosBasis::Raw, "asked");
        check("windowed p99<1ms", 0, None, QosBasis::Windowed, "asked");
        check("p99.9<1ms", 50, None, QosBasis::Raw, "only p99");
        check("startup<2s,misses<1%", 50, None, QosBasis::Raw, "no response time");
        check("misses<1%,p99<1ms", 1, None, QosBasis::Windowed, "1 of 100 windows");
        assert_eq!(choose_basis(&Qos::default(), []).0, QosBasis::Raw);
    }
}
