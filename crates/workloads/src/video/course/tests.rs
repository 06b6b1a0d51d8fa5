use datasets::videos::Catalog;

use super::*;
use crate::video::config::tests::{config, with};
use crate::video::library::{Videos, Watched};

/// When six chunks are requested, by a viewer whose bandwidth is twice the bit rate. Units: tenths of a second.
fn asked(pacing: Pacing, bandwidth: Bandwidth) -> Vec<u64> {
    let catalog = Catalog::new(&"40x1/8".parse().unwrap(), 1).unwrap();
    let library = Library::new(Videos::Set(catalog, spec::workload::Delivery::Ranges), 1);
    let config = VideoConfig { library, ..config() };
    let config = with(config, |options| (options.pacing, options.bandwidth) = (pacing, bandwidth));
    let viewer = Viewer {
        watched: Watched { video: 0, rung: 0 },
        until: Nanos::from_secs(60),
        chunks: 6,
        bandwidth: 2.0 * config.library.bit_rate(0),
        hopeless: false,
        leaves: Nanos(u64::MAX),
        server: 0,
    };
    let pace = Pace::new(&config);
    let course = Course::new(pace, &config.library, &viewer);
    let all: Vec<Nanos> = course.map(|(asked, _)| asked).collect();
    assert_eq!(pace.last(&config.library, &viewer), all[5]);
    all.into_iter().map(|asked| (asked.as_secs_f64() * 10.0).round() as u64).collect()
}

#[test]
fn in_a_closed_loop_chunks_wait_for_what_those_before_take() {
    // Each takes 5 s.
    assert_eq!(asked(Pacing::Closed, Bandwidth::Pace), [0, 50, 100, 150, 300, 450]);
    // A tenth of a second comes at once after each pause.
    assert_eq!(asked(Pacing::Closed, Bandwidth::Read), [0, 49, 99, 149, 299, 448]);
    // 30 s are buffered once five have arrived, and the start took one.
    assert_eq!(asked(Pacing::Player, Bandwidth::Shape), [0, 50, 100, 150, 200, 250]);
    assert_eq!(asked(Pacing::Closed, Bandwidth::Off), [0, 0, 0, 0, 100, 200]);
}

#[test]
fn in_an_open_one_they_do_not() {
    for bandwidth in [Bandwidth::Off, Bandwidth::Read] {
        assert_eq!(asked(Pacing::Open, bandwidth), [0, 0, 0, 100, 200, 300], "{bandwidth}");
    }
}
