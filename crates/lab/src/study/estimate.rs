//! How long a study will take, before it starts.

use std::collections::BTreeMap;
use std::time::Duration;

use spec::workload::{Files, Workload};
use spec::{Load, Spec};

use super::experiment;
use super::plan::{Plan, Point};

/// A trial takes about this long beside its warm-up and window: the start of the generator, connecting, the drain.
const OVERHEAD: Duration = Duration::from_millis(450);
/// A server takes about this long to start.
const START: Duration = Duration::from_millis(200);
/// Settings take about this long to apply and to revert.
const APPLY: Duration = Duration::from_millis(10);
/// Storing one item of the data set, in batches over loopback.
const STORE: Duration = Duration::from_micros(5);
/// Making one file of a set, in memory by two threads; sizes beyond some KiB are left out of account.
const MAKE: Duration = Duration::from_micros(15);
/// A first search for the maximum takes about so many trials, a later one so many, one for the peak so many.
const SEARCH: (u32, u32, u32) = (8, 3, 9);
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

    /// About how long the files of web servers take to be made: each set once, whichever servers share it.
    fn making(&self) -> Duration {
        let files = self.benches.iter().filter_map(|bench| match &bench.experiment.workload {
            Workload::Web(web) => Some(web.files.clone().unwrap_or_else(Files::usual)),
            Workload::Cache(_) | Workload::Null(_) => None,
        });
        let sets: BTreeMap<String, u64> = files.map(|files| (files.to_string(), files.number())).collect();
        MAKE.saturating_mul(u32::try_from(sets.values().sum::<u64>()).unwrap_or(u32::MAX))
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
        Load::Maximum => Duration::ZERO,
        Load::Apply(times) => times * APPLY,
        Load::Restart(times) => times * START,
        Load::Peak => SEARCH.2 * trial(&point.experiment),
        _ => trial(&point.experiment),
    }
}

fn trial(experiment: &Spec) -> Duration {
    experiment::span(experiment).total() + OVERHEAD
}

fn search_trial(experiment: &Spec) -> Duration {
    let (warmup, search) = (experiment.time.warmup.into(), Duration::from(experiment.time.search));
    (search / 2).min(warmup) + search + OVERHEAD
}

fn fill(experiment: &Spec) -> Duration {
    match &experiment.workload {
        Workload::Cache(cache) => STORE.saturating_mul(u32::try_from(cache.keys).unwrap_or(u32::MAX)),
        Workload::Web(_) | Workload::Null(_) => Duration::ZERO,
    }
}
