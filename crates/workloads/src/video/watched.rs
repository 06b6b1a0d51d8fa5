//! How much of a video is watched.

use datasets::videos::on_line;

/// The distribution function: the share of a video that is watched, in thousandths of it, and the share of viewers who watch
/// at most as much, in thousandths.
///
/// Between two points it is straight, and before the first it begins at 0; all viewers beyond the last watch to the end.
/// Source: CloudSuite's request generator (`make_zipf`).
const POINTS: [(u32, u32); 17] = [
    (67, 50),
    (122, 100),
    (174, 150),
    (222, 200),
    (277, 250),
    (352, 300),
    (439, 350),
    (537, 400),
    (627, 450),
    (673, 500),
    (708, 550),
    (738, 600),
    (783, 650),
    (835, 700),
    (905, 750),
    (982, 800),
    (1000, 820),
];

/// The share of a video that viewers do not exceed of whom this is the share: 0 to 1, median 0.673, mean 0.597.
///
/// Bounds: `viewers` from 0 to 1.
pub fn watched_at(viewers: f64) -> f64 {
    let points = POINTS.iter().map(|&(watched, viewers)| (viewers, watched));
    on_line(points, viewers.clamp(0.0, 1.0) * 1e3).map_or(1.0, |watched| watched / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datasets::videos::{CHUNK, duration_at};

    #[test]
    fn the_curve_is_that_of_the_source() {
        let check = |viewers: f64, share: f64| {
            let found = watched_at(viewers);
            assert!((found - share).abs() < 1e-12, "{viewers}: {found} and not {share}");
        };
        check(0.0, 0.0);
        check(0.025, 0.0335);
        check(0.5, 0.673);
        check(0.82, 1.0);
        check(0.9, 1.0);
        check(2.0, 1.0);
    }

    #[test]
    fn a_fifth_of_all_viewers_watch_to_the_end() {
        let n = 100_000u32;
        let to_the_end = (0..n).filter(|i| watched_at((f64::from(*i) + 0.5) / f64::from(n)) == 1.0).count();
        assert_eq!(to_the_end, 18_000, "18 %");
    }

    #[test]
    fn with_the_lengths_of_videos_a_session_has_its_published_mean() {
        // All pairs of 1 000 lengths and 1 000 shares, each in the middle of its part.
        let middle = |i: u32| (f64::from(i) + 0.5) / 1e3;
        let (mut seconds, mut chunks) = (0.0, 0u64);
        for i in 0..1_000 {
            let duration = duration_at(middle(i)).as_secs_f64();
            for j in 0..1_000 {
                let watched = duration * watched_at(middle(j));
                seconds += watched;
                chunks += (watched / CHUNK.as_secs_f64()).ceil() as u64;
            }
        }
        let (seconds, chunks) = (seconds / 1e6, chunks as f64 / 1e6);
        assert!((seconds - 154.3).abs() < 0.1, "{seconds} s");
        assert!((chunks - 16.0).abs() < 0.1, "{chunks} chunks");
    }
}
