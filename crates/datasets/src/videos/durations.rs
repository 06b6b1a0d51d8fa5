//! How long videos are.

use units::Nanos;

/// The distribution function: a length in seconds, and the share of videos that are at most as long, in thousandths.
///
/// It is linear between two points, and begins at 0 before the first. Source: CloudSuite's request generator
/// (`make_zipf`), whose comment says that it combines four normal curves.
const POINTS: [(u32, u32); 25] = [
    (15, 18),
    (30, 57),
    (50, 109),
    (70, 160),
    (90, 202),
    (112, 247),
    (138, 296),
    (161, 346),
    (183, 395),
    (200, 439),
    (215, 494),
    (228, 544),
    (244, 597),
    (257, 642),
    (285, 692),
    (300, 723),
    (362, 791),
    (400, 817),
    (500, 874),
    (600, 928),
    (700, 960),
    (800, 968),
    (900, 973),
    (1000, 990),
    (1000, 1000),
];

/// The shortest video. Units: seconds. Source: as [`POINTS`].
const SHORTEST: f64 = 5.0;

/// The length that a share of all videos do not exceed, in whole milliseconds: 5 to 1000 s, median 216.6 s, mean 258.4 s.
///
/// One in a hundred videos has 1000 s. Bounds: `share` from 0 to 1.
pub fn duration_at(share: f64) -> Nanos {
    let points = POINTS.iter().map(|&(seconds, videos)| (videos, seconds));
    let seconds = on_line(points, share.clamp(0.0, 1.0) * 1e3).unwrap_or(1000.0);
    Nanos::from_millis((seconds.max(SHORTEST) * 1e3).round() as u64)
}

/// The value at `x` of the line from (0, 0) through points in rising order; `None` from the last point on.
pub fn on_line(points: impl IntoIterator<Item = (u32, u32)>, x: f64) -> Option<f64> {
    let (mut left, mut low) = (0, 0);
    for (right, high) in points {
        if x < f64::from(right) {
            let within = (x - f64::from(left)) / f64::from(right - left);
            return Some(f64::from(low) + f64::from(high - low) * within);
        }
        (left, low) = (right, high);
    }
    None
}

/// The share of videos that are at most as long as this. It jumps at both ends: from 0 to 0.006 at 5 s, and from 0.99 to
/// 1 at 1000 s.
#[cfg(test)]
pub(crate) fn share_up_to(duration: Nanos) -> f64 {
    let seconds = duration.as_secs_f64();
    if seconds < SHORTEST { 0.0 } else { on_line(POINTS, seconds).map_or(1.0, |videos| videos / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dist::{Purpose, Streams};
    use rand::RngExt;
    use stats::KolmogorovSmirnov;

    fn seconds(share: f64) -> f64 {
        duration_at(share).as_secs_f64()
    }

    #[test]
    fn every_point_is_on_the_curve() {
        for (at, thousandths) in POINTS {
            let share = f64::from(thousandths) / 1e3;
            assert!((seconds(share) - f64::from(at)).abs() < 2e-3, "{share}: {}", seconds(share));
        }
        assert_eq!((seconds(0.0), seconds(0.006), seconds(1.0)), (5.0, 5.0, 1000.0));
        assert_eq!((seconds(-1.0), seconds(2.0)), (5.0, 1000.0));
    }

    #[test]
    fn median_and_mean_are_those_of_the_source() {
        assert!((seconds(0.5) - 216.6).abs() < 0.05, "{}", seconds(0.5));
        let n = 100_000;
        let mean = (0..n).map(|i| seconds((f64::from(i) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n);
        assert!((mean - 258.4).abs() < 0.05, "{mean}");
    }

    #[test]
    fn a_length_and_its_share_agree() {
        for thousandths in 6..=989 {
            let share = f64::from(thousandths) / 1e3;
            // A length is a whole number of milliseconds, and the curve rises at most 0.004 a second.
            assert!((share_up_to(duration_at(share)) - share).abs() < 4e-6, "{share}");
        }
        let ends =
            [Nanos(4_999_999_999), Nanos::from_secs(5), Nanos(999_999_999_999), Nanos::from_secs(1000)];
        let shares = ends.map(|end| (share_up_to(end) * 1e6).round() / 1e6);
        assert_eq!(shares, [0.0, 0.006, 0.99, 1.0]);
    }

    #[test]
    fn draws_follow_the_curve() {
        // Between the ends, at which it jumps and no test of continuous distributions applies.
        let (low, high) = (0.006, 0.99);
        for seed in 1..=3 {
            let mut rng = Streams::new(seed).stream(Purpose::Other(0), 0);
            let drawn: Vec<f64> = (0..100_000).map(|_| seconds(rng.random())).collect();
            let between: Vec<f64> = drawn.iter().copied().filter(|at| *at > 5.0 && *at < 1000.0).collect();
            let shortest = drawn.iter().filter(|at| **at == 5.0).count();
            let longest = drawn.iter().filter(|at| **at == 1000.0).count();
            // Standard deviations 24 and 31; five of them.
            assert!(shortest.abs_diff(600) < 125 && longest.abs_diff(1000) < 160, "{shortest}, {longest}");
            let curve = |at: f64| (share_up_to(Nanos((at * 1e9).round() as u64)) - low) / (high - low);
            let test = KolmogorovSmirnov::test(&between, curve).unwrap();
            assert!(test.p_value > 1e-3, "seed {seed}: {test:?}");
        }
    }
}
