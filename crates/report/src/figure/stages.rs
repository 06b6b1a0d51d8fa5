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
    look("network", "network", "l0"),
    look("epoll", "epoll", "s1"),
    look("event_library", "event library", "s3"),
    look("read", "read", "l2"),
    look("open", "open", "s4"),
    look("application", "application", "s2"),
    look("send", "send", "l4"),
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

/// The width of `names` beside the bars, if they leave those the most of the canvas; else they stand above them, as on a
/// phone. A bold letter is about 0.6 of the font's height wide.
fn beside(names: &[String], size: Size, width: f64) -> Option<f64> {
    let longest = names.iter().map(|name| name.chars().count()).max()?;
    let needed = 0.6 * size.font() * longest as f64 + 14.0;
    (size == Size::Wide && needed <= 0.4 * width).then_some(needed)
}

fn draw(staged: &[StageTimes], size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let names: Vec<String> = staged.iter().map(|load| format!("{} · {}", load.subject, load.label)).collect();
    let beside = beside(&names, size, canvas.width);
    let (row, top) = (2.6 * font, 3.4 * font);
    let left = beside.unwrap_or(4.0);
    let row = if beside.is_some() { row } else { row + 1.5 * font };
    let right = canvas.width - 7.0 * font;
    canvas.height = top + row * staged.len() as f64 + 4.0;
    keys(&mut canvas, font);
    for (i, (load, name)) in staged.iter().zip(names).enumerate() {
        let bottom = top + row * (i + 1) as f64 - 0.5 * font;
        let (bar, middle) = (1.7 * font, bottom - 0.5 * font);
        match beside {
            Some(_) => canvas.text("label", (left - 10.0, middle), Anchor::End, name),
            None => canvas.text("label", (left, bottom - bar - 0.4 * font), Anchor::Start, name),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stand_above_their_bars() {
        let check = |name: &str, size: Size, expect: bool| {
            let width = Canvas::new(size).width;
            let found = beside(&["short".to_owned(), name.to_owned()], size, width);
            assert_eq!(found.is_some(), expect, "{name}");
            // The end of the text is 10 left of the bars, so that its start must be within the canvas.
            let text = 0.6 * size.font() * name.chars().count() as f64;
            assert!(found.is_none_or(|left| left - 10.0 - text >= 0.0), "{name}: {found:?}");
        };
        check("Memcached, ThunderX (published) · 90 %", Size::Wide, true);
        check("Memcached, ThunderX (published) · 90 %", Size::Half, false);
        check(&"a server with a very long name".repeat(3), Size::Wide, false);
        assert_eq!(beside(&[], Size::Wide, 960.0), None);
    }
}
