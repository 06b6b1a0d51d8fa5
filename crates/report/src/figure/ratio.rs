use maud::{Markup, html};
use results::{Comparison, Metric};

use super::canvas::Anchor;
use super::frame::{Axis, Frame, Margins};
use super::scale::Scale;
use super::{Canvas, Size};
use crate::measure::Measure;
use crate::number;
use crate::tips::Tips;

/// The ratio b/a of every figure at every load, with its interval.
pub(crate) fn ratios(comparison: &Comparison, closed: bool, tips: &mut Tips) -> Markup {
    let title = format!("{} over {}: ratio of response times", comparison.b.label, comparison.a.label);
    for (i, point) in comparison.points.iter().enumerate() {
        let offered = number::rate(Some(point.offered_rps_a));
        for (j, ratio) in point.ratios.iter().enumerate() {
            let rows = vec![
                ("ratio".to_owned(), number::ratio(ratio.ratio)),
                (
                    if ratio.judged { "95 % interval" } else { "range" }.to_owned(),
                    number::ratio_range(ratio.low, ratio.high),
                ),
                (comparison.a.label.clone(), number::micros(Some(ratio.a_us))),
                (comparison.b.label.clone(), number::micros(Some(ratio.b_us))),
                ("repeats".to_owned(), ratio.n.to_string()),
            ];
            tips.add(&format!("r{i}-{j}"), format!("{} at {offered}", ratio.metric.words()), rows);
        }
    }
    let caption = html! {
        "Below 1 " (comparison.b.label) " is faster, above 1 " (comparison.a.label) " is. "
        "Solid bars: the 95 % interval, from 6 repeats on. Dotted bars: the range that was seen, too little to judge. "
        "Hatched: loads with invalid trials, which are left out."
    };
    super::wide(&title, closed, caption, |size| draw(comparison, size))
}

const METRICS: [Metric; 5] = [Metric::Mean, Metric::P50, Metric::P99, Metric::WindowedP99, Metric::P999];

fn draw(comparison: &Comparison, size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = canvas.size.font();
    let ends = comparison.points.iter().flat_map(|p| &p.ratios).flat_map(|r| [r.low, r.high, r.ratio]);
    let y = Scale::ratio(ends.collect::<Vec<_>>().into_iter());
    let margins = Margins { left: 54.0, right: 14.0, top: 3.6 * font + 8.0, bottom: 3.0 * font + 10.0 };
    // One slot a load: the loads of the two sides may differ, and neighbours must not overlap.
    let slots = comparison.points.len().max(1) as f64;
    let frame = Frame::new(&canvas, margins, Scale::linear(slots), y);
    let none = |_| String::new();
    let x_title = format!("offered load of {}", super::frame::clip(&comparison.a.label, 24));
    let tick = |ratio: f64| format!("{}×", number::short(ratio));
    frame.axes(&mut canvas, &Axis { title: &x_title, tick: &none }, &Axis { title: "ratio", tick: &tick });
    let one = frame.y.at(1.0);
    canvas.line("one", (frame.left, one), (frame.right, one));
    let name = |label: &str| super::frame::clip(label, 14);
    let sides = format!("↑ {} faster · ↓ {} faster", name(&comparison.a.label), name(&comparison.b.label));
    canvas.text("note", (frame.right, font), Anchor::End, sides);
    legend(&mut canvas, frame.left);

    let every = (slots * 4.2 * font / (frame.right - frame.left)).ceil().max(1.0) as usize;
    for (i, point) in comparison.points.iter().enumerate() {
        let (start, end) = (frame.x.at(i as f64), frame.x.at(i as f64 + 1.0));
        if i % every == 0 {
            let label = number::rate(Some(point.offered_rps_a));
            let at = ((start + end) / 2.0, frame.bottom + 5.0 + font);
            canvas.text("tick", at, Anchor::Middle, label);
        }
        if point.invalid_trials > 0 {
            // The whole slot where nothing valid is left, a strip along the axis where some trials were left out.
            let height = if point.ratios.is_empty() { frame.bottom - frame.top } else { 11.0 };
            canvas.rect("hatched-area", (start + 1.0, frame.bottom - height), end - start - 2.0, height);
        }
        for (j, ratio) in point.ratios.iter().enumerate() {
            let Some(place) = METRICS.iter().position(|metric| *metric == ratio.metric) else { continue };
            let looks = Measure::of_metric(ratio.metric);
            let x = start + (end - start) * (0.18 + 0.16 * place as f64);
            let at = (x, frame.y.at(ratio.ratio));
            let unjudged = if ratio.judged { "" } else { " seen" };
            canvas.line(
                &format!("interval{unjudged} {}", looks.class),
                (x, frame.y.at(ratio.low)),
                (x, frame.y.at(ratio.high)),
            );
            canvas.mark(looks.class, looks.shape, at, 3.4);
            canvas.hover(&format!("r{i}-{j}"), at);
        }
    }
    canvas
}

fn legend(canvas: &mut Canvas, left: f64) {
    let font = canvas.size.font();
    let mut x = left;
    for measure in METRICS.map(Measure::of_metric) {
        canvas.mark(measure.class, measure.shape, (x + 4.0, 2.35 * font), 3.4);
        let label =
            if canvas.size == Size::Half { measure.label.replace("windowed", "win.") } else { measure.label };
        canvas.text(&format!("label {}", measure.class), (x + 12.0, 2.7 * font), Anchor::Start, &label);
        x += super::frame::text_width(&label, font) + 26.0;
    }
}
