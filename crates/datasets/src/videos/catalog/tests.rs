use std::collections::HashSet;
use std::io::Read;

use super::*;
use crate::videos::durations::share_up_to;
use proptest::prelude::*;
use stats::KolmogorovSmirnov;

fn catalog(text: &str, seed: u64) -> Catalog {
    Catalog::new(&text.parse().unwrap(), seed).unwrap()
}

fn seconds(catalog: &Catalog) -> Vec<f64> {
    (0..catalog.videos()).map(|video| catalog.duration(video).as_secs_f64()).collect()
}

#[test]
fn the_papers_set_has_its_size() {
    // ISPASS'16 §VI-B: 8000 videos, 1.1 TB; the sizes of CloudSuite's generator come to 1.33 TB.
    for seed in 1..=5 {
        let total = catalog("8000x1", seed).total() as f64 / 1e12;
        assert!((1.1..=1.33).contains(&total), "seed {seed}: {total} TB");
        let mean = total * 1e12 / 8_000.0 / VideoSet::MEAN_BYTES as f64;
        assert!((mean - 1.0).abs() < 0.03, "seed {seed}: {mean} of what studies and estimates go by");
    }
}

#[test]
fn a_share_of_the_bytes_is_that_share() {
    let whole = catalog("1000x1", 1).total() as f64;
    let check = |text: &str, share: f64| {
        let found = catalog(text, 1).total() as f64 / whole;
        // Sizes are rounded to whole bytes, which only shows if a chunk has few.
        assert!((found / share - 1.0).abs() < 1e-3, "{text}: {found}");
    };
    check("1000x1/8", 0.125);
    check("1000x1/160", 1.0 / 160.0);
    check("1000x2/3", 2.0 / 3.0);
}

#[test]
fn every_set_is_as_long_on_average_as_its_source() {
    let check = |text: &str, mean: f64, median: f64| {
        for seed in 1..=5 {
            let mut seconds = seconds(&catalog(text, seed));
            seconds.sort_by(f64::total_cmp);
            let found = seconds.iter().sum::<f64>() / seconds.len() as f64;
            assert!((found - 258.4).abs() < mean, "{text}, seed {seed}: mean {found}");
            let middle = seconds[seconds.len() / 2];
            assert!((middle - 216.6).abs() < median, "{text}, seed {seed}: median {middle}");
        }
    };
    check("100x1", 2.0, 3.0);
    check("1000x1/8", 0.5, 0.5);
    check("8000x1", 0.1, 0.1);
}

#[test]
fn lengths_are_drawn_without_an_order() {
    let catalog = catalog("1000000x1", 3);
    // The first tenth is a sample of the whole if the videos are unordered; the ends are apart, as the curve jumps
    // there.
    let first: Vec<f64> =
        seconds(&catalog)[..100_000].iter().copied().filter(|s| *s > 5.0 && *s < 1000.0).collect();
    let curve = |at: f64| (share_up_to(Nanos((at * 1e9).round() as u64)) - 0.006) / 0.984;
    let test = KolmogorovSmirnov::test(&first, curve).unwrap();
    assert!(test.p_value > 1e-3, "{test:?}");
}

#[test]
fn a_fifth_has_the_highest_rung_whatever_its_length() {
    let check = |videos: u64, expect: usize| {
        let catalog = catalog(&format!("{videos}x1"), 9);
        let high: Vec<u64> = (0..videos).filter(|video| catalog.has(*video, 3)).collect();
        assert_eq!(high.len(), expect, "of {videos}");
        for video in 0..videos.min(100) {
            assert!((0..3).all(|rung| catalog.has(video, rung)) && !catalog.has(video, 4));
            assert_eq!(catalog.rungs(video), if high.contains(&video) { 4 } else { 3 });
        }
        high
    };
    check(1, 1);
    check(5, 1);
    check(6, 2);
    check(100, 20);
    let high = check(8000, 1600);
    let catalog = catalog("8000x1", 9);
    let mean = high.iter().map(|video| catalog.duration(*video).as_secs_f64()).sum::<f64>() / 1600.0;
    // One of five neighbours in length: at most a fifth of a step, which is 1000 s / 1600 on average, off.
    assert!((mean - 258.4).abs() < 0.7, "{mean}");
}

#[test]
fn chunks_cover_each_file() {
    for text in ["200x1", "200x1/8", "200x1/160", "200x1/4096"] {
        let catalog = catalog(text, 4);
        for video in 0..200 {
            for rung in 0..4 {
                let (size, chunk) = (catalog.size(video, rung), catalog.chunk_bytes(rung));
                assert_eq!(size.div_ceil(chunk), catalog.chunks(video), "{text}: {video}, {rung}");
                // As long as the video, to the byte.
                let bytes = catalog.duration(video).as_secs_f64() / 10.0 * chunk as f64;
                assert!((size as f64 - bytes).abs() < 1.0 + 1e-3, "{size} {bytes}");
            }
        }
    }
}

#[test]
fn another_seed_is_another_set() {
    let (one, two) = (catalog("1000x1", 1), catalog("1000x1", 2));
    assert_eq!(seconds(&one), seconds(&catalog("1000x1", 1)));
    assert_ne!(seconds(&one), seconds(&two));
    let high = |catalog: &Catalog| (0..1000).filter(|video| catalog.has(*video, 3)).collect::<Vec<_>>();
    assert_ne!(high(&one), high(&two));
    let begins = |catalog: &Catalog| {
        let mut bytes = [0; 16];
        catalog.content(5, 2).read_exact(&mut bytes).unwrap();
        bytes
    };
    assert_ne!(begins(&one), begins(&two));
}

#[test]
fn no_two_files_begin_alike() {
    let catalog = catalog("500x1/8", 1);
    let mut seen = HashSet::new();
    for (video, rung) in (0..500).flat_map(|video| (0..4).map(move |rung| (video, rung))) {
        let mut bytes = [0; 16];
        catalog.content(video, rung).read_exact(&mut bytes).unwrap();
        assert!(seen.insert(bytes), "{video} {rung}");
        assert_eq!(catalog.content(video, rung).left(), catalog.size(video, rung));
    }
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    let set = VideoSet { videos: 0, ..VideoSet::default() };
    assert!(Catalog::new(&set, 1).unwrap_err().to_string().contains("it has 0 videos"));
}

proptest! {
    #[test]
    fn a_path_is_one_whichever_way_it_is_written(video in 0..VideoSet::MAX, rung in 0usize..4) {
        let catalog = catalog("1000000x1", 1);
        let mut written = b"GET ".to_vec();
        catalog.append_path(video, rung, &mut written);
        prop_assert_eq!(String::from_utf8(written).unwrap(), format!("GET {}", catalog.path(video, rung)));
    }
}
