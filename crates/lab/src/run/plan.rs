//! The plan of a run: servers with their generators, and the loads of each block.

use std::time::Duration;

use results::Purpose;
use results::study::{Effort, Skipped, X};
use spec::{Load, Spec, TargetName};
use units::Bytes;

/// Twice the time of so many blocks has room for the first two looks of a run until settled, after 9 and 13.
const LEAST_BLOCKS: u32 = 7;

/// One load on one bench.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// The series of a study; empty for a command.
    pub(crate) series: String,
    pub(crate) x: X,
    pub(crate) experiment: Spec,
    /// Why it is measured: [`Purpose::LoadPoint`] or [`Purpose::Single`].
    pub(crate) purpose: Purpose,
    pub(crate) bench: usize,
    /// The bench whose maximum its load is a share of.
    pub(crate) of: usize,
}

impl Point {
    /// Whether its load follows from a maximum.
    pub(crate) fn needs_maximum(&self) -> bool {
        matches!(self.experiment.load, Load::Share { .. } | Load::Maximum | Load::Peak)
    }
}

/// Two services under a load each, at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// The service whose place comes first.
    pub(crate) first: Point,
    pub(crate) second: Point,
}

/// A generator with its servers and the state of the host, set up once and measured often.
///
/// Several servers are measured in turn under the same loads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchPlan {
    pub(crate) name: String,
    /// The specification shared by its points.
    pub(crate) experiment: Spec,
    /// Its servers.
    pub(crate) targets: usize,
    /// Whether its maximum throughput must be known.
    pub(crate) needs_maximum: bool,
}

/// The measurements of a command or a study: in each block the maxima, then the references and the points in the
/// block's own order; after the last block the peaks.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// How thorough a study is; full for a command.
    pub(crate) effort: Effort,
    pub(crate) unit: String,
    /// How often all of it is measured.
    pub(crate) blocks: u32,
    /// How often each reference is measured in a block.
    pub(crate) references_per_block: u32,
    /// The width of the interval of a maximum, as a share of it.
    pub(crate) tolerance: f64,
    /// The maximum assumed for every bench without a search. Units: rps.
    pub(crate) assumed: Option<f64>,
    pub(crate) benches: Vec<BenchPlan>,
    /// The points measured on them, one after another.
    pub(crate) points: Vec<Point>,
    /// Of a study of two services.
    pub(crate) pairs: Vec<Pair>,
    /// Measured again in each block; a series without one of its own takes the only one.
    pub(crate) references: Vec<Point>,
    /// After the last block the peak of every bench is searched, as an interval of this width, a share of the maximum.
    pub(crate) peak_tolerance: Option<f64>,
    /// The run is to end after about this time: blocks that do not fit are left out, and a search for the peak ends
    /// with the interval that it has. A note says so. `None` for no limit.
    pub(crate) time: Option<Duration>,
    /// Whether blocks go on until the comparison of the targets, or every claim of a study, is settled.
    pub(crate) until_settled: bool,
    /// Whether the maxima of the first block stand for all blocks.
    pub(crate) keeps_maxima: bool,
    /// See [`Sweep::margin`].
    pub(crate) margin: Option<f64>,
    /// Whether a bench that cannot be measured ends the run; otherwise it is left out and the others go on.
    pub(crate) needs_all: bool,
    /// The parts left out, with the reasons.
    pub skipped: Vec<Skipped>,
}

/// A sweep, a search for the peak, or both, on each server of one bench in turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The loads, as shares of the maximum; none for no sweep.
    pub loads: Vec<f64>,
    /// How often the sweep is run, each time in a block of its own.
    pub repeats: u32,
    /// The width of the interval of the maximum, as a share of it.
    pub max_tolerance: f64,
    /// The width of the interval of the peak, as a share of the maximum; `None` for no peak.
    pub peak_tolerance: Option<f64>,
    /// The run is to end after about this time; `None` for no limit.
    pub time: Option<Duration>,
    /// Whether its blocks go on until the comparison of its targets is settled or the time is over; `repeats` does not count.
    pub until_settled: bool,
    /// Settled is then a comparison that shows that the second target is worse by more than this share, or that it is not;
    /// `None`: one that shows a difference, or none over 5 %.
    pub margin: Option<f64>,
}

impl Plan {
    /// What its Sphinx servers take: each touches all that it is given as it starts, and all run throughout.
    pub fn memory(&self) -> Bytes {
        let of = |bench: &BenchPlan| {
            let target = &bench.experiment.target;
            if target.server == TargetName::app("sphinx") {
                target.memory.0 * bench.targets as u64
            } else {
                0
            }
        };
        Bytes(self.benches.iter().map(of).sum())
    }

    /// The plan of a command that sweeps or searches, on this number of `targets`.
    pub fn of_sweep(sweep: &Sweep, spec: &Spec, targets: usize) -> Plan {
        let point = |share: &f64| Point {
            x: X::Number(100.0 * share),
            experiment: Spec { load: Load::Share { share: *share, of: None }, ..spec.clone() },
            ..single(spec, Purpose::LoadPoint)
        };
        let mut plan = Plan {
            // Without a sweep there is nothing to repeat.
            blocks: if sweep.loads.is_empty() { 1 } else { sweep.repeats.max(1) },
            tolerance: sweep.max_tolerance,
            points: sweep.loads.iter().map(point).collect(),
            peak_tolerance: sweep.peak_tolerance,
            time: sweep.time,
            until_settled: sweep.until_settled,
            keeps_maxima: sweep.until_settled,
            margin: sweep.margin,
            ..Plan::of_one(spec, targets, true)
        };
        if plan.until_settled {
            plan.blocks = plan.most_blocks();
        }
        plan
    }

    /// Of a command that offers the load of `spec`, an open or a closed one, `repeats` times.
    pub fn of_load(spec: &Spec, targets: usize, repeats: u32) -> Plan {
        let points = vec![single(spec, Purpose::Single)];
        Plan { blocks: repeats, points, ..Plan::of_one(spec, targets, false) }
    }

    /// The same with another number of blocks, and a time after which no further block begins.
    #[must_use]
    pub fn limited(self, blocks: Option<u32>, time: Option<Duration>) -> Plan {
        Plan { blocks: blocks.unwrap_or(self.blocks), time: time.or(self.time), ..self }
    }

    /// The same until every claim is settled, for `time` at most. `None`: for twice the time that its blocks take, or that
    /// 7 blocks take if it has fewer.
    #[must_use]
    pub fn until_settled(self, time: Option<Duration>) -> Plan {
        let usual = || Plan { blocks: self.blocks.max(LEAST_BLOCKS), ..self.clone() };
        let time = time.unwrap_or_else(|| 2 * usual().agenda(0, 0).left());
        let plan = Plan { time: Some(time), until_settled: true, ..self };
        Plan { blocks: plan.most_blocks(), ..plan }
    }

    fn of_one(spec: &Spec, targets: usize, needs_maximum: bool) -> Plan {
        let bench = BenchPlan { name: String::new(), experiment: spec.clone(), targets, needs_maximum };
        Plan {
            effort: Effort::Full,
            unit: "%".into(),
            blocks: 1,
            benches: vec![bench],
            needs_all: true,
            ..Plan::default()
        }
    }

    /// Whether it searches for a maximum, which a closed loop does not have.
    pub fn needs_maximum(&self) -> bool {
        self.benches.iter().any(|bench| bench.needs_maximum)
    }

    /// Whether no part of it can be measured.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.pairs.is_empty()
    }

    /// The reference point of a series.
    pub(crate) fn reference_of(&self, series: &str) -> Option<usize> {
        let own = self.references.iter().position(|point| point.series == series);
        own.or(if self.references.len() == 1 { Some(0) } else { None })
    }

    /// A point in words: `memcached at 50 %`.
    pub(crate) fn place_of(&self, point: &Point) -> String {
        match &point.x {
            X::Number(x) if !self.unit.is_empty() => format!("{} at {x} {}", point.series, self.unit),
            x => format!("{} at {x}", point.series),
        }
    }

    /// The points measured on a bench, in words: a series, or its points.
    pub(crate) fn users_of(&self, bench: usize) -> String {
        let pairs = self.pairs.iter().flat_map(|pair| [&pair.first, &pair.second]);
        let all: Vec<&Point> = self.points.iter().chain(pairs).chain(&self.references).collect();
        let mut words: Vec<String> = Vec::new();
        for point in all.iter().filter(|point| point.bench == bench || point.of == bench) {
            let alone = all.iter().any(|other| other.series == point.series && other.bench != bench);
            let word = if alone { self.place_of(point) } else { point.series.clone() };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(", ")
    }
}

/// The load of `spec` on the only bench.
fn single(spec: &Spec, purpose: Purpose) -> Point {
    let x = X::Category(String::new());
    Point { series: String::new(), x, experiment: spec.clone(), purpose, bench: 0, of: 0 }
}
