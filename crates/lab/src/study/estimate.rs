//! How long a study will take, before it starts.

use std::collections::BTreeSet;
use std::time::Duration;

use super::experiment::{Experiment, Offer, Workload};
use super::plan::{Plan, Point};

/// A trial takes about this long beside its warm-up and window: the start of the generator, connecting, the drain.
const OVERHEAD: Duration = Duration::from_millis(450);
/// A server takes about this long to start.
const START: Duration = Duration::from_millis(200);
/// Settings take about this long to apply and to put back.
const APPLY: Duration = Duration::from_millis(10);
/// Storing one item of the data set, in batches over loopback.
const STORE: Duration = Duration::from_micros(5);
/// Making one file of a set, in memory by two threads; sizes beyond some KiB are left out of account.
const MAKE: Duration = Duration::from_micros(15);
/// A first search for the maximum takes about so many trials, a later one so many, one for the peak so many.
const SEARCH: (u32, u32, u32) = (8, 3, 9);
/// The keys of a data set where nothing is said, the default of the command line.
const KEYS: u64 = 100_000;
/// The same of files.
const FILES: u64 = 100_000;

impl Plan {
    /// About how long all of it takes.
    pub fn estimate(&self) -> Duration {
        let first: Duration = self.benches.iter().map(|bench| START + fill(&bench.experiment)).sum();
        let searches = |trials: u32| -> Duration {
            let needed = self.benches.iter().filter(|bench| bench.needs_maximum && self.assumed.is_none());
            needed.map(|bench| trials * search_trial(&bench.experiment)).sum()
        };
        let later = self.blocks.saturating_sub(1);
        self.making()
            + first
            + searches(SEARCH.0)
            + later * searches(SEARCH.1)
            + self.blocks * self.of_block()
    }

    /// About how long the files of web servers take to be made: each set once, whoever serves it.
    fn making(&self) -> Duration {
        let web = self.benches.iter().filter(|bench| bench.experiment.kind == Workload::Web);
        let sets: BTreeSet<Option<&String>> =
            web.map(|bench| bench.experiment.workload.get("files")).collect();
        let count = |set: &Option<&String>| {
            set.and_then(|set| set.split('x').next()?.parse::<u64>().ok()).unwrap_or(FILES)
        };
        MAKE.saturating_mul(u32::try_from(sets.iter().map(count).sum::<u64>()).unwrap_or(u32::MAX))
    }

    /// About how long the points of a block take, its maxima left out.
    fn of_block(&self) -> Duration {
        let points: Duration = self.points.iter().map(of_point).sum();
        let references: Duration = self.references.iter().map(of_point).sum();
        let pairs: Duration = self.pairs.iter().map(|pair| of_point(&pair.first)).sum();
        points + pairs + self.references_per_block * references
    }

    /// Steps that a watcher is told of: searches, references and points of all blocks.
    pub fn steps(&self) -> usize {
        let searches = self.benches.iter().filter(|bench| bench.needs_maximum).count();
        let references = self.references_per_block as usize * self.references.len();
        self.blocks as usize * (searches + references + self.points.len() + self.pairs.len())
    }
}

fn of_point(point: &Point) -> Duration {
    match point.experiment.load {
        // It is what the search at the block's beginning found.
        Offer::Maximum => Duration::ZERO,
        Offer::Apply(times) => times * APPLY,
        Offer::Restart(times) => times * START,
        Offer::Peak => SEARCH.2 * trial(&point.experiment),
        _ => trial(&point.experiment),
    }
}

fn trial(experiment: &Experiment) -> Duration {
    experiment.time.warmup + experiment.time.window + OVERHEAD
}

fn search_trial(experiment: &Experiment) -> Duration {
    let time = experiment.time;
    time.warmup.min(time.search / 2) + time.search + OVERHEAD
}

fn fill(experiment: &Experiment) -> Duration {
    if experiment.kind == Workload::Web {
        return Duration::ZERO;
    }
    let keys = experiment.workload.get("keys").and_then(|keys| keys.parse::<u64>().ok()).unwrap_or(KEYS);
    STORE.saturating_mul(u32::try_from(keys).unwrap_or(u32::MAX))
}
