//! The steps of a block: maxima first, then the points at random, the references among them.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use results::Purpose;
use spec::workload::MadeFiles;
use spec::{Load, Spec, Time};

use super::agenda::{Agenda, OVERHEAD, Part};
use super::trials::of_search;
use super::{BenchPlan, Plan, Point};

/// A server takes about this long to start.
const START: Duration = Duration::from_millis(200);
/// Settings take about this long to apply and to revert.
const APPLY: Duration = Duration::from_millis(10);
/// Storing one item of the data set, in batches over loopback.
const STORE: Duration = Duration::from_micros(5);
/// Making one file of a set, in memory by two threads; sizes beyond some KiB are left out of account.
const MAKE: Duration = Duration::from_micros(15);
/// Bytes of videos that are made in a second, in memory by two threads.
const MAKE_VIDEO: f64 = 1e9;
/// Expected trials per search for the maximum: first, later.
const MAXIMUM: [usize; 2] = [8, 3];
/// The same of sessions, which are offered from few on. Source: the mean of a search by halves for servers of 0.1 to 40 sessions a
/// second is 17 (`sessions_are_offered_from_few_on_and_never_far_too_many`).
const MAXIMUM_OF_SESSIONS: [usize; 2] = [17, 3];
/// Expected trials per search for the peak: after a sweep, without one.
const PEAK: [usize; 2] = [3, 10];
/// Blocks of a run until settled: the pairs of the 10th look.
const MOST_BLOCKS: u32 = 141;
/// So that the order of blocks has nothing to do with the seeds of the trials.
const STREAM: u64 = 0x0064_6572_6f66_7374;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStep {
    /// The maximum throughput of a bench.
    Maximum(usize),
    Reference(usize),
    Point(usize),
    /// Two services at once.
    Pair(usize),
    /// The peak throughput of a bench, after the last block.
    Peak(usize),
}

impl Plan {
    /// The steps of one block.
    ///
    /// Every block has an order of its own, so that what drifts within a block looks like no effect of the axis. The
    /// references stand at the beginning, at the end and evenly between, so that their median is that of the block.
    pub(crate) fn block(&self, seed: u64, block: u32) -> Vec<BlockStep> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ STREAM ^ (u64::from(block) << 32));
        let needed = self.benches.iter().enumerate().filter(|(_, bench)| bench.needs_maximum);
        let mut steps: Vec<BlockStep> = needed.map(|(place, _)| BlockStep::Maximum(place)).collect();
        steps.shuffle(&mut rng);
        let mut points: Vec<BlockStep> = (0..self.points.len()).map(BlockStep::Point).collect();
        points.extend((0..self.pairs.len()).map(BlockStep::Pair));
        points.shuffle(&mut rng);
        let times = if self.references.is_empty() { 0 } else { self.references_per_block as usize };
        // One pass at the beginning, one at the end if there are two, the others between.
        let gaps = times.saturating_sub(1).max(1);
        for pass in 0..times {
            let mut references: Vec<BlockStep> =
                (0..self.references.len()).map(BlockStep::Reference).collect();
            references.shuffle(&mut rng);
            steps.extend(references);
            let (from, to) = (points.len() * pass / gaps, points.len() * (pass + 1) / gaps);
            steps.extend(points.get(from..to).unwrap_or_default());
        }
        if times == 0 {
            steps.extend(points);
        }
        steps
    }

    /// The steps of all blocks: searches, references and points.
    pub fn steps(&self) -> usize {
        self.blocks as usize * self.block(0, 0).len()
    }

    /// The blocks that fit in its time, and some more in case they take less than planned; of those a run until settled
    /// makes as many as it takes.
    pub(crate) fn most_blocks(&self) -> u32 {
        let block = |block: u32| -> Duration {
            let parts = self.block(0, block).into_iter().map(|step| self.part(step, block));
            parts.map(|part| part.each * part.trials as u32 + part.beside).sum()
        };
        let Some(time) = self.time else { return MOST_BLOCKS };
        let later = time.saturating_sub(block(0)).as_secs_f64() / block(1).as_secs_f64().max(1e-3);
        (1.0 + 1.25 * later).ceil().clamp(1.0, f64::from(MOST_BLOCKS)) as u32
    }

    pub(crate) fn last(&self) -> Vec<BlockStep> {
        let benches = if self.peak_tolerance.is_some() { self.benches.len() } else { 0 };
        (0..benches).map(BlockStep::Peak).collect()
    }

    /// A step in words, for progress reports.
    pub(crate) fn words(&self, step: BlockStep, block: u32) -> String {
        let words = match step {
            BlockStep::Peak(_) => return "peak throughput under QoS".into(),
            BlockStep::Maximum(bench) if self.benches.len() > 1 => {
                format!("maximum of {}", self.benches[bench].name)
            }
            BlockStep::Maximum(_) => "maximum throughput".into(),
            BlockStep::Reference(place) => format!("reference {}", self.place_of(&self.references[place])),
            BlockStep::Point(place) => match &self.points[place] {
                Point { purpose: Purpose::Single, .. } => return "load".into(),
                point if point.series.is_empty() => "sweep".into(),
                point => self.place_of(point),
            },
            BlockStep::Pair(place) => {
                let pair = &self.pairs[place];
                format!("{}: {} % beside {} %", pair.first.series, pair.first.x, pair.second.x)
            }
        };
        match self.blocks {
            1 => words,
            _ if self.until_settled => format!("block {}, until settled: {words}", block + 1),
            blocks => format!("block {} of {blocks}: {words}", block + 1),
        }
    }

    /// All that is to come from `first` on, by block, and after the last one.
    pub(crate) fn agenda(&self, seed: u64, first: u32) -> Agenda {
        let of = |steps: Vec<BlockStep>, block: u32| {
            steps.into_iter().map(move |step| self.part(step, block)).collect::<Vec<Part>>()
        };
        let blocks = (first..self.blocks).flat_map(|block| of(self.block(seed, block), block));
        Agenda::new(blocks.chain(of(self.last(), self.blocks)).collect())
    }

    /// About how long all of it takes; at most its time, if it has one.
    pub fn estimate(&self) -> Duration {
        let first: Duration =
            self.benches.iter().map(|bench| START + bench.targets as u32 * fill(&bench.experiment)).sum();
        let left = self.agenda(0, 0).left();
        self.making() + first + self.time.map_or(left, |time| left.min(time))
    }

    /// About how long the files of web and video servers take to be made: each set once, whichever servers share it.
    fn making(&self) -> Duration {
        let sets = self.benches.iter().filter_map(|bench| {
            let MadeFiles { set, count, bytes } = bench.experiment.workload.made_files()?;
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            Some((set, MAKE.saturating_mul(count) + Duration::from_secs_f64(bytes / MAKE_VIDEO)))
        });
        sets.collect::<BTreeMap<String, Duration>>().values().sum()
    }

    /// The trials that a step takes, and how long each.
    fn part(&self, step: BlockStep, block: u32) -> Part {
        let search = |bench: &BenchPlan, trials: usize, time: Time| Part {
            trials: trials * bench.targets,
            each: whole(time),
            beside: Duration::ZERO,
        };
        match step {
            BlockStep::Maximum(_) if self.assumed.is_some() || self.keeps_maxima && block > 0 => {
                Part::default()
            }
            BlockStep::Maximum(bench) => {
                let bench = &self.benches[bench];
                let of_sessions = bench.experiment.workload.has_sessions();
                let trials = if of_sessions { MAXIMUM_OF_SESSIONS } else { MAXIMUM };
                search(bench, trials[usize::from(block > 0)], of_search(&bench.experiment))
            }
            BlockStep::Peak(bench) => {
                let bench = &self.benches[bench];
                search(bench, PEAK[usize::from(self.points.is_empty())], bench.experiment.time)
            }
            BlockStep::Reference(place) => self.of_point(&self.references[place]),
            BlockStep::Point(place) => self.of_point(&self.points[place]),
            BlockStep::Pair(place) => self.of_point(&self.pairs[place].first),
        }
    }

    fn of_point(&self, point: &Point) -> Part {
        let one = whole(point.experiment.time);
        match point.experiment.load {
            // The search at the block's beginning has measured it.
            Load::Maximum => Part::default(),
            Load::Apply(times) => Part { beside: times * APPLY, ..Part::default() },
            Load::Restart(times) => Part { beside: times * START, ..Part::default() },
            Load::Peak => Part { trials: PEAK[1], each: one, ..Part::default() },
            _ => Part { trials: self.benches[point.bench].targets, each: one, ..Part::default() },
        }
    }
}

/// How long a trial of this time takes.
fn whole(time: Time) -> Duration {
    Duration::from(time.warmup + time.window) + OVERHEAD
}

fn fill(experiment: &Spec) -> Duration {
    STORE.saturating_mul(u32::try_from(experiment.workload.items()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use spec::workload::Workload;

    use super::*;
    use crate::run::Sweep;

    #[test]
    fn a_search_of_sessions_is_planned_for_as_many_trials_as_it_takes() {
        let of = |workload: Workload| {
            let spec = Spec { time: workload.usual_time(), workload, ..Spec::default() };
            let peak = Sweep {
                loads: Vec::new(),
                repeats: 1,
                max_tolerance: 0.03,
                peak_tolerance: Some(0.05),
                time: None,
                until_settled: false,
                margin: None,
            };
            Plan::of_sweep(&peak, &spec, 1).agenda(1, 0).about()
        };
        assert_eq!(of(Workload::Cache(Box::default())), MAXIMUM[0] + PEAK[1]);
        // Starting from 0.5 per second, it doubles the rate, then bisects.
        assert_eq!(of(Workload::Video(Box::default())), MAXIMUM_OF_SESSIONS[0] + PEAK[1]);
        assert!(MAXIMUM_OF_SESSIONS[0] >= 2 * MAXIMUM[0]);
    }
}
