//! Judges a trial by a QoS target.

use units::{Condition, Qos, QosBasis, ResponseTarget, SessionFigure};

use crate::due::least_of_due;
use crate::{DistributionSummary, Trial};

/// Result of one condition of a target in a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged<'a> {
    /// The condition.
    pub condition: &'a Condition,
    /// The figure; `None` if it was not measured or rests on too few samples; infinite if the request at the percentile
    /// failed and has no response time. Units: µs, or per cent of a ratio.
    pub measured: Option<f64>,
    /// Lower bound of the figure without generator and host, which only make times longer and misses more; `None` if
    /// their effect is insignificant or unknown.
    pub least: Option<f64>,
    /// Whether it is only an upper bound: the server may be better.
    slowed: bool,
}

impl Judged<'_> {
    /// The limit. Units: as the figure's.
    pub fn limit(&self) -> f64 {
        match self.condition {
            Condition::ResponseTime(ResponseTarget { limit_ns, .. }) | Condition::Times { limit_ns, .. } => {
                limit_ns.as_micros_f64()
            }
            Condition::Ratio { limit_percent, .. } => *limit_percent,
        }
    }

    /// Whether it holds; `None` if that is unknown, or if the server may be better than measured.
    pub fn met(&self) -> Option<bool> {
        let (least, used) = self.used_bounds()?;
        if used <= 1.0 {
            return Some(true);
        }
        (least > 1.0).then_some(false)
    }

    /// The used share of the limit: 1 is the limit itself, more misses it.
    ///
    /// For a ratio with a minimum, the shortfall from 1 over the permitted shortfall.
    pub fn used(&self) -> Option<f64> {
        Some(self.used_by(self.measured.filter(|measured| !measured.is_nan())?))
    }

    /// Bounds of the used share without generator and host: the lower one is 0 if nothing is known of their effect, the
    /// upper one is [`Judged::used`].
    fn used_bounds(&self) -> Option<(f64, f64)> {
        let used = self.used()?;
        let unknown = if self.slowed { 0.0 } else { used };
        Some((self.least.map_or(unknown, |least| self.used_by(least)), used))
    }

    fn used_by(&self, figure: f64) -> f64 {
        let limit = self.limit();
        let used = if self.is_at_most() { figure / limit } else { (100.0 - figure) / (100.0 - limit) };
        // A limit of 0 leaves no share of it.
        let used = if used.is_nan() { 0.0 } else { used.min(f64::MAX) };
        let holds = if self.is_at_most() { figure <= limit } else { figure >= limit };
        if holds { used.min(1.0) } else { used.max(1.0 + f64::EPSILON) }
    }

    fn is_at_most(&self) -> bool {
        !matches!(self.condition, Condition::Ratio { at_most: false, .. })
    }
}

impl Trial {
    /// Results of each condition of `qos`.
    ///
    /// `basis` is the experiment's choice for a plain p99.
    pub fn judged<'a>(&'a self, qos: &'a Qos, basis: QosBasis) -> impl Iterator<Item = Judged<'a>> + use<'a> {
        let measured = move |condition: &Condition| match condition {
            Condition::ResponseTime(target) => {
                let us = self.qos_figure_us(target, basis);
                match target.basis.unwrap_or(basis) {
                    QosBasis::Windowed => self.windowed_of_due(us),
                    QosBasis::Raw => self.due().at_us(target.percentile, us),
                }
            }
            Condition::Times { name, percentile, .. } => {
                let us = self.times_us(name, *percentile);
                let operation = self.operations.iter().find(|operation| operation.name == *name);
                operation.map_or(us, |operation| operation.due().at_us(*percentile, us))
            }
            Condition::Ratio { name, at_most, .. } => {
                self.ratio(name).map(|ratio| 100.0 * self.believable(ratio, *at_most))
            }
        };
        let least = move |condition: &Condition, measured: Option<f64>| match condition {
            // If the request at the percentile failed, it has no response time, whatever the host did.
            Condition::ResponseTime(target) => {
                let measured = measured.filter(|us| us.is_finite())?;
                let least = match target.basis.unwrap_or(basis) {
                    QosBasis::Windowed => self.qos_bounds(target, basis).map(|bounds| bounds.low_us),
                    QosBasis::Raw => self.percentile_least_us(target.percentile),
                };
                Some(least_of_due(least?, self.qos_figure_us(target, basis), measured))
            }
            Condition::Ratio { name, at_most: false, .. } if name == "within" && self.slowed().is_some() => {
                let most = 100.0 * self.bounds.as_ref()?.within?;
                Some(measured?.max(most))
            }
            _ => None,
        };
        qos.conditions().iter().map(move |condition| {
            let measured = measured(condition);
            let slowed = self.is_upper_bound(condition) && measured.is_none_or(f64::is_finite);
            Judged { condition, measured, least: least(condition, measured), slowed }
        })
    }

    /// Whether delays by generator or host may have made the figure of a condition worse.
    fn is_upper_bound(&self, condition: &Condition) -> bool {
        let slowed = self.slowed().is_some();
        match condition {
            Condition::ResponseTime(_) => slowed,
            // An operation's times are those of all windows, whichever the trial rests on.
            Condition::Times { name, .. } => {
                slowed || self.rests_on_part() && self.operations.iter().any(|one| one.name == *name)
            }
            Condition::Ratio { name, .. } => slowed && suffers_delays(name),
        }
    }

    /// Whether all conditions of `qos` hold: a single missed one decides; `None` if none is missed and one is unknown.
    pub fn meets(&self, qos: &Qos, basis: QosBasis) -> Option<bool> {
        let each: Vec<Option<bool>> = self.judged(qos, basis).map(|judged| judged.met()).collect();
        if each.contains(&Some(false)) {
            return Some(false);
        }
        each.iter().all(Option::is_some).then_some(true)
    }

    /// The largest used share of any condition's limit: `qos` is met up to 1. `None` as in [`Trial::meets`].
    pub fn qos_used(&self, qos: &Qos, basis: QosBasis) -> Option<f64> {
        self.meets(qos, basis)?;
        self.judged(qos, basis).filter_map(|judged| judged.used()).reduce(f64::max)
    }

    /// Bounds of [`Trial::qos_used`] without generator and host: `qos` is met if the second is at most 1, and missed if
    /// the first is more. `None` if a condition was not measured and no other was missed.
    pub fn qos_used_bounds(&self, qos: &Qos, basis: QosBasis) -> Option<(f64, f64)> {
        let each: Vec<Option<(f64, f64)>> =
            self.judged(qos, basis).map(|judged| judged.used_bounds()).collect();
        let is_missed = each.iter().flatten().any(|(least, _)| *least > 1.0);
        let known = is_missed || !each.contains(&None);
        each.into_iter().flatten().filter(|_| known).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// The response time that `target` judges.
    ///
    /// `basis` is the choice of the experiment for targets without one of their own. `None` with too few samples.
    pub fn qos_figure_us(&self, target: &ResponseTarget, basis: QosBasis) -> Option<f64> {
        match target.basis.unwrap_or(basis) {
            QosBasis::Windowed => self.windowed_p99_us.or(self.claimed().p99_us),
            QosBasis::Raw => self.percentile_us(target.percentile),
        }
    }

    /// A distribution that the workload measured of its sessions, by name.
    pub fn distribution(&self, name: &str) -> Option<&DistributionSummary> {
        self.sessions.as_ref()?.distributions.get(SessionFigure::named(name).map_or(name, |of| of.record))
    }

    /// A percentile of named times: the response times of an operation, or a distribution.
    ///
    /// `None` if the name is unknown, if fewer than 10 samples lie beyond the percentile (for a distribution: no
    /// sample), or if it is not kept for an operation. Events that need not happen, such as stalls, are judged by the
    /// longest if they are few, and are 0 without an event if any step was completed.
    pub fn times_us(&self, name: &str, percentile: f64) -> Option<f64> {
        if let Some(operation) = self.operations.iter().find(|operation| operation.name == name) {
            return operation.response_time.percentile_us(percentile).flatten();
        }
        let of = self.distribution(name)?;
        self.or_of_events(name, of, of.judged_us(percentile))
    }

    /// A figure of a distribution. Without one, events have the longest, or 0 if none happened although requests were
    /// completed.
    pub(crate) fn or_of_events(&self, name: &str, of: &DistributionSummary, us: Option<f64>) -> Option<f64> {
        let is_event = SessionFigure::named(name).is_some_and(|figure| figure.is_event);
        us.or_else(|| (is_event && self.arrivals.completed > 0).then(|| of.max_us.unwrap_or(0.0)))
    }

    /// The ratio to judge: if no request was completed, no count can meet a target; a share with a minimum is capped at
    /// 1.
    pub(crate) fn believable(&self, ratio: f64, at_most: bool) -> f64 {
        let nothing = self.arrivals.intended > 0 && self.arrivals.completed == 0;
        match (at_most, nothing) {
            (true, true) => ratio.max(1.0),
            (true, false) => ratio,
            (false, true) => 0.0,
            (false, false) => ratio.min(1.0),
        }
    }

    /// A ratio that the workload counted, 0 to 1, by its typed or recorded name.
    ///
    /// If the workload does not count misses, each step that was due and not completed is a miss.
    pub fn ratio(&self, name: &str) -> Option<f64> {
        let record = SessionFigure::ratio(name).map_or(name, |figure| figure.record);
        let counted = self.counters.get(record).copied();
        counted.or_else(|| (record == "misses" && self.sessions.is_some()).then(|| self.missed()).flatten())
    }

    /// The share of due steps that were not completed.
    fn missed(&self) -> Option<f64> {
        let due = self.arrivals.intended;
        (due > 0).then(|| due.saturating_sub(self.arrivals.completed) as f64 / due as f64)
    }
}

/// Whether delays make a ratio worse; what a cache holds does not depend on them.
pub(crate) fn suffers_delays(ratio: &str) -> bool {
    ratio != "hit_ratio"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, LatencySummary, Operation, Sessions};

    /// Of sessions: p95 of the start-up delay 1.5 s, 2 % rebuffering, 10 of 1000 chunks missed.
    fn trial() -> Trial {
        let startup = DistributionSummary {
            count: 1_000,
            p50_us: Some(0.4e6),
            p95_us: Some(1.5e6),
            p99_us: Some(2.5e6),
            ..DistributionSummary::default()
        };
        let mut trial = Trial {
            sessions: Some(Sessions {
                distributions: [("startup".to_owned(), startup)].into(),
                ..Sessions::default()
            }),
            arrivals: Arrivals { intended: 1_000, completed: 990, timeouts: 10, ..Arrivals::default() },
            counters: [("rebuffer_ratio".to_owned(), 0.02), ("sessions_met".to_owned(), 0.9)].into(),
            operations: vec![Operation {
                name: "240p".into(),
                response_time: LatencySummary {
                    p99_us: Some(3e6),
                    max_us: Some(3.5e6),
                    ..LatencySummary::default()
                },
                ..Operation::default()
            }],
            ..Trial::default()
        };
        trial.all.response_time =
            LatencySummary { count: 1_000, p99_us: Some(4e6), ..LatencySummary::default() };
        trial
    }

    #[test]
    fn each_condition_is_judged_in_its_direction() {
        let check = |qos: &str, met: Option<bool>, used: Option<f64>| {
            let qos: Qos = qos.parse().unwrap();
            let trial = trial();
            assert_eq!(trial.meets(&qos, QosBasis::Raw), met, "{qos}");
            let got = trial.qos_used(&qos, QosBasis::Raw);
            let close = got.zip(used).is_some_and(|(got, used)| (got - used).abs() < 1e-9);
            assert!(close || got == used, "{qos}: {got:?}");
        };
        check("startup<2s", Some(true), Some(0.75));
        check("startup.p99<2s", Some(false), Some(1.25));
        check("rebuffer<1%", Some(false), Some(2.0));
        check("rebuffer<2%", Some(true), Some(1.0));
        check("met>90%", Some(true), Some(1.0));
        check("met>80%", Some(true), Some(0.5));
        check("met>95%", Some(false), Some(2.0));
        check("misses<=1%", Some(true), Some(1.0));
        check("misses<0%", Some(false), Some(f64::MAX));
        check("met>100%", Some(false), Some(f64::MAX));
        check("240p.p99<4s", Some(true), Some(0.75));
        check("p99<8s", Some(true), Some(0.5));
        // The most severe condition decides; a missed condition outweighs an unknown one.
        check("startup<2s,misses<2%", Some(true), Some(0.75));
        check("startup<2s,rebuffer<1%", Some(false), Some(2.0));
        check("abandoned<1%,rebuffer<1%", Some(false), Some(2.0));
        check("abandoned<1%,startup<2s", None, None);
        check("startup.p90<2s", None, None);
        check("480p.p99<2s", None, None);
        check("stall<2s", None, None);
    }

    #[test]
    fn a_share_that_no_disturbance_explains_is_missed() {
        let check = |within: f64, most: Option<f64>, met: Option<bool>| {
            let mut trial = trial();
            trial.counters.insert("within".into(), within);
            let slowed = crate::Invalid { reason: crate::Reason::HostDisturbed, detail: "3 %".into() };
            trial.bounds =
                Some(crate::TimeBounds { within: most, slowed: Some(slowed), ..Default::default() });
            let qos: Qos = "within>=95%".parse().unwrap();
            assert_eq!(trial.meets(&qos, QosBasis::Raw), met, "{within} {most:?}");
        };
        check(0.2, Some(0.3), Some(false));
        check(0.94, Some(0.96), None);
        check(0.2, None, None);
        check(0.96, Some(0.99), Some(true));
    }

    #[test]
    fn what_failed_has_no_response_time() {
        let check = |of: (u64, u64, u64), qos: &str, met: Option<bool>, used: Option<f64>| {
            let (intended, errors, timeouts) = of;
            let outcomes = Arrivals { intended, errors, timeouts, ..Arrivals::default() };
            let mut trial = trial();
            (trial.arrivals, trial.operations[0].outcomes) = (outcomes, Some(outcomes));
            let qos: Qos = qos.parse().unwrap();
            assert_eq!(trial.meets(&qos, QosBasis::Raw), met, "{of:?} {qos}");
            let got = trial.qos_used(&qos, QosBasis::Raw);
            assert_eq!(got.map(|used| used.min(9.0)), used, "{of:?} {qos}");
        };
        // If 1 in 100 failed, the longest of the others is at the p99 of all.
        check((1_000, 0, 10), "240p.p99<4s", Some(true), Some(0.75));
        check((1_000, 10, 0), "240p.p99<4s", Some(true), Some(0.875));
        check((1_000, 10, 0), "240p.p99<3.2s", Some(false), Some(1.09375));
        check((1_000, 11, 0), "240p.p99<4s", Some(false), Some(9.0));
        check((1_000, 5, 6), "p99<8s", Some(false), Some(9.0));
        check((1_000, 50, 0), "startup<2s", Some(true), Some(0.75));
        // 154 visitors of 192 had no response, and the others are too few for a percentile.
        check((192, 0, 154), "240p.p95<4s", Some(false), Some(9.0));
        check((192, 0, 9), "240p.p95<4s", None, None);
        check((0, 0, 0), "240p.p99<4s", Some(true), Some(0.75));
    }

    #[test]
    fn a_server_that_never_stalls_meets_a_target_on_stalls() {
        let check = |stalls: &[f64], qos: &str, met: Option<bool>| {
            let mut trial = trial();
            let mut values = hist::Latency::new();
            stalls.iter().for_each(|seconds| values.record(units::Nanos((seconds * 1e9) as u64)));
            let of = DistributionSummary::of(&values, None);
            trial.sessions.as_mut().unwrap().distributions.insert("stall".into(), of);
            assert_eq!(trial.meets(&qos.parse().unwrap(), QosBasis::Raw), met, "{stalls:?} {qos}");
            trial.arrivals.completed = 0;
            assert_ne!(trial.meets(&qos.parse().unwrap(), QosBasis::Raw), Some(true), "nothing was shown");
        };
        check(&[], "stall<2s", Some(true));
        check(&[1.0], "stall<2s", Some(true));
        // With few samples, the longest is the 95th percentile.
        check(&[0.5, 1.0, 5.0], "stall<2s", Some(false));
    }

    #[test]
    fn no_count_makes_a_ratio_hold_where_nothing_was_completed() {
        let check = |qos: &str, counter: (&str, f64), completed: u64, met: Option<bool>| {
            let mut trial = trial();
            trial.counters.insert(counter.0.into(), counter.1);
            trial.arrivals.completed = completed;
            assert_eq!(
                trial.meets(&qos.parse().unwrap(), QosBasis::Raw),
                met,
                "{qos} {counter:?} {completed}"
            );
        };
        check("met>95%", ("sessions_met", 1.0), 10, Some(true));
        check("met>95%", ("sessions_met", 1.0), 0, Some(false));
        check("misses<1%", ("misses", 0.0), 10, Some(true));
        check("misses<1%", ("misses", 0.0), 0, Some(false));
        // A share above 1 is a miscount, and counts as 1.
        let mut trial = trial();
        trial.counters.insert("sessions_met".into(), 1.7);
        let qos: Qos = "met>95%".parse().unwrap();
        assert_eq!(trial.judged(&qos, QosBasis::Raw).next().unwrap().measured, Some(100.0));
    }

    #[test]
    fn misses_are_the_workloads_own_where_it_counts_them() {
        let mut trial = trial();
        assert_eq!(trial.ratio("misses"), Some(0.01));
        trial.counters.insert("misses".into(), 0.25);
        assert_eq!(trial.ratio("misses"), Some(0.25));
        assert_eq!((trial.ratio("rebuffer"), trial.ratio("rebuffer_ratio")), (Some(0.02), Some(0.02)));
        // Requests outside of sessions have errors.
        trial.counters.clear();
        trial.sessions = None;
        assert_eq!(trial.ratio("misses"), None);
    }
}
