use results::Metric;
use results::study::{Figure, Series};

use crate::figure::Shape;
use crate::measure::Measure;

/// The look of a series: its colour and dash, and its marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Looks {
    pub(super) class: String,
    pub(super) shape: Shape,
}

/// The looks of every series of `figure`, in its order.
///
/// Measured series take the looks in turn. A published series takes the looks of the measured series whose name it
/// contains, the longest such name, so that the two are seen as a pair; it is hollow and thin anyway. If several belong
/// to one, the first takes its looks, and the others take the looks that are left, so that they can be told apart.
pub(super) fn looks(figure: &Figure) -> Vec<Looks> {
    let own: Vec<&Series> = figure.series.iter().filter(|series| !series.published).collect();
    let mut next = own.len();
    let mut paired = vec![false; own.len()];
    let mut slot = |series: &Series| {
        let name = series.name.to_lowercase();
        let named_in =
            |other: &&Series| series.name == other.name || name.contains(&other.name.to_lowercase());
        let found = if series.published {
            let best = (0..own.len()).filter(|&i| named_in(&own[i])).max_by_key(|&i| own[i].name.len());
            best.filter(|&i| !std::mem::replace(&mut paired[i], true))
        } else {
            own.iter().position(|other| std::ptr::eq(*other, series))
        };
        found.unwrap_or_else(|| {
            next += 1;
            next - 1
        })
    };
    figure
        .series
        .iter()
        .map(|series| {
            let slot = slot(series);
            // A figure of the response time looks as on every page.
            if let Some(metric) = Metric::ALL.into_iter().find(|metric| metric.words() == series.name) {
                let Measure { class, shape, .. } = Measure::of_metric(metric);
                return Looks { class: class.into(), shape };
            }
            Looks { class: format!("s{}", slot % 5), shape: Shape::of_slot(slot) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_series_looks_like_its_own() {
        let series = |name: &str, published| Series { name: name.into(), published, ..Series::default() };
        let figure = Figure {
            series: vec![
                series("memcached", false),
                series("memcached mean", false),
                series("Memcached mean, Xeon", true),
                series("Memcached, ThunderX", true),
                series("NGINX", true),
            ],
            ..Figure::default()
        };
        let classes: Vec<String> = looks(&figure).into_iter().map(|looks| looks.class).collect();
        assert_eq!(classes, ["s0", "s1", "s1", "s0", "s2"]);
    }

    #[test]
    fn two_published_series_of_one_system_are_told_apart() {
        let series = |name: &str, published| Series { name: name.into(), published, ..Series::default() };
        let figure = Figure {
            series: vec![
                series("Memcached, Xeon", true),
                series("Memcached, ThunderX", true),
                series("memcached", false),
                series("sphinx", false),
                series("Sphinx, Xeon", true),
            ],
            ..Figure::default()
        };
        let looks = looks(&figure);
        let classes: Vec<&str> = looks.iter().map(|looks| looks.class.as_str()).collect();
        assert_eq!(classes, ["s0", "s2", "s0", "s1", "s1"]);
        assert_ne!(looks[0].shape, looks[1].shape);
    }
}
