use serde::{Deserialize, Serialize};
use units::{Nanos, Rate, SessionFigure};

use super::{Figure, Gate, Limit};
use crate::due::{Due, least_of_due};
use crate::{Arrivals, DistributionSummary, LatencySummary, Operation, Trial, Verdict};

/// Minimum share of answered requests for a meaningful mean, in per cent.
///
/// Source: over 0.1 % of errors make a trial of requests invalid; a trial of sessions stays valid with more.
const MEAN_ANSWERED: f64 = 99.9;

/// Result of a gate for a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateResult {
    /// The gate as specified.
    pub gate: String,
    /// The figure in `unit`; `None` if it does not exist.
    pub measured: Option<f64>,
    /// The limit in `unit`.
    pub limit: f64,
    /// `us`, `percent` or `rps`.
    pub unit: String,
    /// Whether the trial met it.
    pub passed: bool,
    /// Whether the server may still have met it: generator or host made the figure worse by an unknown amount.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// The result in words, with a reason if the figure alone does not explain it.
    pub words: String,
}

/// A figure: its value, or the reason why it is missing.
struct FigureValue {
    value: Result<f64, String>,
    /// Whether the value is a lower bound of the true figure.
    at_least: bool,
    /// Errors and requests, if errors (which count as slower than all others) moved the figure.
    errors: Option<(u64, u64)>,
}

impl Gate {
    /// Judges `trial` by the gate.
    pub fn evaluate(&self, trial: &Trial) -> GateResult {
        let found = self.find(trial);
        let (limit, unit) = match self.limit {
            Limit::Time(time) => (time.as_micros_f64(), "us"),
            Limit::Percent(percent) => (percent, "percent"),
            Limit::Rate(rate) => (rate.rps(), "rps"),
        };
        let holds = |value: f64| match (self.figure.is_cost(), self.inclusive) {
            (true, false) => value < limit,
            (true, true) => value <= limit,
            (false, false) => value > limit,
            (false, true) => value >= limit,
        };
        let met = found.value.as_ref().is_ok_and(|value| holds(*value));
        let doubt = self.doubt(trial);
        let passed = met && doubt.is_none();
        let says_nothing = trial.verdict.is_of_host() || trial.verdict.may_pass();
        // A defect that no disturbance explains, and an overload, are the server's.
        let may_hold = doubt.is_none() && self.may_hold(trial, &found.value, holds);
        let undecided = !passed && (says_nothing || may_hold);
        let says = match (passed, undecided) {
            (true, _) => "met",
            (false, true) => "undecided",
            (false, false) => "missed",
        };
        let mut words = match &found.value {
            Ok(value) => {
                let least = if found.at_least { "at least " } else { "" };
                format!("{self} {says}: {least}{}", self.in_words(*value))
            }
            Err(why) => format!("{self} {says}: {why}"),
        };
        if let (Ok(_), Some((errors, due))) = (&found.value, found.errors) {
            words.push_str(&format!(" ({errors} errors of {due} count as slower)"));
        }
        if trial.is_closed_loop() && self.figure.is_of_time() {
            words.push_str(" (closed loop, uncorrected)");
        }
        if let Some(doubt) = doubt {
            words.push_str(", but ");
            words.push_str(&doubt);
        } else if undecided {
            let bound = found.value.as_ref().ok().and_then(|value| self.bound(trial, *value));
            let end = if self.figure.is_cost() { "least" } else { "most" };
            match bound {
                Some(bound) => {
                    words.push_str(&format!(", at {end} {} without generator and host", self.in_words(bound)))
                }
                None if found.value.is_err() && self.is_hidden(trial) => {}
                None => words.push_str(", which generator or host may have made worse"),
            }
        }
        GateResult {
            gate: self.to_string(),
            measured: found.value.ok().filter(|value| value.is_finite()),
            limit,
            unit: unit.into(),
            passed,
            undecided,
            words,
        }
    }

    /// Bound of the figure `value` without generator and host, if known: the best that it may have been, as of a QoS target
    /// ([`Trial::judged`]). The longest time is at least the lower bound of the highest percentile that has bounds.
    fn bound(&self, trial: &Trial, value: f64) -> Option<f64> {
        let bounds = trial.bounds.as_ref()?;
        match (&self.figure, &self.operation) {
            (Figure::Percentile(percentile), None) => {
                let least_us = trial.percentile_least_us(*percentile)?;
                Some(least_of_due(least_us, trial.percentile_us(*percentile), value))
            }
            (Figure::Max, None) => bounds.percentiles.last().map(|known| known.bounds.low_us),
            (Figure::WindowedP99, None) => {
                Some(least_of_due(bounds.windowed_p99?.low_us, trial.windowed_p99_us, value))
            }
            (Figure::Ratio(name), _) if name == "within" && trial.slowed().is_some() => {
                Some(value.max(100.0 * bounds.within?))
            }
            _ => None,
        }
    }

    /// Whether a figure beyond the limit would meet it without the effects of generator and host, or a missing figure
    /// would exist if the generator had sent all due requests and the host had disturbed no window.
    fn may_hold(&self, trial: &Trial, value: &Result<f64, String>, holds: impl Fn(f64) -> bool) -> bool {
        match value {
            Err(_) => {
                let withheld = trial.generator.withheld.is_some_and(|of| of.arrivals > 0);
                (withheld || self.is_hidden(trial)) && trial.arrivals.failed() == 0
            }
            Ok(value) if !self.figure.suffers_delays() || !value.is_finite() => false,
            Ok(value) => match self.bound(trial, *value) {
                Some(bound) => holds(bound),
                None => trial.slowed().is_some() || self.is_of_all_windows(trial),
            },
        }
    }

    /// Whether the figure is that of all windows, although the trial rests on the undisturbed ones.
    fn is_of_all_windows(&self, trial: &Trial) -> bool {
        let of_operation = self.operation.as_ref().is_some_and(|name| trial.distribution(name).is_none());
        trial.rests_on_part() && (of_operation || matches!(self.figure, Figure::Within(_)))
    }

    /// Whether it is a percentile that all requests have, and those of the undisturbed windows, on which the trial rests,
    /// do not.
    fn is_hidden(&self, trial: &Trial) -> bool {
        let Figure::Percentile(percentile) = self.figure else { return false };
        // A little less, as 1 − 0.99 is.
        let beyond = trial.all.response_time.count as f64 * (1.0 - percentile / 100.0) + 1e-6;
        self.operation.is_none() && trial.rests_on_part() && beyond >= hist::MIN_BEYOND as f64
    }

    /// Why the gate fails even with a good figure.
    fn doubt(&self, trial: &Trial) -> Option<String> {
        match &trial.verdict {
            Verdict::Valid => None,
            Verdict::Overloaded { .. } if self.figure.is_of_time() => Some(
                "the server was overloaded: its response times grow with the length of the window".into(),
            ),
            Verdict::Overloaded { .. } => None,
            Verdict::Invalid { .. } => Some(format!("the trial is invalid ({})", trial.verdict.label())),
        }
    }

    fn find(&self, trial: &Trial) -> FigureValue {
        let exactly = |value| FigureValue { value, at_least: false, errors: None };
        if let Some(name) = self.operation.as_deref()
            && let Some(of) = trial.distribution(name)
        {
            return exactly(self.find_in(trial, name, of));
        }
        let all = &trial.all;
        let operation = match self.operation.as_deref() {
            None | Some("all") => Ok(all),
            Some(name) => operation(trial, name),
        };
        let operation = match operation {
            Ok(operation) => operation,
            Err(why) => return exactly(Err(why)),
        };
        let times = if self.operation.is_none() { trial.claimed() } else { &operation.response_time };
        let few = || format!("too few requests for it ({})", times.count);
        let is_all = matches!(self.operation.as_deref(), None | Some("all"));
        let outcomes = if is_all { Some(&trial.arrivals) } else { operation.outcomes.as_ref() };
        let due = match self.operation {
            None => trial.due(),
            Some(_) if is_all => Due { outcomes, times, curve: &trial.curve },
            Some(_) => operation.due(),
        };
        let at = |percentile: f64, us: Option<f64>| {
            answered(outcomes, percentile).and_then(|()| due.at_us(percentile, us).ok_or_else(few))
        };
        let value = match &self.figure {
            Figure::Percentile(percentile) if self.operation.is_none() => {
                let claimed = trial.claimed();
                if trial.rests_on_part() && claimed.percentile_us(*percentile).is_none() {
                    Err(format!(
                        "the trial rests on its undisturbed windows, of which only {} are kept",
                        LatencySummary::KEPT
                    ))
                } else {
                    at(*percentile, trial.percentile_us(*percentile))
                }
            }
            Figure::Percentile(percentile) => match times.percentile_us(*percentile) {
                Some(kept) => at(*percentile, kept),
                None => Err(format!("of one operation only {} are kept", LatencySummary::KEPT)),
            },
            Figure::WindowedP99 => answered(outcomes, 99.0).and_then(|()| {
                let few = || "too few requests for it: it takes three windows of 1000 each".into();
                trial.windowed_of_due(trial.windowed_p99_us).ok_or_else(few)
            }),
            Figure::Max => answered(outcomes, 100.0).and_then(|()| times.max_us.ok_or_else(few)),
            Figure::Mean => answered(outcomes, MEAN_ANSWERED).and_then(|()| times.mean_us.ok_or_else(few)),
            Figure::Within(target) => return within(trial, *target),
            Figure::Rate => throughput(trial, self.limit),
            Figure::Errors => errors(trial, operation, self.operation.is_some()),
            Figure::Ratio(name) => {
                let is_cost = self.figure.is_cost();
                let ratio = trial.ratio(name).map(|ratio| 100.0 * trial.believable(ratio, is_cost));
                ratio.ok_or_else(|| format!("the workload did not count {name}"))
            }
        };
        let answered_alone = match self.figure {
            Figure::Percentile(percentile) if self.operation.is_none() => trial.percentile_us(percentile),
            Figure::Percentile(percentile) => times.percentile_us(percentile).flatten(),
            Figure::WindowedP99 => trial.windowed_p99_us,
            _ => None,
        };
        // Mentioned if the figure prints differently without errors.
        let both = value.as_ref().ok().zip(answered_alone.as_ref());
        let differ = both.is_some_and(|(all, alone)| self.in_words(*all) != self.in_words(*alone));
        let errors = outcomes.filter(|_| differ).map(|of| (of.errors, of.intended));
        FigureValue { value, at_least: false, errors }
    }

    /// The figure of a distribution of sessions.
    fn find_in(&self, trial: &Trial, name: &str, of: &DistributionSummary) -> Result<f64, String> {
        let found = match self.figure {
            Figure::Percentile(percentile) => of.judged_us(percentile),
            Figure::Max => of.max_us,
            Figure::Mean => of.mean_us,
            _ => return Err("of what sessions measure only percentiles, max and mean are known".into()),
        };
        let few = || format!("too few samples for it ({})", of.count);
        trial.or_of_events(name, of, found).ok_or_else(few)
    }

    /// The measured `value` with its unit.
    fn in_words(&self, value: f64) -> String {
        match self.limit {
            Limit::Time(_) => Nanos((value * 1e3).round() as u64).to_string(),
            Limit::Percent(_) => {
                // Two digits more than the limit has: they show the side of a near miss.
                let digits =
                    self.limit.to_string().split_once('.').map_or(0, |(_, digits)| digits.len() - 1) + 2;
                let text = format!("{value:.digits$}");
                let text =
                    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
                format!("{text}%")
            }
            Limit::Rate(_) => {
                Rate::new(value).map_or_else(|_| format!("{value} rps"), |rate| rate.to_string())
            }
        }
    }
}

fn operation<'a>(trial: &'a Trial, name: &str) -> Result<&'a Operation, String> {
    trial.operations.iter().find(|operation| operation.name == name).ok_or_else(|| {
        if let Some(figure) = SessionFigure::named(name) {
            return format!("the workload measured no {}", figure.words);
        }
        let names: Vec<&str> = trial.operations.iter().map(|operation| operation.name.as_str()).collect();
        let there =
            if names.is_empty() { "tells none apart".into() } else { format!("has {}", names.join(", ")) };
        format!("no operation '{name}' was measured: the trial {there}")
    })
}

/// Errors: the request at the percentile failed and has no response time. At 100, the longest, any failure counts.
fn answered(of: Option<&Arrivals>, percentile: f64) -> Result<(), String> {
    match of.filter(|arrivals| arrivals.fail_beyond(percentile)) {
        Some(arrivals) => Err(format!(
            "{} of {} requests had no good answer: {} failed, {} timed out",
            arrivals.failed(),
            arrivals.intended,
            arrivals.errors,
            arrivals.timeouts
        )),
        None => Ok(()),
    }
}

/// The share within `target`, as counted, or else the least that the distribution allows.
fn within(trial: &Trial, target: Nanos) -> FigureValue {
    let target_us = target.as_micros_f64();
    if let Some(share) = trial.within_share(target_us) {
        return FigureValue { value: Ok(100.0 * share), at_least: false, errors: None };
    }
    let arrivals = &trial.arrivals;
    let known = trial.curve.iter().filter(|(_, us)| *us <= target_us).map(|(percentile, _)| *percentile);
    let value = match known.reduce(f64::max) {
        _ if arrivals.intended == 0 => Err("no request was due".into()),
        _ if trial.curve.is_empty() => Err("it was not counted, and the trial kept no distribution".into()),
        least => {
            let within = least.unwrap_or(0.0) * trial.all.response_time.count as f64 / 100.0;
            // The curve counts time-outs at their age; an unanswered request is not within the limit.
            Ok(100.0 * within.min(arrivals.completed as f64) / arrivals.intended as f64)
        }
    };
    FigureValue { value, at_least: true, errors: None }
}

/// Relative to the arrivals due in the window rather than to the specified rate: Poisson arrivals vary, and with few
/// requests by more than a gate allows.
fn throughput(trial: &Trial, limit: Limit) -> Result<f64, String> {
    match limit {
        Limit::Rate(_) => Ok(trial.achieved_rps),
        _ if trial.is_closed_loop() => Err("a closed loop offers no load that it could fall short of".into()),
        _ if trial.arrivals.intended == 0 => Err("no request was due".into()),
        _ => Ok(100.0 * trial.achieved_rps * trial.window_s / trial.arrivals.intended as f64),
    }
}

fn errors(trial: &Trial, operation: &Operation, apart: bool) -> Result<f64, String> {
    let arrivals = match (apart, &operation.outcomes) {
        (false, _) => &trial.arrivals,
        (true, Some(outcomes)) => outcomes,
        (true, None) => return Err("the trial did not count the errors of its operations".into()),
    };
    if arrivals.intended == 0 {
        return Err("no request was due".into());
    }
    Ok(100.0 * arrivals.failed() as f64 / arrivals.intended as f64)
}
