//! The figures and tables of a record, from its cells.

use results::study::{Axis, Cell, Entry, Figure, FigureKind, Point, Row, Series, Table, X};
use spec::Workload;
use units::{Condition, SessionFigure};

use super::Definition;
use super::picture::{ColumnDef, FigureDef, PublishedDef, TableDef};
use super::summary::{Cells, Summary};

impl Definition {
    /// Every figure, except those without measured and published points.
    pub(super) fn figures(&self, cells: Cells<'_>) -> Vec<Figure> {
        let figures = self.figures.iter().map(|asked| self.figure(asked, cells));
        figures.filter(|figure| figure.series.iter().any(|series| !series.points.is_empty())).collect()
    }

    /// Every table, with the published rows next to ours.
    pub(super) fn tables(&self, cells: Cells<'_>) -> Vec<Table> {
        self.tables.iter().map(|asked| self.table(asked, cells)).collect()
    }

    fn figure(&self, asked: &FigureDef, cells: Cells<'_>) -> Figure {
        let mut series: Vec<Series> = match asked.kind {
            FigureKind::Matrix => super::matrix::rows(asked, cells),
            _ => self.chosen(&asked.series).map(|name| self.series_of(asked, name, cells)).collect(),
        };
        let at = asked.at.as_deref().map(|at| self.axis.x(at)).unwrap_or_default();
        let overloaded = match asked.kind {
            // The figure itself shows it.
            FigureKind::Matrix => None,
            FigureKind::Percentiles => self.overloaded(&asked.series, cells, |x| *x == at),
            FigureKind::Lines | FigureKind::Bars => self.overloaded(&asked.series, cells, |_| true),
        };
        series.retain(|series| !series.points.is_empty());
        if asked.kind != FigureKind::Matrix {
            series.extend(asked.published.iter().map(|published| self.published(asked, published)));
        }
        let (x, y) = match asked.kind {
            FigureKind::Percentiles => {
                (Axis { label: "percentile".into(), unit: "%".into(), ..Axis::default() }, asked.y.clone())
            }
            FigureKind::Matrix => super::matrix::axes(asked, &series),
            _ => (self.axis_of(&series), asked.y.clone()),
        };
        let limit = self.limit(&asked.metric);
        Figure {
            id: asked.id.clone(),
            title: asked.title.clone(),
            kind: asked.kind,
            x,
            y,
            series,
            qos_us: limit.filter(|_| asked.qos).map(|limit| limit * asked.factor),
            caption: asked.caption.clone(),
            overloaded,
        }
    }

    /// Where the server was overloaded, of the places of these series that `shown` lets pass.
    fn overloaded(&self, asked: &[String], cells: Cells<'_>, shown: impl Fn(&X) -> bool) -> Option<String> {
        let mut found = Vec::new();
        for name in self.chosen(asked) {
            let mut places = cells.places(name);
            places.retain(&shown);
            for x in places {
                let at = match &x {
                    X::Number(number) if !self.axis.axis.unit.is_empty() => {
                        format!("{number} {}", self.axis.axis.unit)
                    }
                    x => x.to_string(),
                };
                found.extend(cells.overloaded(name, &x).map(|trials| format!("{name} at {at}: {trials}")));
            }
        }
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// The names of the series that a figure or table selects; all by default.
    fn chosen<'a>(&'a self, asked: &'a [String]) -> impl Iterator<Item = &'a String> {
        let names = self.series.iter().map(|series| &series.name);
        names.filter(move |name| asked.is_empty() || asked.contains(name))
    }

    /// The limit of the study's target: of `metric`, where a condition is on it, else of the response time. Units: the
    /// metric's, µs or a share.
    fn limit(&self, metric: &str) -> Option<f64> {
        let text = |section: &str, key: &str| self.base.get(section)?.get(key)?.as_str();
        let qos = match text("qos", "target") {
            Some(target) => target.parse().ok()?,
            // The default target of the workload, which also applies to its trials.
            None => self.workload().usual_qos().target,
        };
        let of_metric = qos.conditions().iter().find_map(|condition| match condition {
            Condition::Times { name, percentile, limit_ns } => {
                (metric == format!("{name}_us_p{percentile}")).then(|| limit_ns.as_micros_f64())
            }
            Condition::Ratio { name, limit_percent, .. } => {
                let record = SessionFigure::ratio(name).map_or(name.as_str(), |figure| figure.record);
                (metric == record).then_some(limit_percent / 100.0)
            }
            Condition::ResponseTime(_) => None,
        });
        of_metric.or_else(|| Some(qos.response_time()?.limit_ns.as_micros_f64()))
    }

    /// The workload of the study, according to its base.
    fn workload(&self) -> Workload {
        let section = self.base.get("workload");
        let read = section.and_then(|section| section.clone().try_into::<Workload>().ok());
        let kind = || section?.get("kind")?.as_str().and_then(Workload::named);
        read.or_else(kind).unwrap_or_default()
    }

    /// The axis with the names that occur on it.
    fn axis_of(&self, series: &[Series]) -> Axis {
        let mut axis = self.axis.axis.clone();
        let names = series.iter().flat_map(|series| &series.points).filter_map(|point| match &point.x {
            X::Category(name) => Some(name),
            X::Number(_) => None,
        });
        for name in names {
            if !axis.categories.contains(name) {
                axis.categories.push(name.clone());
            }
        }
        axis
    }

    fn series_of(&self, asked: &FigureDef, name: &str, cells: Cells<'_>) -> Series {
        let points = match asked.kind {
            FigureKind::Percentiles => {
                let x = asked.at.as_deref().map_or_else(X::default, |at| self.axis.x(at));
                percentiles(cells, name, &x, asked.factor)
            }
            _ => {
                let mut points: Vec<Point> = cells
                    .places(name)
                    .into_iter()
                    .filter_map(|x| {
                        let value = |cell: &Cell| match asked.ratio {
                            true => cell.ratio(&asked.metric),
                            false => Some(asked.factor * cell.metrics.get(&asked.metric)?),
                        };
                        let summary = cells.summary_of((name, &x), &asked.metric, value)?;
                        let overloaded = cells.overloaded(name, &x);
                        let point = summary.point(x);
                        let note: Vec<String> = point.note.into_iter().chain(overloaded).collect();
                        Some(Point { note: (!note.is_empty()).then(|| note.join("; ")), ..point })
                    })
                    .collect();
                points
                    .sort_by(|a, b| self.place_of(&a.x).cmp(&self.place_of(&b.x)).then(a.x.total_cmp(&b.x)));
                points
            }
        };
        Series { name: name.into(), published: false, source: None, points }
    }

    /// Names in the order of the axis rather than of the alphabet.
    fn place_of(&self, x: &X) -> usize {
        let X::Category(name) = x else { return 0 };
        self.axis.axis.categories.iter().position(|category| category == name).unwrap_or(usize::MAX)
    }

    fn published(&self, asked: &FigureDef, published: &PublishedDef) -> Series {
        let point = |(place, y): (String, f64)| Point {
            x: if asked.kind == FigureKind::Percentiles {
                place.parse().map_or(X::Category(place), X::Number)
            } else {
                self.axis.x(&place)
            },
            y: Some(y),
            note: published.note.clone(),
            ..Point::default()
        };
        Series {
            name: published.name.clone(),
            published: true,
            source: Some(published.source.clone()),
            points: published.pairs().map(point).collect(),
        }
    }

    fn table(&self, asked: &TableDef, cells: Cells<'_>) -> Table {
        let mut columns: Vec<String> = asked.columns.iter().map(|column| column.label.clone()).collect();
        if !asked.by_series {
            columns.insert(0, self.axis.axis.label.clone());
        }
        columns.insert(0, String::new());
        let mut rows = Vec::new();
        for name in self.chosen(&asked.series) {
            let places = cells.places(name);
            if places.is_empty() {
                continue;
            }
            if asked.by_series {
                let entries = asked.columns.iter().map(|column| self.entry(column, name, None, cells));
                rows.push(row(false, [Entry::from(name.as_str())].into_iter().chain(entries)));
                continue;
            }
            let mut places = places;
            places.sort_by(|a, b| self.place_of(a).cmp(&self.place_of(b)).then(a.total_cmp(b)));
            for x in &places {
                let unit = &self.axis.axis.unit;
                let at = match x {
                    X::Number(number) => Entry::quantity(*number, unit),
                    X::Category(name) => Entry::from(name.as_str()),
                };
                let entries = asked.columns.iter().map(|column| self.entry(column, name, Some(x), cells));
                rows.push(row(false, [Entry::from(name.as_str()), at].into_iter().chain(entries)));
            }
        }
        let published = asked
            .published
            .iter()
            .map(|cells| row(true, cells.iter().map(|cell| Entry::from(cell.as_str()))));
        rows.extend(published);
        let named: Vec<X> =
            asked.columns.iter().filter_map(|column| Some(self.axis.x(column.at.as_deref()?))).collect();
        let shown = |x: &X| !asked.by_series || named.is_empty() || named.contains(x);
        Table {
            id: asked.id.clone(),
            title: asked.title.clone(),
            columns,
            rows,
            source: asked.source.clone(),
            overloaded: self.overloaded(&asked.series, cells, shown),
        }
    }

    fn entry(&self, column: &ColumnDef, series: &str, x: Option<&X>, cells: Cells<'_>) -> Entry {
        let at = column.at.as_deref().map(|at| self.axis.x(at));
        let x = match at.as_ref().or(x) {
            Some(x) => x.clone(),
            None => match cells.places(series).first() {
                Some(first) => first.clone(),
                None => return Entry::from("–"),
            },
        };
        let value = |cell: &Cell| Some(column.factor * cell.metrics.get(&column.metric)?);
        match cells.summary_of((series, &x), &column.metric, value) {
            Some(Summary { median, low, high, .. }) => {
                Entry::Quantity { value: median, unit: column.unit.clone(), low: Some(low), high: Some(high) }
            }
            None => Entry::from("–"),
        }
    }
}

fn row(published: bool, cells: impl Iterator<Item = Entry>) -> Row {
    Row { published, cells: cells.collect() }
}

/// The percentiles that are drawn. Stored curves have their first point after the least at 10.9 %
/// (`hist::Latency::curve`), so percentiles below 10 % are unknown.
const PERCENTILES: [f64; 12] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9];

/// The median over the repeats at each percentile; `factor` leads from µs to the unit of the axis.
fn percentiles(cells: Cells<'_>, series: &str, x: &X, factor: f64) -> Vec<Point> {
    let at = |percentile: f64| {
        let summary =
            cells.summary(series, x, |cell| Some(factor * at_percentile(&cell.curve, percentile)?))?;
        Some(summary.point(percentile.into()))
    };
    PERCENTILES.into_iter().filter_map(at).collect()
}

/// The time at a percentile of a curve, on the line between its neighbouring points.
fn at_percentile(curve: &[(f64, f64)], percentile: f64) -> Option<f64> {
    let after = curve.iter().position(|(p, _)| *p >= percentile)?;
    let (p, us) = curve[after];
    let Some((before, from)) = after.checked_sub(1).map(|at| curve[at]) else { return Some(us) };
    Some(from + (us - from) * (percentile - before) / (p - before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Verdict;

    #[test]
    fn a_curve_is_the_median_of_curves() {
        let cell = |block: u32, scale: f64| Cell {
            series: "a".into(),
            x: 288.0.into(),
            block,
            curve: vec![(0.0, 10.0 * scale), (50.0, 20.0 * scale), (99.0, 40.0 * scale)],
            verdict: Verdict::Valid,
            ..Cell::default()
        };
        let cells = [cell(0, 1.0), cell(1, 9.0), cell(2, 2.0)];
        let points = percentiles(Cells(&cells), "a", &288.0.into(), 1e-3);
        let at = |p: f64| points.iter().find(|point| point.x == p.into()).and_then(|point| point.y);
        assert_eq!((at(50.0), at(99.0)), (Some(0.04), Some(0.08)));
        // A fifth and two fifths of the way from 20 µs to 40.
        assert_eq!((at(10.0), at(20.0)), (Some(0.024), Some(0.028)));
        // The curves end at p99; p99.9 is unknown.
        assert_eq!(at(99.9), None);
    }
}
