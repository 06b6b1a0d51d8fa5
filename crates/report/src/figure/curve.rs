use super::frame::Frame;
use super::series::{Median, Series, State};
use super::{Canvas, Shape};

/// Shades the range over the repeats, behind every curve.
pub(super) fn ranges(canvas: &mut Canvas, frame: &Frame, series: &Series) {
    for run in series.medians.split(|median| median.y.is_none()) {
        let point = |median: &Median, high: bool| {
            let y = median.y.map_or(0.0, |y| if high { y.high } else { y.low });
            frame.at(median.x, y)
        };
        let upper = run.iter().map(|median| point(median, true));
        let lower = run.iter().rev().map(|median| point(median, false));
        if series.shape.is_some() && run.len() > 1 {
            canvas.area(&format!("range {}", series.class), &upper.chain(lower).collect::<Vec<_>>());
        }
    }
}

/// A stretch of a curve in one look.
struct Run {
    overloaded: bool,
    points: Vec<(f64, f64)>,
}

/// Splits the medians at missing ones, and at the start of overload: from there the response time grows with the length
/// of the window, and the line is drawn fainter.
fn runs(series: &Series) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for median in &series.medians {
        let here = median.y.map(|y| (median.x, y.median));
        if let (Some(from), Some(to)) = (before, here) {
            match runs.last_mut() {
                Some(run) if run.overloaded == median.overloaded && run.points.last() == Some(&from) => {
                    run.points.push(to);
                }
                _ => runs.push(Run { overloaded: median.overloaded, points: vec![from, to] }),
            }
        }
        before = here;
    }
    runs
}

/// Draws the line, the trials and the medians of `series`, with tooltips.
pub(super) fn draw(canvas: &mut Canvas, frame: &Frame, series: &Series) {
    let class = &series.class;
    for run in runs(series) {
        let over = if run.overloaded { " over" } else { "" };
        let points: Vec<(f64, f64)> = run.points.iter().map(|(x, y)| frame.at(*x, *y)).collect();
        canvas.path(&format!("curve {class}{over}"), &points);
    }
    for dot in series.dots.iter().filter(|dot| dot.state != State::Invalid) {
        let at = frame.at(dot.x, dot.y);
        match dot.state {
            State::Overloaded => canvas.mark(&format!("dot {class}"), Shape::Cross, at, 2.6),
            _ => canvas.mark(&format!("dot {class}"), Shape::Circle, at, 1.7),
        }
        canvas.hover(&dot.key, at);
    }
    for median in &series.medians {
        if let Some(bounds) = median.bounds {
            let (low, high) = (frame.at(median.x, bounds.low_us), frame.at(median.x, bounds.high_us));
            canvas.line(&format!("interval {class}"), low, high);
            canvas.hover(&median.key, high);
        }
        if let (Some(y), Some(shape)) = (median.y, series.shape) {
            let (low, high) = (frame.at(median.x, y.low), frame.at(median.x, y.high));
            if (low.1 - high.1).abs() > 1.0 {
                canvas.line(&format!("whisker {class}"), low, high);
            }
            let at = frame.at(median.x, y.median);
            canvas.mark(class, shape, at, 3.4);
            canvas.hover(&median.key, at);
        }
    }
    // Drawn last: a median must not hide an invalid trial.
    for dot in series.dots.iter().filter(|dot| dot.state == State::Invalid) {
        let at = frame.at(dot.x, dot.y);
        canvas.mark(&format!("invalid {class}"), Shape::Circle, at, 5.0);
        canvas.hover(&dot.key, at);
    }
}
