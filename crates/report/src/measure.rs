//! The figures of a trial that are drawn as curves, each with one look on every page.

use std::rc::Rc;

use results::{Bounds, LoadPoint, Metric, Trial};
use units::{Condition, Nanos, Qos, QosBasis, ResponseTarget, SESSION_PERCENTILE, SessionFigure};

use crate::figure::Shape;
use crate::number;

/// A figure of a trial: its name, its look, and how to read it.
#[derive(Clone)]
pub(crate) struct Measure {
    /// The name at the end of its line.
    pub label: String,
    /// The style class: colour and dash. Each percentile has the same hue everywhere; dashes distinguish raw from
    /// windowed.
    pub class: &'static str,
    /// The marker, so that colour is never alone.
    pub shape: Shape,
    read: Read<f64>,
    bounds: Read<Bounds>,
}

/// Reads a figure from a trial; shared, since a measure is drawn for several subjects.
type Read<T> = Rc<dyn Fn(&Trial) -> Option<T>>;

impl Measure {
    pub(crate) fn new(
        label: impl Into<String>,
        class: &'static str,
        shape: Shape,
        read: impl Fn(&Trial) -> Option<f64> + 'static,
    ) -> Measure {
        Measure { label: label.into(), class, shape, read: Rc::new(read), bounds: Rc::new(|_| None) }
    }

    /// The same with the figure's bounds without generator and host.
    fn within(self, bounds: impl Fn(&Trial) -> Option<Bounds> + 'static) -> Measure {
        Measure { bounds: Rc::new(bounds), ..self }
    }

    /// The bounds of `trial`'s figure, if they are too far apart for one number.
    pub(crate) fn bounds(&self, trial: &Trial) -> Option<Bounds> {
        (self.bounds)(trial).filter(|bounds| !bounds.is_usable())
    }

    /// The figure of `trial`; `None` if not measured.
    pub(crate) fn of(&self, trial: &Trial) -> Option<f64> {
        (self.read)(trial).filter(|value| value.is_finite())
    }

    /// The measure of `metric`. Units: µs.
    pub(crate) fn of_metric(metric: Metric) -> Measure {
        let (class, shape) = match metric {
            Metric::Mean => ("mean", Shape::Diamond),
            Metric::P50 => ("p50", Shape::Circle),
            Metric::P99 => ("p99 raw", Shape::OpenSquare),
            Metric::WindowedP99 => ("p99", Shape::Square),
            Metric::P999 => ("p999", Shape::Triangle),
        };
        Measure::new(metric.words(), class, shape, move |trial| metric.of(trial))
            .within(move |trial| metric.bounds(trial))
    }

    /// The five measures of a latency curve, from the tail down.
    pub(crate) fn latencies() -> Vec<Measure> {
        [Metric::P999, Metric::P99, Metric::WindowedP99, Metric::Mean, Metric::P50]
            .map(Measure::of_metric)
            .to_vec()
    }
}

/// The quality-of-service target with its open ends filled in.
pub(crate) struct Target {
    qos: Qos,
    basis: QosBasis,
}

impl Target {
    pub(crate) fn new(qos: &Qos, basis: QosBasis) -> Target {
        Target { qos: qos.clone(), basis: qos.basis_or(basis) }
    }

    /// The limit of the response time; `None` if only sessions are judged. Units: µs.
    pub(crate) fn limit_us(&self) -> Option<f64> {
        Some(self.qos.response_time()?.limit_ns.as_micros_f64())
    }

    /// The judged response time, or if the target has none, p99 without a limit.
    fn response_time(&self) -> ResponseTarget {
        let p99 = ResponseTarget { percentile: 99.0, limit_ns: Nanos::ZERO, basis: Some(QosBasis::Raw) };
        self.qos.response_time().unwrap_or(p99)
    }

    /// The percentile of the judged response time.
    pub(crate) fn percentile(&self) -> f64 {
        self.response_time().percentile
    }

    /// The name of the judged response time: `windowed p99`, `p99`, `p95`.
    pub(crate) fn figure(&self) -> String {
        self.name(&self.response_time())
    }

    fn name(&self, target: &ResponseTarget) -> String {
        match target.basis.unwrap_or(self.basis) {
            QosBasis::Windowed => format!("windowed p{}", target.percentile),
            QosBasis::Raw => format!("p{}", target.percentile),
        }
    }

    /// The whole target: `windowed p99 ≤ 1 ms`, `start-up delay p95 ≤ 2 s, misses ≤ 1 %`.
    pub(crate) fn words(&self) -> String {
        self.qos.conditions().iter().map(|one| self.condition(one)).collect::<Vec<_>>().join(", ")
    }

    /// The conditions that `trial` missed; all conditions if it missed none.
    pub(crate) fn missed(&self, trial: &Trial) -> String {
        let missed = trial.judged(&self.qos, self.basis).filter(|judged| judged.met() == Some(false));
        let missed: Vec<String> = missed.map(|judged| self.condition(judged.condition)).collect();
        if missed.is_empty() { self.words() } else { missed.join(", ") }
    }

    fn condition(&self, condition: &Condition) -> String {
        match condition {
            Condition::ResponseTime(target) => {
                let limit = number::micros_short(target.limit_ns.as_micros_f64());
                format!("{} ≤ {limit}", self.name(target))
            }
            other => other.to_string(),
        }
    }

    /// The used share of its limits: a trial met the target up to 1.
    pub(crate) fn used(&self, trial: &Trial) -> Option<f64> {
        trial.qos_used(&self.qos, self.basis)
    }

    /// Bounds of the used share without generator and host.
    pub(crate) fn used_bounds(&self, trial: &Trial) -> Option<(f64, f64)> {
        trial.qos_used_bounds(&self.qos, self.basis)
    }

    /// Whether a load met it in the median of its usable trials; an overload counts with its measured figures.
    pub(crate) fn is_met(&self, point: &LoadPoint) -> bool {
        point.median(|trial| self.used_bounds(trial).map(|(_, most)| most)).is_some_and(|most| most <= 1.0)
    }

    /// The limit on a ratio or a time of sessions, in µs or as a share, if the target has one.
    pub(crate) fn limit_of(&self, figure: SessionFigure) -> Option<f64> {
        self.qos.conditions().iter().find_map(|condition| match condition {
            Condition::Times { name, percentile, limit_ns } => {
                (name == figure.name && *percentile == SESSION_PERCENTILE).then(|| limit_ns.as_micros_f64())
            }
            Condition::Ratio { name, limit_percent, .. } => {
                (name == figure.name).then_some(limit_percent / 100.0)
            }
            Condition::ResponseTime(_) => None,
        })
    }

    /// The judged response time as a measure, drawn like its metric.
    pub(crate) fn measure(&self) -> Measure {
        let (target, basis) = (self.response_time(), self.basis);
        let like = match (target.basis.unwrap_or(basis), target.percentile) {
            (QosBasis::Windowed, _) => Some(Metric::WindowedP99),
            (QosBasis::Raw, 50.0) => Some(Metric::P50),
            (QosBasis::Raw, 99.0) => Some(Metric::P99),
            (QosBasis::Raw, 99.9) => Some(Metric::P999),
            (QosBasis::Raw, _) => None,
        };
        let (class, shape) = like.map_or(("judged", Shape::Hexagon), |metric| {
            let measure = Measure::of_metric(metric);
            (measure.class, measure.shape)
        });
        Measure::new(self.figure(), class, shape, move |trial| trial.qos_figure_us(&target, basis))
            .within(move |trial| trial.qos_bounds(&target, basis))
    }

    /// Whether the judged figure is not among [`Measure::latencies`] and needs a curve of its own.
    pub(crate) fn is_extra(&self) -> bool {
        self.measure().class == "judged"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_says_what_it_judges() {
        let check = |text: &str, basis: QosBasis, expect: &str, extra: bool| {
            let target = Target::new(&text.parse().unwrap(), basis);
            assert_eq!((target.words().as_str(), target.is_extra()), (expect, extra), "{text}");
        };
        check("p99<1ms", QosBasis::Windowed, "windowed p99 ≤ 1 ms", false);
        check("p99<1ms", QosBasis::Raw, "p99 ≤ 1 ms", false);
        check("raw p99<20ms", QosBasis::Windowed, "p99 ≤ 20 ms", false);
        check("p95<500us", QosBasis::Windowed, "p95 ≤ 500 µs", true);
        check("p99.9<2.5ms", QosBasis::Raw, "p99.9 ≤ 2.5 ms", false);
        let sessions = "start-up delay p95 ≤ 2 s, misses ≤ 1 %";
        check("startup<2s,misses<1%", QosBasis::Windowed, sessions, false);
        check("misses<1%,p99<1ms", QosBasis::Windowed, "misses ≤ 1 %, windowed p99 ≤ 1 ms", false);
    }

    #[test]
    fn limits_are_those_of_their_figures() {
        let check = |text: &str, response_us: Option<f64>, figure: &str, limit: Option<f64>| {
            let target = Target::new(&text.parse().unwrap(), QosBasis::Raw);
            assert_eq!(target.limit_us(), response_us, "{text}");
            assert_eq!(target.limit_of(SessionFigure::named(figure).unwrap()), limit, "{text} {figure}");
        };
        check("p99<1ms", Some(1000.0), "misses", None);
        check("startup<2s,misses<1%", None, "misses", Some(0.01));
        check("startup<2s,misses<1%", None, "startup", Some(2e6));
        check("startup.p99<2s,p95<5s", Some(5e6), "startup", None);
    }
}
