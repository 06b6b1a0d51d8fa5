//! The two peaks and what their intervals allow to say of the ratio.

use results::{Peak, PeakPair};

use super::Choice;

/// The peaks of both sides, or why they cannot be compared.
pub(super) fn compare(a: &Choice<'_>, b: &Choice<'_>) -> (Option<PeakPair>, Option<String>) {
    let peak = |side: &Choice<'_>| side.record().and_then(|target| target.peak.clone());
    let (Some(peak_a), Some(peak_b)) = (peak(a), peak(b)) else { return (None, None) };
    let target = |side: &Choice<'_>| {
        (side.experiment.qos.percentile, side.experiment.qos.limit_ns, side.experiment.qos_basis)
    };
    if target(a) != target(b) {
        return (None, Some("The peaks are not compared: the two sides judged different targets.".into()));
    }
    let (above_a, above_b) = (upper_end(a, &peak_a), upper_end(b, &peak_b));
    let pair = PeakPair {
        ratio: peak_b.low_rps / peak_a.low_rps,
        low: above_a.map_or(0.0, |above| peak_b.low_rps / above),
        high: above_b.map(|above| above / peak_a.low_rps).filter(|ratio| ratio.is_finite()),
        a: peak_a,
        b: peak_b,
    };
    (Some(pair), None)
}

/// What the peak lies below: the lowest load that missed the target, or where none did, the rate that is not even
/// sustained.
fn upper_end(side: &Choice<'_>, peak: &Peak) -> Option<f64> {
    let blocks = side.record().map_or(&[][..], |target| &target.max_throughput);
    let unsustained = blocks.iter().map(|block| block.high_rps).fold(0.0, f64::max);
    peak.high_rps.or((unsustained > peak.low_rps).then_some(unsustained))
}
