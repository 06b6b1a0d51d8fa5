//! Judges a claim by made-up figures of its points: one set must reproduce it, another must differ from it, so that no
//! claim holds for every possible result.

use results::Verdict;
use results::study::{Cell, ClaimVerdict, Effort, X};
use stats::LEVEL;

use super::super::claim::{Check, Claim, Spot};
use super::super::summary::Cells;
use super::super::{Definition, DefinitionError};
use super::{Unjudged, judge};
use crate::run::ADVICE_USED;

/// Blocks of a made-up result: as many as settle a curve of 20 places.
const BLOCKS: u32 = 10;

/// Judges the made-up figures of all claims.
///
/// Claims about points that this machine does not measure are left out.
///
/// Errors: figures give another verdict than their key says, or there are too few or too many for the check.
pub(in super::super) fn check(study: &Definition) -> Result<(), DefinitionError> {
    for claim in study.claims.iter().filter(|claim| claim.absent.is_empty()) {
        let examples = [
            ("reproduced-by", &claim.reproduced_by, ClaimVerdict::Reproduced),
            ("differs-by", &claim.differs_by, ClaimVerdict::Differs),
        ];
        for (key, figures, expected) in examples.into_iter().filter(|(_, figures, _)| !figures.is_empty()) {
            let place = format!("claim '{}': {key}", claim.id);
            let cells = cells(&claim.check, study, figures)
                .map_err(|expected| DefinitionError(format!("{place}: {figures:?}; write {expected}")))?;
            let verdict = verdict(claim, &cells);
            if verdict != expected {
                return Err(DefinitionError(format!(
                    "{place}: the verdict on these figures is {}",
                    verdict.words()
                )));
            }
        }
    }
    Ok(())
}

fn verdict(claim: &Claim, cells: &[Cell]) -> ClaimVerdict {
    let effort = if claim.is_for(Effort::Full) { Effort::Full } else { Effort::Quick };
    judge(std::slice::from_ref(claim), effort, Cells(cells), &Unjudged::default(), LEVEL)[0].verdict
}

/// A figure of a made-up result: series, place, metric and value.
type Figure<'a> = (&'a str, X, String, f64);

/// A made-up result, with the same figures in all blocks. Errors: the number of figures that the check takes, in words.
fn cells(check: &Check, study: &Definition, values: &[f64]) -> Result<Vec<Cell>, String> {
    let mut cells: Vec<Cell> = Vec::new();
    for (series, x, metric, value) in figures(check, study, values)? {
        let place = cells.iter().position(|cell| cell.series == series && cell.x == x).unwrap_or(cells.len());
        if place == cells.len() {
            let series = series.to_owned();
            cells.push(Cell { series, x, verdict: Verdict::Valid, ..Cell::default() });
        }
        cells[place].metrics.insert(metric, value);
    }
    let of_block = |block| cells.iter().cloned().map(move |cell| Cell { block, ..cell });
    Ok((0..BLOCKS).flat_map(of_block).collect())
}

fn figures<'a>(check: &'a Check, study: &'a Definition, values: &[f64]) -> Result<Vec<Figure<'a>>, String> {
    let figure = |spot: &'a Spot, metric: &str, value: f64| {
        (spot.series.as_str(), spot.x.clone(), metric.to_owned(), value)
    };
    match (check, values) {
        (Check::Ratio { metric, of, to, to_metric, beside: None, .. }, &[first, second]) => {
            let to_metric = to_metric.as_ref().unwrap_or(metric);
            Ok(vec![figure(of, metric, first), figure(to, to_metric, second)])
        }
        (
            Check::Ratio { metric, of, to, to_metric, beside: Some(beside), .. },
            &[first, second, third, last],
        ) => {
            let to_metric = to_metric.as_ref().unwrap_or(metric);
            Ok(vec![
                figure(of, metric, first),
                figure(to, to_metric, second),
                figure(&beside[0], metric, third),
                figure(&beside[1], to_metric, last),
            ])
        }
        (Check::Ratio { beside, .. }, _) => {
            let more = if beside.is_some() { ", beside-of and beside-to" } else { "" };
            Err(format!("the values at of and to{more}"))
        }
        (Check::Within { metric, of, .. }, &[value]) => Ok(vec![figure(of, metric, value)]),
        (Check::Within { .. }, _) => Err("the value at of".into()),
        (Check::Advised { metric, from, predicted, .. }, &[first, other]) => {
            Ok(advised(study, metric, from, predicted.as_deref(), (first, other)))
        }
        (Check::Advised { .. }, _) => {
            Err("the value with one more of the first to saturate, and the other or predicted value".into())
        }
        (Check::Below { metric, series, than, at }, [.., lower, higher])
            if values.len().is_multiple_of(2) =>
        {
            let pairs = values.chunks_exact(2).map(|pair| (pair[0], pair[1]));
            let pairs = pairs.chain(std::iter::repeat((*lower, *higher)));
            let both = |(x, (lower, higher)): (&X, (f64, f64))| {
                [
                    (series.as_str(), x.clone(), metric.clone(), lower),
                    (than.as_str(), x.clone(), metric.clone(), higher),
                ]
            };
            Ok(at.iter().zip(pairs).flat_map(both).collect())
        }
        (Check::Below { .. }, _) => Err("the values of series and than at each place".into()),
        (
            Check::Monotone { metric, series, .. }
            | Check::Flat { metric, series, .. }
            | Check::UpTo { metric, series, .. },
            [.., last],
        ) => {
            let mut places: Vec<X> =
                study.axis.places(Effort::Full).iter().map(|place| place.x.clone()).collect();
            places.sort_by(X::total_cmp);
            let values = values.iter().copied().chain(std::iter::repeat(*last));
            let at = |(x, value): (X, f64)| (series.as_str(), x, metric.clone(), value);
            Ok(places.into_iter().zip(values).map(at).collect())
        }
        _ => Err("the value at each place of the axis".into()),
    }
}

/// The first of the other series is the resource that saturates first at `from`.
fn advised<'a>(
    study: &'a Definition,
    metric: &str,
    from: &'a Spot,
    predicted: Option<&str>,
    (first, other): (f64, f64),
) -> Vec<Figure<'a>> {
    let names = study.series.iter().map(|series| series.name.as_str()).filter(|name| *name != from.series);
    let mut figures = Vec::new();
    for (n, name) in names.enumerate() {
        let (used, value) = if n == 0 { (0.9, first) } else { (0.4, other) };
        figures.push((from.series.as_str(), from.x.clone(), format!("{ADVICE_USED}{name}"), used));
        figures.push((name, from.x.clone(), metric.to_owned(), value));
        if let Some(predicted) = predicted {
            figures.push((from.series.as_str(), from.x.clone(), format!("{predicted}.{name}"), other));
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::super::super::machine::Machine;
    use super::*;

    const STUDY: &str = r#"
        title = "t"
        question = "q"
        source = "s"
        method = "m"
        [experiment.target]
        server = "null"
        [experiment.workload]
        keys = 10
        [x]
        label = "load"
        unit = "%"
        sets = "load.share"
        values.full = ["10%", "50%", "90%"]
        [[series]]
        name = "a"
        [[series]]
        name = "b"
        [effort.full]
        blocks = 8
    "#;

    /// The error of a study with this claim about the metric `m`; empty without one.
    fn error(claim: &str) -> String {
        let claims = format!("[[claim]]\nid = \"c\"\ntext = \"t\"\nsource = \"s\"\nmetric = \"m\"\n{claim}");
        let read = Definition::read("study", STUDY, &claims, &Machine::two_cores(), &[]);
        read.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn made_up_figures_have_the_verdict_that_they_say() {
        let check = |check: &str, reproduced: &str, differs: &str| {
            let with = |one: &str, other: &str| {
                error(&format!("{check}\nreproduced-by = {one}\ndiffers-by = {other}"))
            };
            assert_eq!(with(reproduced, differs), "", "{check}");
            let swapped = with(differs, reproduced);
            let expect =
                "study/claims.toml: claim 'c': reproduced-by: the verdict on these figures is differs";
            assert_eq!(swapped, expect, "{check}");
        };
        let points = "of = \"a @ 90%\"\nto = \"a @ 10%\"";
        check(&format!("check = \"ratio\"\nat-least = 2\n{points}"), "[30, 10]", "[15, 10]");
        check(
            &format!("check = \"ratio\"\nat-least = 2\nto-metric = \"n\"\n{points}"),
            "[30, 10]",
            "[15, 10]",
        );
        let beside = "beside-of = \"b @ 90%\"\nbeside-to = \"b @ 10%\"";
        check(
            &format!("check = \"ratio\"\nat-least = 2\n{points}\n{beside}"),
            "[30, 10, 10, 10]",
            "[30, 10, 20, 10]",
        );
        check("check = \"within\"\nof = \"a @ 10%\"\nat-most = 5", "[4]", "[6]");
        check("check = \"within\"\nof = \"a @ 10%\"\nat-most = 1\nat-least = 1", "[1]", "[0.99]");
        let below = "check = \"below\"\nseries = \"a\"\nthan = \"b\"\nat = [\"10%\", \"90%\"]";
        check(below, "[1, 2]", "[1, 2, 3, 2]");
        check("check = \"rising\"\nseries = \"a\"", "[1, 2, 3]", "[1, 2, 1.5]");
        check("check = \"falling\"\nseries = \"a\"", "[3, 2, 1]", "[1, 2]");
        check("check = \"flat\"\nseries = \"a\"\nat-most = 1.5", "[1, 1.2]", "[1, 1.2, 1.6]");
        let up_to = "check = \"up-to\"\nseries = \"a\"\nlimit = 5\nfrom = 40\nto = 60";
        check(up_to, "[1, 2, 9]", "[1, 9]");
        check(
            "check = \"advised\"\nfrom = \"a @ 90%\"\nat-most = 1.2\npredicted = \"p\"",
            "[1, 1]",
            "[3, 1]",
        );
    }

    #[test]
    fn figures_of_another_number_are_refused() {
        let ratio =
            "check = \"ratio\"\nof = \"a @ 90%\"\nto = \"a @ 10%\"\nat-least = 2\nreproduced-by = [3]";
        assert_eq!(
            error(ratio),
            "study/claims.toml: claim 'c': reproduced-by: [3.0]; write the values at of and to"
        );
        let below = "check = \"below\"\nseries = \"a\"\nthan = \"b\"\nat = [\"10%\"]\ndiffers-by = [1, 2, 3]";
        assert!(
            error(below).ends_with("write the values of series and than at each place"),
            "{}",
            error(below)
        );
        let words = error("check = \"within\"\nof = \"a @ 10%\"\nat-most = 1\ndiffers-by = \"2\"");
        assert!(words.ends_with("write a list of numbers, such as [430, 118]"), "{words}");
    }
}
