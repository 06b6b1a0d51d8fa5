use maud::{Markup, html};

use super::stacked::{self, Bar, PartStyle, look};

/// In the order in which a request passes them. Warm colours for waiting, cold ones for work.
pub(crate) const STAGES: [PartStyle<'static>; 7] = [
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
    /// By [`STAGES`]; `None` for a missing stage. Units: µs.
    pub us: [Option<f64>; STAGES.len()],
    /// May differ from the sum. Units: µs.
    pub total: Option<f64>,
}

impl StageTimes {
    /// The mean time in the stage `name`, 0 if missing. Units: µs.
    pub(crate) fn mean_us(&self, name: &str) -> f64 {
        STAGES.iter().zip(self.us).find(|(stage, _)| stage.name == name).and_then(|(_, us)| us).unwrap_or(0.0)
    }
}

/// A bar for each load, cut into stages: the share of each in a request's time in the server.
pub(crate) fn stages(staged: &[StageTimes]) -> Markup {
    let caption = html! {
        "The parts of the mean time that a request spends in the server, by load; the whole is written behind each bar. "
        "Epoll: from the socket to the thread that returns from waiting. Event library: from there to this request’s read. "
        "Both are waiting for the thread."
    };
    let bar = |load: &StageTimes| Bar {
        name: format!("{} · {}", load.subject, load.label),
        us: load.us.to_vec(),
        total: load.total,
    };
    let bars: Vec<Bar> = staged.iter().map(bar).collect();
    super::wide("The stages of a request", false, caption, |size| stacked::draw(&STAGES, &bars, size))
}
