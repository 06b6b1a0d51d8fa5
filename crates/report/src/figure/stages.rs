use maud::{Markup, html};

use super::canvas::Anchor;
use super::{Canvas, Size};
use crate::number;

/// A stage as it is drawn.
pub(crate) struct Look {
    /// As records name it.
    pub name: &'static str,
    /// As it is written.
    pub label: &'static str,
    class: &'static str,
}

const fn look(name: &'static str, label: &'static str, class: &'static str) -> Look {
    Look { name, label, class }
}

/// In the order in which a request passes them. Waiting in the warm colours, work in the cold ones.
pub(crate) const STAGES: [Look; 7] = [
    look("network", "network", "l1"),
    look("epoll", "epoll", "s1"),
    look("event_library", "event library", "s3"),
    look("read", "read", "l3"),
    look("open", "open", "s4"),
    look("application", "application", "s2"),
    look("send", "send", "l0"),
];

/// A request's time in the server at one load.
pub(crate) struct StageTimes {
    pub subject: String,
    pub label: String,
    /// By [`STAGES`]; `None` where there is no such stage. Units: µs.
    pub us: [Option<f64>; STAGES.len()],
    /// Which need not be the sum. Units: µs.
    pub total: Option<f64>,
}

impl StageTimes {
    /// The mean time in the stage `name`, 0 where there is none. Units: µs.
    pub(crate) fn mean_us(&self, name: &str) -> f64 {
        STAGES.iter().zip(self.us).find(|(stage, _)| stage.name == name).and_then(|(_, us)| us).unwrap_or(0.0)
    }
}

/// A bar for each load, cut into stages: what part of a request's time in the server each takes.
pub(crate) fn stages(staged: &[StageTimes]) -> Markup {
    let caption = html! {
        "The parts of the mean time that a request spends in the server, by load; the whole is written behind each bar. "
        "Epoll: from the socket to the thread that returns from waiting. Event library: from there to this request’s read. "
        "Both are waiting for the thread."
    };
    super::wide("The stages of a request", false, caption, |size| draw(staged, size))
}

fn draw(staged: &[StageTimes], size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let (row, top) = (2.6 * font, 3.4 * font);
    let left = if size == Size::Wide { 230.0 } else { 4.0 };
    // On a phone the name stands above its bar.
    let row = if size == Size::Wide { row } else { row + 1.5 * font };
    let right = canvas.width - 7.0 * font;
    canvas.height = top + row * staged.len() as f64 + 4.0;
    keys(&mut canvas, font);
    for (i, load) in staged.iter().enumerate() {
        let bottom = top + row * (i + 1) as f64 - 0.5 * font;
        let (bar, middle) = (1.7 * font, bottom - 0.5 * font);
        let name = format!("{} · {}", load.subject, load.label);
        match size {
            Size::Wide => canvas.text("label", (left - 10.0, middle), Anchor::End, name),
            _ => canvas.text("label", (left, bottom - bar - 0.4 * font), Anchor::Start, name),
        }
        let sum: f64 = load.us.iter().flatten().sum();
        let mut x = left;
        for (stage, us) in STAGES.iter().zip(load.us) {
            let width = us.unwrap_or(0.0) / sum * (right - left);
            canvas.rect(&format!("bar {}", stage.class), (x, bottom - bar), width, bar);
            x += width;
        }
        canvas.text("label", (right + 8.0, middle), Anchor::Start, number::micros(load.total));
    }
    canvas
}

fn keys(canvas: &mut Canvas, font: f64) {
    let (mut x, mut y) = (4.0, font);
    for stage in &STAGES {
        // A letter is about 0.56 of the font's height wide.
        let width = 1.9 * font + 0.56 * font * stage.label.len() as f64;
        if x + width > canvas.width {
            (x, y) = (4.0, y + 1.4 * font);
        }
        canvas.rect(&format!("bar {}", stage.class), (x, y - 0.8 * font), 0.9 * font, 0.9 * font);
        canvas.text("note", (x + 1.2 * font, y), Anchor::Start, stage.label);
        x += width;
    }
}
