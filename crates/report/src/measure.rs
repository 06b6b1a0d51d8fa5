//! The figures of a trial that curves are drawn of, each with one look on every page.

use std::rc::Rc;

use results::{Metric, Trial};
use units::{Qos, QosBasis};

use crate::figure::Shape;
use crate::number;

/// A figure of a trial: what it is called, how it is drawn, and how it is read.
#[derive(Clone)]
pub(crate) struct Measure {
    /// The name at the end of its line.
    pub label: String,
    /// The style class: colour and dash. One percentile has one hue everywhere; dashes tell raw from windowed.
    pub class: &'static str,
    /// The marker, so that colour is never alone.
    pub shape: Shape,
    read: Read,
}

/// How a figure is read from a trial; shared, since a measure is drawn for several subjects.
type Read = Rc<dyn Fn(&Trial) -> Option<f64>>;

impl Measure {
    pub(crate) fn new(
        label: impl Into<String>,
        class: &'static str,
        shape: Shape,
        read: impl Fn(&Trial) -> Option<f64> + 'static,
    ) -> Measure {
        Measure { label: label.into(), class, shape, read: Rc::new(read) }
    }

    /// The figure of `trial`; `None` where it was not measured.
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
    pub(crate) fn new(qos: Qos, basis: QosBasis) -> Target {
        Target { qos, basis: qos.basis.unwrap_or(basis) }
    }

    /// The limit. Units: µs.
    pub(crate) fn limit_us(&self) -> f64 {
        self.qos.limit_ns.as_micros_f64()
    }

    /// The percentile that is judged.
    pub(crate) fn percentile(&self) -> f64 {
        self.qos.percentile
    }

    /// What is judged: `windowed p99`, `raw p99`, `p95`.
    pub(crate) fn figure(&self) -> String {
        match self.basis {
            QosBasis::Windowed => format!("windowed p{}", self.qos.percentile),
            // Only p99 has two forms to tell apart.
            QosBasis::Raw if self.qos.percentile == 99.0 => "raw p99".into(),
            QosBasis::Raw => format!("p{}", self.qos.percentile),
        }
    }

    /// The whole target: `windowed p99 ≤ 1 ms`.
    pub(crate) fn words(&self) -> String {
        format!("{} ≤ {}", self.figure(), number::micros_short(self.limit_us()))
    }

    /// The figure that is judged. Units: µs.
    pub(crate) fn judged(&self, trial: &Trial) -> Option<f64> {
        trial.qos_figure_us(&self.qos, self.basis)
    }

    /// The judged figure as a measure, drawn like the metric that it is.
    pub(crate) fn measure(&self) -> Measure {
        let like = match (self.basis, self.qos.percentile) {
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
        let (qos, basis) = (self.qos, self.basis);
        Measure::new(self.figure(), class, shape, move |trial| trial.qos_figure_us(&qos, basis))
    }

    /// Whether the judged figure is none of [`Measure::latencies`] and needs a curve of its own.
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
            let target = Target::new(text.parse().unwrap(), basis);
            assert_eq!((target.words().as_str(), target.is_extra()), (expect, extra), "{text}");
        };
        check("p99<1ms", QosBasis::Windowed, "windowed p99 ≤ 1 ms", false);
        check("p99<1ms", QosBasis::Raw, "raw p99 ≤ 1 ms", false);
        check("raw p99<20ms", QosBasis::Windowed, "raw p99 ≤ 20 ms", false);
        check("p95<500us", QosBasis::Windowed, "p95 ≤ 500 µs", true);
        check("p99.9<2.5ms", QosBasis::Raw, "p99.9 ≤ 2.5 ms", false);
    }
}
