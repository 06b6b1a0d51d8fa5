//! The bandwidth of clients, and the quality in which each of them watches.

use dist::Rng;
use rand::RngExt;
use spec::workload::{ClientMix, Video};

/// A class of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The share of clients. Units: per cent.
    pub percent: u32,
    /// The least bandwidth. Units: Mbps.
    pub from: f64,
    /// The most.
    pub to: f64,
}

/// The bandwidth of clients, even within each class.
///
/// Source: ISPASS'16, Table I, after Akamai's report of 2015. It has no end for the first class; 25 Mbps are ours, because
/// more than 6.6 Mbps carry every quality anyway.
pub const CLASSES: [Class; 4] = [
    Class { percent: 19, from: 15.0, to: Video::FASTEST / 1e6 },
    Class { percent: 20, from: 10.0, to: 15.0 },
    Class { percent: 34, from: 4.0, to: 10.0 },
    Class { percent: 27, from: 1.0, to: 4.0 },
];

/// The shares of the qualities of CloudSuite's client, lowest first. Units: per cent. Source: its launch script.
pub const SHARES: [u32; 4] = [10, 30, 40, 20];

/// A client takes the best quality whose bit rate is at most this share of its bandwidth.
///
/// Source: ours; players leave a margin for variation (ExoPlayer's `DEFAULT_BANDWIDTH_FRACTION` 0.7, hls.js's
/// `abrBandWidthFactor` 0.95). With Table I it gives 3, 18, 68 and 12 % of the qualities.
pub const FIT: f64 = 0.8;

/// Draws the bandwidth of a client. Units: bits per second.
pub(super) fn bandwidth(rng: &mut Rng) -> f64 {
    let class = CLASSES[drawn(CLASSES.map(|class| class.percent), rng)];
    rng.random_range(class.from..class.to) * 1e6
}

/// Draws a place by the shares of all places. Units: per cent, which add up to 100.
fn drawn(shares: [u32; 4], rng: &mut Rng) -> usize {
    let mut left = rng.random_range(0..100);
    let found = shares.into_iter().position(|share| {
        let found = left < share;
        left = left.saturating_sub(share);
        found
    });
    found.unwrap_or(shares.len() - 1)
}

/// How the quality of a client follows from a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The best that its bandwidth carries, of those that the video has.
    Best,
    /// This one, of a video that has it.
    Rung(usize),
}

/// Draws how a client of this mix chooses.
pub(super) fn choice(mix: ClientMix, rng: &mut Rng) -> Choice {
    match mix {
        ClientMix::Table1 => Choice::Best,
        ClientMix::CloudSuite => Choice::Rung(drawn(SHARES, rng)),
    }
}

#[cfg(test)]
mod tests {
    use dist::{Purpose, Streams};
    use stats::{ChiSquare, KolmogorovSmirnov};

    use super::*;

    /// The p-values of as many seeds are themselves uniform, if the draws are right.
    fn over_seeds(mut test: impl FnMut(&mut Rng) -> f64) -> f64 {
        let p_values: Vec<f64> =
            (0..20).map(|seed| test(&mut Streams::new(seed).stream(Purpose::Other(42), 0))).collect();
        KolmogorovSmirnov::test(&p_values, |p| p).unwrap().p_value
    }

    #[test]
    fn classes_and_shares_are_whole() {
        assert_eq!(CLASSES.iter().map(|class| class.percent).sum::<u32>(), 100);
        assert_eq!(SHARES.iter().sum::<u32>(), 100);
    }

    #[test]
    fn bandwidths_are_those_of_table_1() {
        // The distribution function: straight within each class.
        let below = |bits: f64| {
            let share = |class: &Class| {
                let within = (bits / 1e6 - class.from) / (class.to - class.from);
                f64::from(class.percent) / 100.0 * within.clamp(0.0, 1.0)
            };
            CLASSES.iter().map(share).sum()
        };
        let p = over_seeds(|rng| {
            let drawn: Vec<f64> = (0..100_000).map(|_| bandwidth(rng)).collect();
            KolmogorovSmirnov::test(&drawn, below).unwrap().p_value
        });
        assert!(p > 1e-3, "{p}");
    }

    #[test]
    fn qualities_are_those_of_cloudsuite() {
        let p = over_seeds(|rng| {
            let mut counts = [0; SHARES.len()];
            for _ in 0..100_000 {
                let Choice::Rung(rung) = choice(ClientMix::CloudSuite, rng) else { panic!("it names one") };
                counts[rung] += 1;
            }
            ChiSquare::test(&counts, &SHARES.map(f64::from)).unwrap().p_value
        });
        assert!(p > 1e-3, "{p}");
        assert_eq!(
            choice(ClientMix::Table1, &mut Streams::new(1).stream(Purpose::Other(42), 0)),
            Choice::Best
        );
    }
}
