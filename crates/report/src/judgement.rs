//! What a comparison says, in words that name the side and never say more than the repeats allow.

use results::{Comparison, ComparisonPoint, Metric, Peak, PeakPair, RatioInterval};

use crate::headline::Sentence;
use crate::load_point::LoadPoint;
use crate::number;
use crate::subject::Subject;

/// What `ratio` says: which is faster, that no difference was seen, or that the repeats are too few to judge.
pub(crate) fn judgement(comparison: &Comparison, ratio: &RatioInterval) -> String {
    let p = ratio.p_value.map_or(String::new(), |p| format!(" (p {})", p_words(p)));
    let significant = ratio.p_value.is_none_or(|p| p < 0.05);
    if !ratio.judged {
        format!("too few to judge a difference ({})", number::plural(ratio.n as usize, "repeat"))
    } else if significant && ratio.high < 1.0 {
        format!("{} is faster{p}", comparison.b.label)
    } else if significant && ratio.low > 1.0 {
        format!("{} is faster{p}", comparison.a.label)
    } else {
        format!("no difference seen{p}")
    }
}

/// `= 0.031`, `< 0.001`.
fn p_words(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".into()
    } else {
        format!("= {}", number::short(format!("{p:.1e}").parse().unwrap_or(p)))
    }
}

/// The answer first: the peaks and what they say of each other, then the tail at the highest load that
/// overloads neither side.
pub(crate) fn comparison_headline(comparison: &Comparison, subjects: &[Subject]) -> Vec<Sentence> {
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let peaks = comparison.peaks.as_ref().map(|peaks| of_peaks(comparison, peaks));
    let sentences: Vec<Sentence> =
        peaks.into_iter().chain(tail(comparison, subjects)).map(Sentence::new).collect();
    if sentences.is_empty() {
        return vec![Sentence::new(format!("{a} and {b} have no load in common: nothing can be compared"))];
    }
    sentences
}

fn of_peaks(comparison: &Comparison, peaks: &PeakPair) -> String {
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let words = |peak: &Peak| match peak.high_rps {
        _ if peak.low_rps <= 0.0 => "no load".to_owned(),
        Some(high) => number::rate_range(peak.low_rps, high),
        None => format!("at least {}", number::rate(Some(peak.low_rps))),
    };
    let rates = format!("{b} {}, {a} {}", words(&peaks.b), words(&peaks.a));
    let range = match peaks.high {
        Some(high) => number::ratio_range(peaks.low, high),
        None => format!("at least {}", number::ratio(peaks.low)),
    };
    let ratio = format!("{} ({range})", number::ratio(peaks.ratio));
    if !peaks.ratio.is_finite() || peaks.ratio <= 0.0 {
        format!("Peak throughput under QoS: {rates}")
    } else if peaks.low > 1.0 || peaks.high.is_some_and(|high| high < 1.0) {
        format!("{b} has {ratio} the peak throughput under QoS of {a}: {rates}")
    } else {
        format!("No difference of the peak throughput under QoS was seen, {b} over {a} {ratio}: {rates}")
    }
}

/// The tail at the highest load at which both have figures and neither is overloaded, where a response time
/// would say more about the length of the window.
fn tail(comparison: &Comparison, subjects: &[Subject]) -> Option<String> {
    let calm = |point: &&ComparisonPoint| {
        subjects.iter().all(|subject| {
            let offered = if subject.slot == 0 { point.offered_rps_a } else { point.offered_rps_b };
            subject.nearest(point.load_share, offered).is_none_or(LoadPoint::calm)
        })
    };
    let (point, ratio) = comparison.points.iter().rev().filter(calm).find_map(|point| {
        let order = [Metric::WindowedP99, Metric::P99, Metric::P50];
        let found = order.iter().find_map(|metric| point.ratios.iter().find(|ratio| ratio.metric == *metric));
        found.map(|ratio| (point, ratio))
    })?;
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let load = match point.load_share {
        Some(share) => format!("{} of the maximum", number::percent(share)),
        None => number::rate(Some(point.offered_rps_a)),
    };
    let (metric, times) = (ratio.metric.words(), number::ratio(ratio.ratio));
    let range = number::ratio_range(ratio.low, ratio.high);
    Some(format!(
        "At {load} the {metric} of {b} is {times} ({range}) that of {a}: {}",
        judgement(comparison, ratio)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Side;
    use units::Qos;

    fn comparison() -> Comparison {
        let side = |label: &str| Side { label: label.into(), folder: String::new(), target: label.into() };
        Comparison {
            a: side("memcached"),
            b: side("sphinx"),
            paired: true,
            qos: Qos::default(),
            differences: Vec::new(),
            points: Vec::new(),
            peaks: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn words_follow_the_interval_and_the_test() {
        let check = |n: u32, (low, high): (f64, f64), p_value: Option<f64>, expect: &str| {
            let judged = n >= 6;
            let ratio = RatioInterval {
                metric: Metric::P99,
                a_us: 100.0,
                b_us: 70.0,
                ratio: 0.7,
                low,
                high,
                n,
                judged,
                p_value,
            };
            assert_eq!(judgement(&comparison(), &ratio), expect);
        };
        check(3, (0.6, 0.8), None, "too few to judge a difference (3 repeats)");
        check(1, (0.7, 0.7), None, "too few to judge a difference (1 repeat)");
        check(8, (0.6, 0.8), Some(0.0312), "sphinx is faster (p = 0.031)");
        check(8, (1.2, 1.8), Some(0.0001), "memcached is faster (p < 0.001)");
        check(8, (0.6, 1.1), Some(0.2), "no difference seen (p = 0.2)");
        check(8, (0.6, 0.9), Some(0.08), "no difference seen (p = 0.08)");
    }

    #[test]
    fn nothing_in_common_is_said() {
        let headline = comparison_headline(&comparison(), &[]);
        let expect = "memcached and sphinx have no load in common: nothing can be compared";
        assert_eq!(headline.iter().map(Sentence::to_string).collect::<Vec<_>>(), [expect]);
    }
}
