//! The order of a block: maxima first, then the points at random, the references among them.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::plan::Plan;

/// One step of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The maximum throughput of a bench.
    Maximum(usize),
    /// A reference point.
    Reference(usize),
    /// A point of the grid.
    Point(usize),
    /// Two services at once.
    Pair(usize),
}

/// So that the order of blocks has nothing to do with the seeds of the trials.
const STREAM: u64 = 0x0064_6572_6f66_7374;

/// The steps of one block.
///
/// Every block has an order of its own, so that what drifts within a block looks like no effect of the axis. The
/// references stand at the beginning, at the end and evenly between, so that their median is that of the block.
pub(super) fn of_block(plan: &Plan, seed: u64, block: u32) -> Vec<Step> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ STREAM ^ (u64::from(block) << 32));
    let needed = plan.benches.iter().enumerate().filter(|(_, bench)| bench.needs_maximum);
    let mut steps: Vec<Step> = needed.map(|(place, _)| Step::Maximum(place)).collect();
    steps.shuffle(&mut rng);
    let mut points: Vec<Step> = (0..plan.points.len()).map(Step::Point).collect();
    points.extend((0..plan.pairs.len()).map(Step::Pair));
    points.shuffle(&mut rng);
    let times = if plan.references.is_empty() { 0 } else { plan.references_per_block as usize };
    // One pass at the beginning, one at the end where there are two, the others between.
    let gaps = times.saturating_sub(1).max(1);
    for pass in 0..times {
        let mut references: Vec<Step> = (0..plan.references.len()).map(Step::Reference).collect();
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

impl Step {
    /// What it is, for the watcher.
    pub(super) fn words(self, plan: &Plan) -> String {
        match self {
            Step::Maximum(bench) => format!("maximum of {}", plan.benches[bench].name),
            Step::Reference(place) => format!("reference {}", plan.place_of(&plan.references[place])),
            Step::Point(place) => plan.place_of(&plan.points[place]),
            Step::Pair(place) => {
                let pair = &plan.pairs[place];
                format!("{}: {} % beside {} %", pair.first.series, pair.first.x, pair.second.x)
            }
        }
    }
}
