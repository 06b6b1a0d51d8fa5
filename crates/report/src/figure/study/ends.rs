use results::study::{Axis, Figure, FigureKind, Scale as Kind, Series, X};

use crate::distinct;
use crate::figure::scale::Scale;
use crate::quantity::tick;

/// The places of a figure's points along its horizontal axis.
pub(super) struct Places {
    /// The names, for an axis of names; each takes a slot of width 1.
    names: Vec<String>,
    /// Whether they are percentiles, drawn by their number of nines.
    are_percentiles: bool,
}

impl Places {
    /// By name if the axis lists names or any point has one, or if `each` place needs a slot.
    pub(super) fn of(figure: &Figure, each: bool) -> Places {
        if figure.kind == FigureKind::Percentiles {
            return Places { names: Vec::new(), are_percentiles: true };
        }
        let mut names = figure.x.categories.clone();
        let points = || figure.series.iter().flat_map(|series| &series.points);
        if each || !names.is_empty() || points().any(|point| point.x.number().is_none()) {
            let mut found: Vec<&X> = points().map(|point| &point.x).collect();
            found.sort_by(|a, b| a.total_cmp(b));
            names = distinct(names.into_iter().chain(found.into_iter().map(|x| name(x, &figure.x))));
        }
        Places { names, are_percentiles: false }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The position of `x` on [`Places::scale`]; the middle of its slot for a named place.
    pub(super) fn at(&self, x: &X, axis: &Axis) -> Option<f64> {
        if self.names.is_empty() {
            // On an axis of nines the maximum, at 100, would be at infinity.
            return x.number().filter(|x| !self.are_percentiles || *x < 100.0);
        }
        let name = name(x, axis);
        self.names.iter().position(|known| *known == name).map(|slot| slot as f64 + 0.5)
    }

    pub(super) fn scale(&self, figure: &Figure) -> Scale {
        if !self.names.is_empty() {
            return Scale::linear(self.names.len() as f64);
        }
        let numbers =
            figure.series.iter().flat_map(|series| &series.points).filter_map(|point| point.x.number());
        match figure.x.scale {
            _ if self.are_percentiles => Scale::nines(numbers.filter(|x| *x < 100.0).fold(90.0, f64::max)),
            Kind::Log => Scale::log(numbers),
            Kind::Linear => Scale::linear(1.04 * numbers.filter(|x| x.is_finite()).fold(0.0, f64::max)),
        }
    }
}

/// The name of a place on `axis`.
fn name(x: &X, axis: &Axis) -> String {
    match x {
        X::Category(name) => name.clone(),
        X::Number(number) => {
            let plain = number.to_string();
            if axis.categories.contains(&plain) { plain } else { tick(*number, &axis.unit) }
        }
    }
}

/// The vertical axis over all that `series` need, and the line at the target.
pub(super) fn vertical(figure: &Figure, series: &[Series]) -> Scale {
    let points = series.iter().flat_map(|series| &series.points);
    let own = points.flat_map(|point| [point.y, point.low, point.high]).flatten();
    let values: Vec<f64> = own.chain(figure.qos_us.map(|limit| 1.3 * limit)).collect();
    match figure.y.scale {
        _ if is_ratio(figure) => Scale::ratio(values.into_iter()),
        Kind::Log => Scale::log(values.into_iter()),
        Kind::Linear => {
            Scale::linear(1.06 * values.into_iter().filter(|y| y.is_finite()).fold(0.0, f64::max))
        }
    }
}

/// Whether the vertical axis shows ratios, around 1.
pub(super) fn is_ratio(figure: &Figure) -> bool {
    matches!(figure.y.unit.as_str(), "x" | "×") && figure.y.scale == Kind::Log
}
