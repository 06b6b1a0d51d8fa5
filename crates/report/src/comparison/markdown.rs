//! A comparison as Markdown, for a comment on a merge request.

use results::{Comparison, GateOutcome};

use super::{answer, cells, columns, places};
use crate::number;

/// The ratios of `comparison` as tables, after the outcome of a gate with this margin.
pub fn comparison_markdown(comparison: &Comparison, gate: Option<(f64, &GateOutcome)>) -> String {
    let mut lines = Vec::new();
    if let Some((margin, outcome)) = gate {
        let (a, b) = (escaped(&comparison.a.label), escaped(&comparison.b.label));
        let worse = format!("more than {} worse than {a}", number::percent(margin));
        let verdict = match (&outcome.worse[..], &outcome.open[..]) {
            ([], []) => format!("**{b} is not {worse}.**"),
            ([], _) => format!("**It is open whether {b} is {worse}.**"),
            _ => format!("**{b} is {worse}.**"),
        };
        lines.extend([verdict, String::new()]);
        lines.extend(outcome.worse.iter().chain(&outcome.open).map(|words| format!("- {}", escaped(words))));
        lines.push(String::new());
    }
    lines.extend(answer(comparison).iter().map(|sentence| format!("- {}", escaped(&sentence.to_string()))));
    for figure in comparison.figures.iter().filter(|figure| !figure.series.is_empty()) {
        let columns = columns(comparison, figure);
        let row = |cells: &mut dyn Iterator<Item = String>| {
            format!("|{}", cells.map(|cell| format!(" {} |", escaped(&cell))).collect::<String>())
        };
        lines.extend([String::new(), format!("*{}*", escaped(&figure.title)), String::new()]);
        lines.push(row(&mut columns.iter().map(|column| column.head.clone())));
        lines.push(format!("|{}", "---|".repeat(columns.len())));
        for place in places(figure) {
            let mut name = place.name;
            for (series, point) in place.points.into_iter().filter(|(_, point)| point.a.y.is_some()) {
                let rest = cells(comparison, figure, &series, &point);
                lines.push(row(&mut [std::mem::take(&mut name)].into_iter().chain(rest)));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// The text without a meaning in Markdown, in one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '<' | '>' | '[' | ']' | '`' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use results::study::{Axis, Point};
    use results::{ComparedFigure, ComparedPoint, ComparedSeries, Ratio, Side};

    use super::*;

    #[test]
    fn a_comment_begins_with_what_the_gate_found() {
        let side = |label: &str| Side { label: label.into(), ..Side::default() };
        let of = |y: f64| Point { y: Some(y), x: 1000.0.into(), ..Point::default() };
        let ratio =
            Ratio { value: 1.1, low: Some(1.08), high: Some(1.12), n: 9, judged: true, p_value: Some(0.004) };
        let point =
            ComparedPoint { a: of(10.0), b: of(11.0), ratio: Some(ratio), ..ComparedPoint::default() };
        let series = ComparedSeries { name: ComparedFigure::CPU_SERIES.into(), points: vec![point] };
        let figure = ComparedFigure {
            id: ComparedFigure::CPU.into(),
            title: "Processor time".into(),
            x: Axis { unit: "rps".into(), ..Axis::default() },
            y: Axis { unit: "µs/request".into(), ..Axis::default() },
            series: vec![series],
            ..ComparedFigure::default()
        };
        let comparison = Comparison {
            a: side("base"),
            b: side("head|<b>"),
            paired: true,
            figures: vec![figure],
            ..Comparison::default()
        };
        let outcome = comparison.gate(0.05);
        let text = comparison_markdown(&comparison, Some((0.05, &outcome)));
        assert!(
            text.starts_with("**head\\|\\<b\\> is more than 5 % worse than base.**\n\n- the processor time"),
            "{text}"
        );
        assert!(text.contains("| processor time per request |") && text.contains("1.08"), "{text}");
        assert!(!comparison_markdown(&comparison, None).contains("**"));
        let open = GateOutcome { worse: Vec::new(), open: vec!["the p99 was not measured".into()] };
        assert!(comparison_markdown(&comparison, Some((0.05, &open))).starts_with("**It is open whether"));
    }
}
