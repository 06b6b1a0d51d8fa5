use datasets::videos::{Catalog, HIGH_IN};
use dist::{Popularity, Scatter};
use spec::workload::{Delivery, Pacing};
use stats::{ChiSquare, KolmogorovSmirnov};

use super::*;
use crate::video::classes::{CLASSES, Class, SHARES};
use crate::video::config::tests::{config, listed, with};
use crate::video::library::Videos;

/// As many draws as show a share that is wrong by a hundredth of itself.
const DRAWS: u64 = 100_000;

fn of_set(text: &str, popularity: Popularity, mix: ClientMix) -> VideoConfig {
    let catalog = Catalog::new(&text.parse().unwrap(), 1).unwrap();
    let library = Library::new(Videos::Set(catalog, Delivery::Ranges), 1);
    with(VideoConfig { library, ..config() }, |options| (options.popularity, options.mix) = (popularity, mix))
}

fn audience(config: &VideoConfig) -> Audience {
    Audience::new(config, 0, 1).unwrap()
}

fn viewers(config: &VideoConfig, number: u64) -> Vec<Viewer> {
    let mut audience = audience(config);
    (0..number).map(|seq| audience.arriving(seq)).collect()
}

/// The p-value of the p-values of 20 seeds, which are uniform if the draws are right.
fn over_seeds(config: &VideoConfig, mut test: impl FnMut(&[Viewer]) -> f64) -> f64 {
    let p_values: Vec<f64> =
        (0..20).map(|seed| test(&viewers(&VideoConfig { seed, ..config.clone() }, DRAWS))).collect();
    KolmogorovSmirnov::test(&p_values, |p| p).unwrap().p_value
}

#[test]
fn a_viewer_follows_from_the_seed_and_the_number() {
    let config = config();
    let mut one = audience(&config);
    let in_order: Vec<Viewer> = (0..50).map(|seq| one.arriving(seq)).collect();
    let mut other = Audience::new(&config, 2, 3).unwrap();
    for seq in (0..50).rev() {
        assert_eq!(other.arriving(seq), in_order[seq as usize], "on another thread, in another order");
    }
    let next = VideoConfig { seed: config.seed + 1, ..config };
    assert_ne!(viewers(&next, 50), in_order);
}

#[test]
fn videos_are_watched_by_their_popularity() {
    let check = |popularity: Popularity, alpha: f64| {
        let n = 500;
        let config = of_set("500x1/160", popularity, ClientMix::Table1);
        let scatter = Scatter::new(n, 1);
        let mut weights = vec![0.0; n as usize];
        for rank in 0..n {
            weights[scatter.apply(rank) as usize] = ((rank + 1) as f64).powf(-alpha);
        }
        let p = over_seeds(&config, |viewers| {
            let mut counts = vec![0; n as usize];
            viewers.iter().for_each(|viewer| counts[viewer.watched.video as usize] += 1);
            ChiSquare::test(&counts, &weights).unwrap().p_value
        });
        assert!(p > 1e-3, "zipf:{alpha}: {p}");
    };
    check(Popularity::zipf(0.8).unwrap(), 0.8);
    check(Popularity::Uniform, 0.0);
}

#[test]
fn the_best_quality_that_fits_is_taken() {
    // The share of clients below a bandwidth in Mbps.
    let below = |mbps: f64| -> f64 {
        let share = |class: &Class| {
            f64::from(class.percent) / 100.0 * ((mbps - class.from) / (class.to - class.from)).clamp(0.0, 1.0)
        };
        CLASSES.iter().map(share).sum()
    };
    let needs = datasets::videos::CHUNK_BYTES.map(|bytes| bytes as f64 * 8.0 / 10.0 / 1e6 / FIT);
    let high = 1.0 / HIGH_IN as f64;
    let weights = [
        below(needs[1]),
        below(needs[2]) - below(needs[1]),
        below(needs[3]) - below(needs[2]) + (1.0 - high) * (1.0 - below(needs[3])),
        high * (1.0 - below(needs[3])),
    ];
    // As worked out by hand.
    for (weight, expect) in weights.iter().zip([0.03, 0.18, 0.68, 0.12]) {
        assert!((weight - expect).abs() < 0.005, "{weights:?}");
    }
    let config = of_set("500x1", Popularity::Uniform, ClientMix::Table1);
    let p = over_seeds(&config, |viewers| {
        let mut counts = [0; 4];
        viewers.iter().for_each(|viewer| counts[viewer.watched.rung] += 1);
        ChiSquare::test(&counts, &weights).unwrap().p_value
    });
    assert!(p > 1e-3, "{p}");
    let limited = with(config, |options| options.bandwidth = Bandwidth::Read);
    assert!(viewers(&limited, 10_000).iter().all(|viewer| !viewer.hopeless), "each has what it can carry");
}

#[test]
fn cloudsuites_clients_take_qualities_by_their_shares() {
    for text in ["500x1", "500x1/160"] {
        let unlimited = of_set(text, Popularity::zipf(0.8).unwrap(), ClientMix::CloudSuite);
        assert!(
            viewers(&unlimited, 1_000).iter().all(|viewer| !viewer.hopeless),
            "who reads as fast as it comes can have any quality in time"
        );
        let config = with(unlimited, |options| options.bandwidth = Bandwidth::Read);
        let p = over_seeds(&config, |viewers| {
            let mut counts = [0; 4];
            viewers.iter().for_each(|viewer| counts[viewer.watched.rung] += 1);
            ChiSquare::test(&counts, &SHARES.map(f64::from)).unwrap().p_value
        });
        assert!(p > 1e-3, "{p}");
        let all = viewers(&config, DRAWS);
        assert!(all.iter().all(|viewer| config.library.has(viewer.watched)), "the video has the quality");
        // 480p takes 2.62 Mbps and 720p 5.24: (2.62 − 1) / 3 × 27 % and 27 % + (5.24 − 4) / 6 × 34 % of all clients; 360p
        // takes 1.05.
        let (of_480p, of_720p, of_360p) = (0.54 * 0.27, 0.27 + 0.2073 * 0.34, 0.0162 * 0.27);
        let expect = 0.4 * of_480p + 0.2 * of_720p + 0.3 * of_360p;
        let hopeless = all.iter().filter(|viewer| viewer.hopeless).count() as f64 / DRAWS as f64;
        // A standard error of 0.001.
        assert!((hopeless - expect).abs() < 0.006, "{hopeless} and not {expect}");
    }
}

#[test]
fn a_viewer_asks_for_as_many_bytes_as_studies_go_by() {
    // For the few most popular videos of Zipf, the seed decides in which qualities they exist.
    let config = of_set("8000x1", Popularity::Uniform, ClientMix::Table1);
    let asked = |viewer: &Viewer| {
        f64::from(viewer.chunks) * datasets::videos::CHUNK_BYTES[viewer.watched.rung] as f64
    };
    let mean = viewers(&config, DRAWS).iter().map(asked).sum::<f64>() / DRAWS as f64;
    let share = mean / spec::workload::VideoSet::VIEWER_BYTES as f64;
    assert!((share - 1.0).abs() < 0.03, "{mean} B, {share} of it");
}

#[test]
fn a_set_with_few_of_the_highest_quality_has_viewers_all_the_same() {
    for videos in 1..8 {
        let config = of_set(&format!("{videos}x1/160"), Popularity::Uniform, ClientMix::CloudSuite);
        assert!(viewers(&config, 1_000).iter().all(|viewer| config.library.has(viewer.watched)));
    }
}

#[test]
fn sessions_have_their_published_lengths() {
    let config = of_set("5000x1/160", Popularity::Uniform, ClientMix::Table1);
    let all = viewers(&config, DRAWS);
    let mean = |of: &dyn Fn(&Viewer) -> f64| all.iter().map(of).sum::<f64>() / DRAWS as f64;
    // The standard deviation of both is about their mean, so that the standard error is 0.3 % of it.
    let seconds = mean(&|viewer| viewer.until.as_secs_f64());
    assert!((seconds / 154.3 - 1.0).abs() < 0.015, "{seconds} s");
    let chunks = mean(&|viewer| f64::from(viewer.chunks));
    assert!((chunks / 16.0 - 1.0).abs() < 0.015, "{chunks} chunks");
    let whole = |viewer: &Viewer| viewer.until == config.library.duration(viewer.watched);
    let to_the_end = all.iter().filter(|viewer| whole(viewer)).count() as f64 / DRAWS as f64;
    assert!((to_the_end - 0.18).abs() < 0.006, "{to_the_end}");
    let shares: Vec<f64> = all
        .iter()
        .filter(|viewer| !whole(viewer))
        .map(|viewer| viewer.until.as_secs_f64() / config.library.duration(viewer.watched).as_secs_f64())
        .collect();
    // The inverse of the distribution: the share of viewers for whom each share of a video is the quantile.
    let watched_up_to = |share: f64| {
        let (mut low, mut high) = (0.0, 0.82);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if watched_at(middle) < share { low = middle } else { high = middle }
        }
        low / 0.82
    };
    let p = KolmogorovSmirnov::test(&shares, watched_up_to).unwrap().p_value;
    assert!(p > 1e-4, "{p}");
}

#[test]
fn viewers_leave_from_two_seconds_on() {
    let staying = of_set("100x1/160", Popularity::Uniform, ClientMix::Table1);
    assert!(viewers(&staying, 100).iter().all(|viewer| viewer.leaves == Nanos(u64::MAX)));
    let leaving = with(staying, |options| options.abandon = Abandon::Imc12);
    let p = over_seeds(&leaving, |viewers| {
        let at: Vec<f64> = viewers.iter().map(|viewer| viewer.leaves.as_secs_f64()).collect();
        KolmogorovSmirnov::test(&at, |s| (0.058 * (s - 2.0)).clamp(0.0, 1.0)).unwrap().p_value
    });
    assert!(p > 1e-3, "{p}");
}

#[test]
fn servers_share_the_viewers() {
    let urls = ["http://a", "http://b", "http://c"].map(|url| url.parse().unwrap()).to_vec();
    let config = VideoConfig { urls, ..config() };
    let p = over_seeds(&config, |viewers| {
        let mut counts = [0; 3];
        viewers.iter().for_each(|viewer| counts[viewer.server] += 1);
        ChiSquare::test(&counts, &[1.0; 3]).unwrap().p_value
    });
    assert!(p > 1e-3, "{p}");
}

#[test]
fn chunks_are_due_at_the_beginning_and_then_at_equal_distances() {
    let check = |ahead: u32, pacing: Pacing, expect: [u64; 6]| {
        let config = of_set("5x1", Popularity::Uniform, ClientMix::Table1);
        let config = with(config, |options| (options.ahead, options.pacing) = (ahead, pacing));
        let audience = audience(&config);
        let viewer = Viewer {
            watched: Watched { video: 0, rung: 0 },
            until: Nanos::from_secs(60),
            chunks: 6,
            ..audience.clone().arriving(0)
        };
        let found: Vec<u64> = audience.as_before(&viewer).map(|(asked, _)| asked.0 / 1_000_000_000).collect();
        assert_eq!(found, expect, "{ahead} ahead, {pacing}");
        assert_eq!(audience.length(&viewer), Nanos::from_secs(expect[5]));
    };
    check(3, Pacing::Open, [0, 0, 0, 10, 20, 30]);
    check(1, Pacing::Open, [0, 10, 20, 30, 40, 50]);
    check(3, Pacing::Closed, [0, 0, 0, 0, 10, 20]);
    check(3, Pacing::Player, [0, 0, 0, 0, 10, 20]);
}

#[test]
fn those_who_are_there_are_met_by_their_lengths() {
    let config = of_set("1000x1/160", Popularity::Uniform, ClientMix::Table1);
    let mut audience = audience(&config);
    let mean = audience.mean_length();
    let arriving: Vec<f64> =
        viewers(&config, DRAWS).iter().map(|viewer| audience.length(viewer).as_secs_f64()).collect();
    let moment = |power: i32| arriving.iter().map(|s| s.powi(power)).sum::<f64>() / arriving.len() as f64;
    assert!((mean.as_secs_f64() / moment(1) - 1.0).abs() < 0.015, "{mean} and {}", moment(1));
    // 20 000 sessions under way.
    let met = audience.underway(20_000.0 / mean.as_secs_f64(), mean, 0, 1);
    let number = met.len() as f64;
    assert!((number - 20_000.0).abs() < 5.0 * 20_000f64.sqrt(), "{number}");
    assert!(met.iter().all(|(viewer, age)| *age < audience.length(viewer)));
    // In proportion to itself a length has the mean E[L²] / E[L]; its standard error is 1 %.
    let lengths: Vec<f64> = met.iter().map(|(viewer, _)| audience.length(viewer).as_secs_f64()).collect();
    let found = lengths.iter().sum::<f64>() / number;
    assert!((found / (moment(2) / moment(1)) - 1.0).abs() < 0.03, "{found}");
    let ages: Vec<f64> =
        met.iter().zip(&lengths).map(|((_, age), length)| age.as_secs_f64() / length).collect();
    let p = KolmogorovSmirnov::test(&ages, |share| share).unwrap().p_value;
    assert!(p > 1e-3, "ages: {p}");
}

#[test]
fn shares_together_are_the_same_viewers() {
    let config = config();
    let mean = audience(&config).mean_length();
    let mut whole = audience(&config).underway(30.0, mean, 0, 1);
    let mut parts: Vec<(Viewer, Nanos)> = (0..3)
        .flat_map(|share| Audience::new(&config, share, 3).unwrap().underway(30.0, mean, share, 3))
        .collect();
    assert!(whole.len() > 100, "{}", whole.len());
    let by_age = |(viewer, age): &(Viewer, Nanos)| (*age, viewer.watched.video);
    whole.sort_by_key(by_age);
    parts.sort_by_key(by_age);
    assert_eq!(whole, parts);
}

#[test]
fn a_number_is_poisson() {
    let mean = 7.0;
    let p_values: Vec<f64> = (0..20)
        .map(|seed| {
            let mut rng = Streams::new(seed).stream(Purpose::Other(43), 0);
            let mut counts = [0; 16];
            (0..10_000).for_each(|_| counts[poisson(mean, &mut rng).min(15) as usize] += 1);
            let mut weights = [0.0; 16];
            let mut chance = f64::exp(-mean);
            for (k, weight) in weights.iter_mut().enumerate() {
                *weight = chance;
                chance *= mean / (k + 1) as f64;
            }
            weights[15] = 1.0 - weights[..15].iter().sum::<f64>();
            ChiSquare::test(&counts, &weights).unwrap().p_value
        })
        .collect();
    let p = KolmogorovSmirnov::test(&p_values, |p| p).unwrap().p_value;
    assert!(p > 1e-3, "{p}");
    let mut rng = Streams::new(1).stream(Purpose::Other(43), 0);
    assert_eq!(poisson(0.0, &mut rng), 0);
}

#[test]
fn a_listed_video_has_viewers_too() {
    let config = VideoConfig { library: listed(), ..config() };
    let all = viewers(&config, 1_000);
    assert!(all.iter().all(|viewer| viewer.watched == Watched { video: 0, rung: 0 } && !viewer.hopeless));
    // 10 s in two segments, of 4 s and 6 s; 4 s are 40 % of it.
    let one = all.iter().filter(|viewer| viewer.chunks == 1).count();
    assert!((270..390).contains(&one), "a third watch 40 % at most: {one}");
    let mut audience = audience(&config);
    let mean = audience.mean_length();
    assert_eq!(audience.underway(100.0, mean, 0, 1), [], "the second is asked for at once");
}
