//! What this machine can tell in two minutes, as it is at the moment.

mod canary;
mod prediction;
mod repeats;

use std::time::{Duration, Instant};

use host::{HostObservation, Watcher};
use lab::Placement;
use serde::Serialize;

use canary::CanaryReading;
use prediction::{FEWEST, Prediction, predict};

/// How long canaries watch. With the pairs of trials it is 5 s together.
const CANARIES: Duration = Duration::from_millis(800);
/// Pairs of short trials. Source: what 5 s have room for.
const PAIRS: usize = 6;
/// The latest begin of the last pair, counted from the first. A pair takes 0.7 s on an idle machine: a demo is to begin within 5 s.
const LAST_PAIR: Duration = Duration::from_millis(4300);
/// Processors that canaries watch at most: more than a server and a generator have by default.
const WATCHED: usize = 64;

/// The observations, and the conclusions from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Now {
    /// The answer.
    pub sentence: String,
    /// The predicted resolution of a comparison; `None` if a prediction is impossible.
    prediction: Option<Prediction>,
    /// The windowed p99s of pairs of short trials of one and the same server. Units: µs.
    pairs_us: Vec<[f64; 2]>,
    /// Why there are not as many as there should be.
    failure: Option<String>,
    /// Processors of the server, and of the generator, in those trials.
    server_cpus: Vec<usize>,
    generator_cpus: Vec<usize>,
    #[serde(flatten)]
    watched: HostObservation,
    /// The canary's observations on each processor that this process may use, before these trials.
    canaries: Vec<CanaryReading>,
}

/// Watches this machine for five seconds; without `canaries`, for the sentence alone.
pub fn look(canaries: bool) -> Now {
    let placement = Placement::new(&lab::allowed_cores(), 1, None, None);
    let watcher = Watcher::start();
    let mut cpus = lab::allowed_cpus();
    cpus.truncate(WATCHED);
    let canaries = if canaries { canary::watch(&cpus, watcher.quota(), CANARIES) } else { Vec::new() };
    let (began, mut own) = (Instant::now(), vec![std::process::id()]);
    let measured = repeats::measure(&placement, PAIRS, began + LAST_PAIR, &mut own);
    let watched = watcher.finish(&own);
    let (pairs_us, failure) = match measured {
        Ok(pairs) => (pairs, None),
        Err(error) => (Vec::new(), Some(format!("{error:#}"))),
    };
    let prediction = predict(&pairs_us);
    let sentence = sentence(prediction.as_ref(), &pairs_us, failure.as_deref(), &placement, &watched);
    let Placement { server, generator } = placement;
    Now {
        sentence,
        prediction,
        pairs_us,
        failure,
        server_cpus: server,
        generator_cpus: generator,
        watched,
        canaries,
    }
}

fn sentence(
    prediction: Option<&Prediction>,
    pairs: &[[f64; 2]],
    failure: Option<&str>,
    placement: &Placement,
    watched: &HostObservation,
) -> String {
    let told = match (prediction, failure) {
        (Some(told), _) => {
            let difference = match told.difference {
                small if small < 1.0 => format!("of about {:.0} %", (100.0 * small).ceil().max(1.0)),
                large => format!("of about a factor of {:.1}", 1.0 + large),
            };
            let longer = told.minutes_for_5_percent.map_or(String::new(), |minutes| match minutes {
                short if short < 90.0 => format!(", one of 5 % in about {:.0} min", short.ceil()),
                long => format!(", one of 5 % in about {:.0} h", (long / 60.0).ceil()),
            });
            format!(
                "This machine can tell a difference {difference} in windowed p99 in {:.0} minutes ({} pairs of trials of {:.0} s at \
                 each of two loads){longer}",
                told.time_s / 60.0,
                told.pairs,
                told.window_s
            )
        }
        (None, Some(failure)) => format!("What this machine can tell is not known, as a short trial failed: {failure}"),
        (None, None) if pairs.len() < FEWEST => format!(
            "This machine can tell nothing of windowed p99s now: only {} of {PAIRS} pairs of short trials came about, in which the \
             generator was on a processor for long enough",
            pairs.len()
        ),
        (None, None) => "This machine can tell nothing of windowed p99s in 2 minutes now: trials of one and the same server differ \
                         so much that not even a tenfold difference would show"
            .to_owned(),
    };
    let shared = if placement.is_shared() { " (server and generator share a processor)" } else { "" };
    format!("{told}{shared}; {}.", watched.words())
}

impl Now {
    /// Whether the machine can tell anything.
    pub fn tells(&self) -> bool {
        self.prediction.is_some()
    }

    /// The sentence, its evidence, and the processors.
    pub fn page(&self) -> String {
        let mut page = format!("{}\n\n", self.sentence);
        page += &format!(
            "It rests on {:.0} s and {} pairs of trials of 0.3 s of one and the same server{}{}.\n\
             A difference is told with a chance of 80 %, at an error of 5 %; docs/reference/disturbed-host.md says how it is predicted.\n",
            self.watched.seconds,
            self.pairs_us.len(),
            if self.pairs_us.is_empty() { "" } else { ", windowed p99s in µs: " },
            self.pairs_us.iter().map(|[a, b]| format!("{a:.0} and {b:.0}")).collect::<Vec<_>>().join(", ")
        );
        page += "\nprocessor  used    stolen  taken from a canary  its gaps a second  late wake-ups  longest gap\n";
        for seen in &self.canaries {
            let of =
                self.watched.processors.iter().find(|one| one.cpu == seen.cpu).cloned().unwrap_or_default();
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            page += &format!(
                "{:>9}  {:<6}  {:<6}  {:<19}  {:<17.0}  {:<13}  {:.2} ms\n",
                seen.cpu,
                percent(of.used_share),
                percent(of.steal_share),
                percent(seen.taken_share),
                seen.gaps_per_s,
                percent(seen.late_share),
                seen.longest_us / 1e3
            );
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(server: &[usize], generator: &[usize]) -> Placement {
        Placement { server: server.to_vec(), generator: generator.to_vec() }
    }

    #[test]
    fn a_sentence_says_what_can_be_told() {
        let watched = HostObservation::default();
        let pairs = |spread: f64| {
            (0..6).map(|i| [100.0, 100.0 * (1.0 + spread * f64::from(i - 3))]).collect::<Vec<_>>()
        };
        let check = |spread: f64, failure: Option<&str>, words: &[&str]| {
            let pairs = if failure.is_some() { Vec::new() } else { pairs(spread) };
            let told = predict(&pairs);
            let said = sentence(told.as_ref(), &pairs, failure, &placement(&[0], &[1]), &watched);
            for part in words {
                assert!(said.contains(part), "'{part}' is not in: {said}");
            }
            assert!(said.ends_with('.') && !said.contains("share a processor"), "{said}");
        };
        check(
            0.01,
            None,
            &["can tell a difference of about ", " % in windowed p99 in 2 minutes (9 pairs of trials of 1 s"],
        );
        check(0.1, None, &["of about ", "one of 5 % in about "]);
        check(0.27, None, &["of about a factor of "]);
        check(0.0, Some("no port"), &["is not known", "no port"]);
        let said = sentence(None, &pairs(0.1)[..3], None, &placement(&[0], &[0]), &watched);
        assert!(said.contains("only 3 of 6 pairs") && said.contains("share a processor"), "{said}");
        let said = sentence(None, &pairs(0.1), None, &placement(&[0], &[1]), &watched);
        assert!(said.contains("tenfold"), "{said}");
    }
}
