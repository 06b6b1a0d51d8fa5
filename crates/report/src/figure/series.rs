use results::{Bounds, LoadPoint, Purpose, Spread, Trial, Verdict};

use super::Shape;
use crate::measure::Measure;
use crate::subject::Subject;

/// One curve over the offered load: medians with their range, and every trial as a dot.
pub(crate) struct Series {
    /// The name at the end of the line; empty for none.
    pub label: String,
    /// The style class: colour and dash.
    pub class: String,
    /// The marker of the medians; `None` for a plain line.
    pub shape: Option<Shape>,
    pub medians: Vec<Median>,
    pub dots: Vec<Dot>,
}

/// The median over the repeats of one load.
pub(crate) struct Median {
    pub x: f64,
    /// `None` if no usable trial has the figure, or only its bounds: the line breaks there.
    pub y: Option<Spread>,
    /// The bounds, if they are too far apart for one number.
    pub bounds: Option<Bounds>,
    pub overloaded: bool,
    /// Its tooltip.
    pub key: String,
}

/// One trial.
pub(crate) struct Dot {
    pub x: f64,
    pub y: f64,
    pub state: State,
    /// Its tooltip.
    pub key: String,
}

/// The mark of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Valid,
    Overloaded,
    Invalid,
}

impl State {
    pub(crate) fn of(verdict: &Verdict) -> State {
        match verdict {
            Verdict::Valid => State::Valid,
            Verdict::Overloaded { .. } => State::Overloaded,
            Verdict::Invalid { .. } => State::Invalid,
        }
    }
}

impl Series {
    /// `measure` of `subject`, in the looks of the measure.
    pub(crate) fn of_measure(subject: &Subject, measure: &Measure) -> Series {
        Series::new(subject, measure, measure.label.clone(), measure.class.to_owned(), measure.shape)
    }

    /// `measure` of `subject`, in the looks of the subject.
    pub(crate) fn of_subject(subject: &Subject, measure: &Measure) -> Series {
        let (label, class) = (super::frame::clip(subject.name, 18), subject_class(subject.slot));
        Series::new(subject, measure, label, class, Shape::of_slot(subject.slot))
    }

    fn new(subject: &Subject, measure: &Measure, label: String, class: String, shape: Shape) -> Series {
        let medians = subject.points.iter().enumerate().map(|(i, point)| {
            let bounds = bounds(point, measure);
            let y = point.spread(|trial| measure.of(trial)).filter(|_| bounds.is_none());
            let key = format!("{}p{i}", subject.slot);
            Median { x: point.offered_rps, y, bounds, overloaded: point.overloaded(), key }
        });
        let of_points: Vec<&Trial> = subject.points.iter().flat_map(|point| &point.trials).copied().collect();
        let drawn = |trial: &Trial| of_points.iter().any(|of_point| std::ptr::eq(*of_point, trial));
        // A trial whose figure is only bounded is within the bar of its load.
        let of_curve =
            subject.trials.iter().filter(|(_, trial)| drawn(trial) && measure.bounds(trial).is_none());
        let dots = of_curve.filter_map(|(key, trial)| {
            let (x, y) = (trial.offered_rps, measure.of(trial)?);
            Some(Dot { x, y, state: State::of(&trial.verdict), key: key.clone() })
        });
        Series { label, class, shape: Some(shape), medians: medians.collect(), dots: dots.collect() }
    }

    /// Adds a dot for every trial of `subject` with one of `purposes`, such as the steps of a search.
    pub(crate) fn with(mut self, subject: &Subject, measure: &Measure, purposes: &[Purpose]) -> Series {
        for (key, trial) in subject.trials.iter().filter(|(_, trial)| purposes.contains(&trial.purpose)) {
            if let Some(y) = measure.of(trial).filter(|_| measure.bounds(trial).is_none())
                && !self.dots.iter().any(|dot| dot.key == *key)
            {
                let state = State::of(&trial.verdict);
                self.dots.push(Dot { x: trial.offered_rps, y, state, key: key.clone() });
            }
        }
        self
    }

    /// Moves dots at loads beyond `edge` to `edge`; if both axes are `alike`, cuts their y there, too. Returns the
    /// loads that were moved.
    pub(crate) fn hold_within(&mut self, edge: f64, alike: bool) -> Vec<f64> {
        self.medians.retain(|median| median.x <= edge);
        let mut moved = Vec::new();
        for dot in self.dots.iter_mut().filter(|dot| dot.x > edge) {
            moved.push(dot.x);
            (dot.x, dot.y) = (edge, if alike { dot.y.min(edge) } else { dot.y });
        }
        moved
    }

    /// Every value that the y axis must hold.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let medians = self.medians.iter().filter_map(|median| median.y);
        let bounds = self.medians.iter().filter_map(|median| median.bounds);
        let bounds = bounds.flat_map(|bounds| [bounds.low_us, bounds.high_us]);
        medians.flat_map(|y| [y.low, y.high]).chain(bounds).chain(self.dots.iter().map(|dot| dot.y))
    }

    /// The value next to which its name is drawn: the last median, else the last bar, else the last trial.
    pub(crate) fn last(&self) -> Option<f64> {
        let mut drawn = self.medians.iter().rev();
        let median = drawn.find_map(|m| m.y.map(|y| y.median).or(m.bounds.map(|bounds| bounds.high_us)));
        median.or_else(|| self.dots.iter().max_by(|a, b| a.x.total_cmp(&b.x)).map(|dot| dot.y))
    }

    /// The offered loads of its medians and dots.
    pub(crate) fn loads(&self) -> impl Iterator<Item = f64> {
        self.medians.iter().map(|median| median.x).chain(self.dots.iter().map(|dot| dot.x))
    }
}

/// The bounds of a figure at a load, medians over its repeats; `None` if it is one number, or grows with the window.
fn bounds(point: &LoadPoint, measure: &Measure) -> Option<Bounds> {
    let end = |of: fn(Bounds) -> f64| point.median(|trial| measure.bounds(trial).map(of));
    let bounds = Bounds { low_us: end(|bounds| bounds.low_us)?, high_us: end(|bounds| bounds.high_us)? };
    (!point.overloaded()).then_some(bounds)
}

/// The style class of the subject in `slot`: five looks, then again from the first.
pub(crate) fn subject_class(slot: usize) -> String {
    format!("s{}", slot % 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_the_edge_stands_at_it() {
        let dot = |x: f64, y: f64| Dot { x, y, state: State::Overloaded, key: String::new() };
        let median = |x: f64| Median { x, y: None, bounds: None, overloaded: false, key: String::new() };
        let mut series = Series {
            label: String::new(),
            class: String::new(),
            shape: None,
            medians: vec![median(10.0), median(500.0)],
            dots: vec![dot(10.0, 10.0), dot(500.0, 12.0), dot(2000.0, 900.0)],
        };
        assert_eq!(series.hold_within(20.0, true), [500.0, 2000.0]);
        let places: Vec<(f64, f64)> = series.dots.iter().map(|dot| (dot.x, dot.y)).collect();
        assert_eq!(places, [(10.0, 10.0), (20.0, 12.0), (20.0, 20.0)]);
        assert_eq!(series.loads().fold(0.0, f64::max), 20.0);
        assert!(series.hold_within(f64::INFINITY, true).is_empty());
        series.dots.push(dot(500.0, 900.0));
        assert_eq!(series.hold_within(20.0, false), [500.0]);
        assert_eq!(series.dots.last().map(|dot| (dot.x, dot.y)), Some((20.0, 900.0)));
    }
}
