//! Whether a second run of a study says what the first said.

use results::Study;
use results::study::X;

use super::summary::Cells;

/// Two runs of one study, point by point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Every point that both have, of each metric that was asked for.
    pub points: Vec<AgreementPoint>,
}

/// One figure at one point in both runs, over the same at the reference point of its block.
#[derive(Clone, Debug, PartialEq)]
pub struct AgreementPoint {
    /// The series.
    pub series: String,
    /// Its place.
    pub x: X,
    /// The figure.
    pub metric: String,
    /// The ratio of the first run: the median over its blocks.
    pub first: f64,
    /// Its interval.
    pub low: f64,
    /// Its interval.
    pub high: f64,
    /// The ratio of the second run.
    pub second: f64,
    /// The ratio of its plain figure in the second run to that in the first.
    pub plain: Option<f64>,
}

impl AgreementPoint {
    /// Whether the second run's ratio lies within the first's interval.
    pub fn agrees(&self) -> bool {
        (self.low..=self.high).contains(&self.second)
    }

    /// Half the width of the interval, as a share of the ratio.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.first
    }
}

impl Agreement {
    /// Points that agree.
    pub fn agreeing(&self) -> usize {
        self.points.iter().filter(|point| point.agrees()).count()
    }

    /// The share of points that agree; `None` without any.
    pub fn share(&self) -> Option<f64> {
        (!self.points.is_empty()).then(|| self.agreeing() as f64 / self.points.len() as f64)
    }

    /// The widest half of an interval.
    pub fn widest(&self) -> Option<f64> {
        self.points.iter().map(AgreementPoint::half_width).reduce(f64::max)
    }
}

/// Compares two runs at all places below `limit` on the axis (all, where the axis has names or there is no limit).
pub fn agreement(first: &Study, second: &Study, metrics: &[String], limit: Option<f64>) -> Agreement {
    let (a, b) = (Cells(&first.cells), Cells(&second.cells));
    let mut series: Vec<&str> = Vec::new();
    for cell in &first.cells {
        if !series.contains(&cell.series.as_str()) {
            series.push(&cell.series);
        }
    }
    let mut points = Vec::new();
    for name in series {
        for x in a.places(name) {
            if limit.zip(x.number()).is_some_and(|(limit, x)| x >= limit) {
                continue;
            }
            for metric in metrics {
                let ratio = |cell: &results::study::Cell| cell.ratio(metric);
                let plain = |cell: &results::study::Cell| cell.metrics.get(metric).copied();
                let (Some(one), Some(two)) = (a.summary(name, &x, ratio), b.summary(name, &x, ratio)) else {
                    continue;
                };
                let both = a.summary(name, &x, plain).zip(b.summary(name, &x, plain));
                points.push(AgreementPoint {
                    series: name.to_owned(),
                    x: x.clone(),
                    metric: metric.clone(),
                    first: one.median,
                    low: one.low,
                    high: one.high,
                    second: two.median,
                    plain: both.map(|(one, two)| two.median / one.median),
                });
            }
        }
    }
    Agreement { points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::summary::tests::cells;

    fn study(points: &[(f64, &[f64])], reference: f64) -> Study {
        let mut cells = cells("a", points);
        for cell in &mut cells {
            cell.reference = [("m".to_owned(), reference)].into();
        }
        Study { cells, ..Study::default() }
    }

    #[test]
    fn a_second_run_agrees_where_its_ratio_lies_in_the_interval_of_the_first() {
        let first = study(&[(10.0, &[1.0, 1.1, 1.2]), (50.0, &[2.0, 2.1, 2.2]), (90.0, &[9.0, 8.0])], 2.0);
        // Twice as slow throughout, and so is its reference; at 50 the ratio itself has changed.
        let second = study(&[(10.0, &[2.2, 2.2, 2.3]), (50.0, &[9.0, 9.0, 9.0]), (90.0, &[1.0, 1.0])], 4.0);
        let agreement = agreement(&first, &second, &["m".into()], Some(70.0));
        assert_eq!(agreement.points.len(), 2);
        assert_eq!((agreement.agreeing(), agreement.share()), (1, Some(0.5)));
        let point = &agreement.points[0];
        assert!((point.first - 0.55).abs() < 1e-9 && (point.second - 0.55).abs() < 1e-9, "{point:?}");
        assert!((point.half_width() - 0.05 / 0.55).abs() < 1e-9, "{point:?}");
        assert!((point.plain.unwrap() - 2.0).abs() < 1e-9, "{point:?}");
        assert!(agreement.widest().unwrap() < 0.1);
        assert_eq!(super::agreement(&first, &second, &["other".into()], None), Agreement::default());
        assert_eq!(super::agreement(&first, &second, &["m".into()], None).points.len(), 3);
    }
}
