//! The summary of a single load: the same on the page's first screen and on a terminal.

use std::collections::BTreeMap;

use results::{Basis, Experiment, Kind, LoadPoint, Metric, Quota, Reason, Trial, Verdict};

use crate::distinct;
use crate::headline::overloaded;
use crate::load::LoadUnit;
use crate::load_point::{met, response_time};
use crate::measure::Target;
use crate::notes::{beyond_any_server, verdicts_in_all};
use crate::number;
use crate::page::typical;
use crate::subject::{CLOSED, Subject};

/// The response times that are shown.
pub(crate) const SHOWN: [Metric; 4] = [Metric::P50, Metric::P99, Metric::WindowedP99, Metric::P999];
/// The least share of the processors' time by others that is reported.
const TAKEN: f64 = 0.01;
/// The least share of one processor from which a program is worth stopping, and of a quota's periods from which it is
/// worth raising.
///
/// Source: foreign load that disturbs a window (`crates/trial/src/noise.rs`).
const BUSY: f64 = 0.1;
/// Repeats from which differences can be judged.
const ENOUGH: usize = 6;

/// A result of one target at one load.
pub(crate) struct OneLoad<'a> {
    experiment: &'a Experiment,
    pub subject: &'a Subject<'a>,
    pub point: &'a LoadPoint<'a>,
    target: &'a Target,
}

/// How far to trust the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confidence {
    /// Each figure is one number.
    High,
    /// Some figures are known by their bounds only.
    Bounds,
    /// No trial is usable.
    None,
}

impl Confidence {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Confidence::High => "high",
            Confidence::Bounds => "bounds only",
            Confidence::None => "none",
        }
    }
}

impl<'a> OneLoad<'a> {
    /// `experiment` as one load; `None` if it has several loads or targets, or no trial.
    pub(crate) fn of(
        experiment: &'a Experiment,
        subjects: &'a [Subject<'a>],
        target: &'a Target,
    ) -> Option<OneLoad<'a>> {
        let [subject] = subjects else { return None };
        let [point] = subject.points.as_slice() else { return None };
        (experiment.kind == Kind::Load).then_some(OneLoad { experiment, subject, point, target })
    }

    /// The trials behind the figures.
    fn counted(&self) -> Vec<&'a Trial> {
        let usable: Vec<&Trial> = self.point.usable().collect();
        if usable.is_empty() { self.point.trials.clone() } else { usable }
    }

    /// Target, workload and load: `sphinx, cache at 20.0 krps`.
    pub(crate) fn title(&self) -> String {
        let workload = self.point.trials.iter().find_map(|trial| trial.spec.as_ref());
        let workload = workload.map_or(String::new(), |spec| format!(", {}", spec.workload.name()));
        let rate = LoadUnit::of_point(self.point).rate(Some(self.point.offered_rps));
        let closed = if self.subject.is_closed() { format!(" ({CLOSED})") } else { String::new() };
        format!("{}{workload} at {rate}{closed}", self.subject.name)
    }

    /// The judgement by the target: `met windowed p99 ≤ 1 ms`.
    pub(crate) fn judgement(&self) -> String {
        if self.confidence() == Confidence::None {
            return "no usable figures".into();
        }
        let overloaded = overloaded(self.point);
        let words = match (met(self.point, self.target), typical(self.point)) {
            (Some(false), Some(trial)) => return format!("missed {}{overloaded}", self.target.missed(trial)),
            (Some(false), None) => "missed",
            (Some(true), _) => "met",
            (None, _) if self.point.is_bounded() => "undecided:",
            (None, _) => "not judged:",
        };
        format!("{words} {}{overloaded}", self.target.words())
    }

    /// Each response time with its name: one number if its bounds are close, else both.
    pub(crate) fn times(&self) -> impl Iterator<Item = (&'static str, String)> {
        SHOWN.into_iter().map(|metric| (metric.words(), response_time(self.point, metric)))
    }

    /// Hit ratio and errors, in words.
    pub(crate) fn answers(&self) -> String {
        let hits = self.point.told(|trial| trial.counters.get("hit_ratio").copied());
        let hits =
            hits.map_or(String::new(), |share| format!("hit ratio {}; ", number::percent_of_all(share)));
        format!("{hits}{}", self.errors())
    }

    /// The number of failed requests, by kind.
    pub(crate) fn errors(&self) -> String {
        let trials = self.counted();
        let sum = |of: fn(&Trial) -> u64| trials.iter().map(|trial| of(trial)).sum::<u64>();
        let (due, failed) = (sum(|trial| trial.arrivals.intended), sum(|trial| trial.arrivals.failed()));
        let of = format!("in {} requests", number::count(due));
        if failed == 0 {
            return if due == 0 { "no requests".into() } else { format!("no errors {of}") };
        }
        let mut kinds: BTreeMap<&str, (u64, Option<&str>)> = BTreeMap::new();
        for error in trials.iter().flat_map(|trial| &trial.errors) {
            let kind = kinds.entry(&error.kind).or_insert((0, error.first_detail.as_deref()));
            kind.0 += error.count;
        }
        let mut kinds: Vec<_> = kinds.into_iter().filter(|(_, (count, _))| *count > 0).collect();
        kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let kinds = kinds.iter().take(3).map(|(kind, (count, detail))| {
            let detail = detail.map_or(String::new(), |detail| format!(" ({detail})"));
            format!("{} {}{detail}", number::count(*count), kind.replace('_', " "))
        });
        let kinds: Vec<String> = kinds.collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
        let share = number::percent(failed as f64 / due.max(1) as f64);
        format!("{} errors ({share}) {of}{kinds}", number::count(failed))
    }

    /// How far to trust the figures.
    pub(crate) fn confidence(&self) -> Confidence {
        if self.point.usable().next().is_none() {
            return Confidence::None;
        }
        let bounded = |metric| self.point.bounds(metric).is_some_and(|bounds| !bounds.is_usable());
        if !self.point.overloaded() && SHOWN.into_iter().any(bounded) {
            Confidence::Bounds
        } else {
            Confidence::High
        }
    }

    /// The trials and windows that the figures rest on.
    pub(crate) fn basis(&self) -> String {
        let mut parts = Vec::new();
        let (all, usable) = (self.point.trials.len(), self.point.usable().count());
        if usable == 0
            && let [trial] = &self.point.trials[..]
            && let Verdict::Invalid { reasons } = &trial.verdict
        {
            // For a disturbed host, the rest of the line gives the details.
            parts.push(match reasons.first() {
                Some(first) if first.reason == Reason::HostDisturbed => first.reason.words().to_owned(),
                Some(first) => format!("{}: {}", first.reason.words(), first.detail),
                None => "the trial is invalid".into(),
            });
        } else if all > 1 {
            let verdicts = verdicts_in_all(self.point.trials.iter().map(|trial| &trial.verdict), "trial");
            parts.push(match usable {
                _ if usable == all => format!("medians of {all} trials"),
                0 | 1 => verdicts,
                _ => format!("medians of the {usable} usable of {verdicts}"),
            });
        }
        parts.extend(self.windows());
        parts.extend(self.taken());
        parts.extend(self.withheld());
        parts.join("; ")
    }

    fn windows(&self) -> Option<String> {
        let trials = self.counted();
        let known = || trials.iter().filter_map(|trial| trial.disturbance.as_ref());
        let (all, quiet) = match known().next() {
            Some(_) => {
                known().fold((0, 0), |(all, quiet), of| (all + of.windows, quiet + of.undisturbed_windows))
            }
            None => {
                let all: u64 = trials.iter().map(|trial| trial.windows.len() as u64).sum();
                (all, all - all.min(trials.iter().map(|trial| trial.noise.disturbed_windows).sum()))
            }
        };
        let alone = known().any(|of| of.basis == Basis::UndisturbedWindows);
        let rests = if alone { ", on which the figures rest" } else { "" };
        (all > 0).then(|| match all - quiet.min(all) {
            0 => format!("none of {} windows disturbed", number::count(all)),
            _ => format!("{} of {} windows undisturbed{rests}", number::count(quiet), number::count(all)),
        })
    }

    /// The processor time of other programs, and their names.
    fn taken(&self) -> impl Iterator<Item = String> {
        let trials = &self.point.trials;
        let most = |read: &dyn Fn(&Trial) -> Option<f64>| {
            trials.iter().filter_map(|trial| read(trial)).fold(0.0, f64::max)
        };
        let share = most(&|trial| trial.noise.taken_share());
        let steal = most(&|trial| trial.noise.steal_share);
        let hypervisor = match steal {
            TAKEN.. => format!(", the hypervisor {} of it", number::percent(steal)),
            _ => String::new(),
        };
        let taken = (share >= TAKEN)
            .then(|| format!("others took {} of the processors{hypervisor}", number::percent(share)));
        let programs = self.programs().into_iter();
        let programs: Vec<String> =
            programs.map(|(name, processors)| format!("{name} {}", number::percent(processors))).collect();
        let programs =
            (!programs.is_empty()).then(|| format!("programs, of one processor: {}", programs.join(", ")));
        // The verdict of a single trial is printed whole.
        let printed = |quota: &String| matches!(trials[..], [one] if one.verdict.to_string().contains(quota));
        let quota = self.quota().map(ToString::to_string).filter(|quota| !printed(quota));
        [taken, quota, programs].into_iter().flatten()
    }

    /// The programs that ran during the trials, with the most that each used of one processor.
    fn programs(&self) -> Vec<(&'a str, f64)> {
        let mut most: BTreeMap<&str, f64> = BTreeMap::new();
        for program in self.point.trials.iter().flat_map(|trial| &trial.noise.programs) {
            let known = most.entry(&program.name).or_default();
            *known = known.max(program.processors);
        }
        let mut programs: Vec<_> = most.into_iter().collect();
        programs.sort_by(|a, b| b.1.total_cmp(&a.1));
        programs.truncate(3);
        programs
    }

    /// The quota that held back server or generator most often in a trial.
    fn quota(&self) -> Option<&'a Quota> {
        let all = self.point.trials.iter().filter_map(|trial| trial.noise.worst_quota());
        all.max_by(|a, b| a.held_back_share().total_cmp(&b.held_back_share()))
    }

    /// The advice to raise a quota that held back a side often enough to matter.
    fn raise_quota(&self) -> Option<String> {
        let quota = self.quota().filter(|quota| quota.held_back_share() >= BUSY)?;
        Some(format!(
            "raise the quota of {:.2} processors in {}, or offer less",
            quota.processors, quota.file
        ))
    }

    fn withheld(&self) -> Option<String> {
        let shares = self.point.trials.iter().filter_map(|trial| Some(trial.generator.withheld?.share));
        let most = shares.fold(0.0, f64::max);
        (most > 0.0).then(|| {
            format!("{} of the arrivals not sent while the generator was absent", number::percent(most))
        })
    }

    /// How to improve the answer, or the next question to ask.
    pub(crate) fn advice(&self) -> String {
        match self.confidence() {
            Confidence::None => self.remedy(),
            _ if self.point.overloaded() => {
                let achieved = self.point.told(|trial| Some(trial.achieved_rps));
                format!(
                    "the server does not keep up{}; it answered {}. Offer less, or let taillight peak find the limit",
                    self.quota().map_or(String::new(), |quota| format!(" ({quota})")),
                    number::rate(achieved)
                )
            }
            _ if met(self.point, self.target) == Some(false)
                && let Some(why) = beyond_any_server(self.experiment) =>
            {
                why
            }
            Confidence::Bounds => self.quieter(),
            Confidence::High if self.point.trials.len() < ENOUGH => {
                format!("--repeats {ENOUGH} shows how much it differs from run to run")
            }
            Confidence::High => "taillight sweep shows other loads".into(),
        }
    }

    /// How to make a load usable.
    fn remedy(&self) -> String {
        let of_host = self.point.trials.iter().any(|trial| trial.verdict.is_of_host());
        let reason = typical(self.point).and_then(|trial| match &trial.verdict {
            Verdict::Invalid { reasons } => reasons.first().map(|first| first.reason),
            _ => None,
        });
        match reason {
            _ if of_host => self.quieter(),
            Some(Reason::HostDisturbed | Reason::GeneratorLag | Reason::ReceiveLag) => self.quieter(),
            Some(Reason::GeneratorSaturated | Reason::RateMissed) if self.raise_quota().is_some() => self.quieter(),
            Some(Reason::GeneratorSaturated | Reason::RateMissed) => {
                "the generator is the limit: offer less, or give it more --threads, processors (--cpus) or machines (--agents)".into()
            }
            Some(Reason::ErrorRate | Reason::FillFailed | Reason::VerifyFailed | Reason::ServiceEnded) => {
                "see that the server runs and answers what it is asked for; the report has each kind of error".into()
            }
            Some(Reason::NotSteady) => "measure after a longer --warmup".into(),
            _ => "run it again; the report has the reason".into(),
        }
    }

    /// How to reduce the disturbance.
    fn quieter(&self) -> String {
        let steal = self.point.trials.iter().filter_map(|trial| trial.noise.steal_share).fold(0.0, f64::max);
        let generator = self.point.trials.iter().flat_map(|trial| &trial.generator.cpus);
        let server = self.subject.target.map_or(&[][..], |target| &target.cpus);
        let shared = generator.into_iter().any(|cpu| server.contains(cpu));
        let busy = self.programs().into_iter().filter(|(_, processors)| *processors >= BUSY);
        let programs: Vec<&str> = busy.map(|(name, _)| name).collect();
        if let Some(advice) = self.raise_quota() {
            advice
        } else if !programs.is_empty() {
            format!("stop {}, then measure again", programs.join(", "))
        } else if steal >= TAKEN {
            "measure at another time or on another machine: the hypervisor takes the processors".into()
        } else if shared {
            "give server and generator processors of their own (--server-cpus, --cpus)".into()
        } else {
            "measure again when the machine is quieter, or on processors that nothing else uses (--server-cpus, --cpus)".into()
        }
    }

    /// Each gate with how many trials met it: `gate p99<1ms: met` of one trial, `met by 2 of 3 trials` of several.
    pub(crate) fn gates(&self) -> Vec<(bool, String)> {
        let all = || self.point.trials.iter().flat_map(|trial| &trial.gates);
        let line = |gate: &String| {
            let of: Vec<_> = all().filter(|other| other.gate == *gate).collect();
            let passed = of.iter().filter(|gate| gate.passed).count();
            let words = match of[..] {
                [one] => format!("gate {}", one.words),
                _ => {
                    let all = number::plural(of.len(), "trial");
                    let undecided = match of.iter().filter(|gate| gate.undecided).count() {
                        0 => String::new(),
                        undecided => format!(", undecided in {undecided}"),
                    };
                    format!("gate {gate}: met by {passed} of {all}{undecided}")
                }
            };
            (passed == of.len(), words)
        };
        distinct(all().map(|gate| &gate.gate)).into_iter().map(line).collect()
    }
}
