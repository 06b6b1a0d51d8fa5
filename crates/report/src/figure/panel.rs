use maud::{Markup, PreEscaped, html};
use results::{LoadPoint, Trial, WindowPoint};

use super::canvas::Anchor;
use super::distribution::load_label;
use super::frame::{Frame, Margins};
use super::place::place;
use super::scale::Scale;
use super::series::State;
use super::{Canvas, Shape, Size};
use crate::load_point::choose;
use crate::measure::Target;
use crate::number;
use crate::subject::Subject;

/// The trial that represents a load in drawings over time.
pub(super) struct Panel<'a> {
    pub subject: &'a Subject<'a>,
    /// The subject and load: `sphinx · 90 % · 135 krps`.
    pub label: String,
    pub trial: &'a Trial,
}

/// The representative trials of some loads of `subjects`: both ends, and the highest that meets the target.
pub(super) fn panels<'a>(subjects: &'a [Subject<'a>], target: &Target) -> Vec<Panel<'a>> {
    let meets = |point: &LoadPoint| target.is_met(point);
    let each = if subjects.len() > 1 { 3 } else { 6 };
    let mut panels = Vec::new();
    for subject in subjects {
        let who = subject.prefix(subjects);
        for point in choose(&subject.points, each, meets) {
            if let Some(trial) = point.representative(|trial| target.used(trial)) {
                panels.push(Panel { subject, label: format!("{who}{}", load_label(point)), trial });
            }
        }
    }
    panels
}

/// Small drawings side by side; for a single load, one drawing of half the column's width.
pub(super) fn tiles<'a>(
    what: &str,
    caption: &str,
    panels: impl Iterator<Item = &'a Panel<'a>>,
    mut draw: impl FnMut(&Panel, Size) -> Canvas,
) -> Markup {
    let panels: Vec<&Panel> = panels.collect();
    let svg = |canvas: Canvas, panel: &Panel| {
        let closed = panel.trial.is_closed_loop();
        let title = super::named(&format!("{what}, {}", panel.label), closed);
        PreEscaped(canvas.stamped(closed).svg("", &title))
    };
    match panels.as_slice() {
        [] => html! {},
        [panel] => {
            let drawing = draw(panel, Size::Half);
            super::half(what, panel.trial.is_closed_loop(), html! { (caption) }, drawing)
        }
        panels => html! {
            figure.wide {
                h3 { (what) }
                figcaption.above { (caption) }
                div.tiles {
                    @for panel in panels {
                        div.tile {
                            h4 { (panel.label) " " span.muted { "trial " (panel.trial.id) } }
                            (svg(draw(panel, Size::Tile), panel))
                        }
                    }
                }
            }
        },
    }
}

/// The frame of a drawing over the time of `trial`: the grid, the host's disturbances, and hatching if the trial is
/// invalid. The caller chooses the `ticks` of the y axis.
pub(super) fn over_time(
    canvas: &mut Canvas,
    trial: &Trial,
    y: &Scale,
    room: f64,
    ticks: impl Fn(&Frame) -> Vec<(f64, String)>,
) -> Frame {
    let font = canvas.size.font();
    let last = trial.windows.iter().map(|window| window.start_ms).max().unwrap_or(0);
    let end_ms = last as f64 + window_ms(trial);
    // A closed loop is named over the plot.
    let top = if trial.is_closed_loop() { 8.0 + font } else { 8.0 };
    let margins = Margins { left: 46.0, right: room, top, bottom: 22.0 };
    let frame = Frame::new(canvas, margins, Scale::linear(end_ms / 1e3), y.clone());
    let (width, height) = (frame.x.at(window_ms(trial) / 1e3) - frame.left, frame.bottom - frame.top);
    for window in trial.windows.iter().filter(|window| window.disturbed) {
        canvas.rect("disturbed", (frame.x.at(window.start_ms as f64 / 1e3), frame.top), width, height);
    }
    if State::of(&trial.verdict) == State::Invalid {
        canvas.rect("hatched-area", (frame.left, frame.top), frame.right - frame.left, height);
    }
    for (tick, label) in ticks(&frame) {
        let at = frame.y.at(tick);
        canvas.line("grid", (frame.left, at), (frame.right, at));
        canvas.text("tick", (frame.left - 6.0, at + 0.35 * font), Anchor::End, label);
    }
    for tick in frame.x.ticks(44.0) {
        let label = format!("{} s", number::short(tick));
        canvas.text("tick", (frame.x.at(tick), frame.bottom + 3.0 + font), Anchor::Middle, label);
    }
    canvas.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    frame
}

/// A line of a drawing over time.
pub(super) struct Line {
    /// The style class: colour and dash.
    pub class: &'static str,
    /// The name at its end; empty for none.
    pub name: &'static str,
    /// Seconds from the start of the window, and the value there, if there is one.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Line {
    /// A figure of the windows of `trial`.
    pub(super) fn of_windows(
        class: &'static str,
        name: &'static str,
        trial: &Trial,
        read: impl Fn(&WindowPoint) -> Option<f64>,
    ) -> Line {
        let points = trial.windows.iter().map(|window| (middle_s(window), read(window)));
        Line { class, name, points: points.collect() }
    }

    /// Draws the curve with gaps for missing values; returns the height of its end.
    fn draw(&self, canvas: &mut Canvas, frame: &Frame) -> Option<f64> {
        let at = |(s, value): &(f64, Option<f64>)| Some(frame.at(*s, (*value)?));
        for run in self.points.split(|point| at(point).is_none()) {
            let run: Vec<(f64, f64)> = run.iter().filter_map(at).collect();
            match run[..] {
                [alone] => canvas.mark(&format!("dot {}", self.class), Shape::Circle, alone, 1.7),
                _ => canvas.path(&format!("curve thin {}", self.class), &run),
            }
        }
        self.points.iter().rev().find_map(at).map(|(_, y)| y)
    }
}

/// The middle of a window of 100 ms.
pub(super) fn middle_s(window: &WindowPoint) -> f64 {
    (window.start_ms as f64 + 50.0) / 1e3
}

/// A drawing of `lines` over the time of a trial. `top` gives the upper end of the axis from the greatest value, `tick`
/// the text of a tick, if it has one.
pub(super) fn line_chart(
    panel: &Panel,
    size: Size,
    room: f64,
    top: fn(f64) -> f64,
    tick: fn(f64) -> Option<String>,
    lines: &[Line],
) -> Canvas {
    let mut canvas = Canvas::new(size);
    let values = lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value);
    let scale = Scale::linear(top(values.fold(0.0, f64::max)));
    let frame = over_time(&mut canvas, panel.trial, &scale, room, |frame| {
        frame.y.ticks(24.0).into_iter().filter_map(|at| Some((at, tick(at)?))).collect()
    });
    draw_lines(&mut canvas, &frame, lines);
    canvas
}

/// Draws `lines`, each with its name at its end.
pub(super) fn draw_lines(canvas: &mut Canvas, frame: &Frame, lines: &[Line]) {
    let ends = lines.iter().map(|line| (line.class, line.name, line.draw(canvas, frame))).collect();
    name_ends(canvas, frame, ends);
}

/// Names lines at their ends: class, name, and the height of the end.
pub(super) fn name_ends(canvas: &mut Canvas, frame: &Frame, ends: Vec<(&str, &str, Option<f64>)>) {
    let font = canvas.size.font();
    let named = ends.into_iter().filter(|(_, name, _)| !name.is_empty());
    let ends: Vec<(&str, &str, f64)> =
        named.filter_map(|(class, name, end)| Some((class, name, end?))).collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, _, end)| *end).collect();
    let placed = place(&wanted, &vec![1.15 * font; wanted.len()], frame.top - font, frame.bottom + font);
    for ((class, name, _), y) in ends.iter().zip(placed) {
        canvas.text(&format!("label {class}"), (frame.right + 4.0, y + 0.35 * font), Anchor::Start, name);
    }
}

/// The ticks of counts: whole numbers.
pub(super) fn whole(tick: f64) -> Option<String> {
    (tick.fract() == 0.0).then(|| number::thousands(tick))
}

/// The length of a trial's windows: 100 ms, and longer in a trial of more than 100 s.
pub(super) fn window_ms(trial: &Trial) -> f64 {
    let starts = trial.windows.first().zip(trial.windows.get(1));
    starts.map_or(100.0, |(first, second)| second.start_ms.saturating_sub(first.start_ms).max(1) as f64)
}

/// The ticks of a logarithmic axis of times: its decades.
pub(super) fn decades(frame: &Frame) -> Vec<(f64, String)> {
    let whole = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    let ticks = frame.y.ticks(26.0).into_iter().filter(whole);
    ticks.map(|tick| (tick, number::micros_short(tick))).collect()
}
