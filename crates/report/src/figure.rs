//! Figures as SVG, drawn here from lines and text so that a report needs no library and no network.
//!
//! A figure is drawn once for each width: text inside an SVG scales with it, so that one drawing cannot serve both a
//! wide screen and a phone. The style sheet shows the fitting one.

mod breakdown;
mod calls;
mod canvas;
mod curve;
mod disk;
mod distribution;
mod flame;
mod frame;
mod generator;
mod heat;
mod latency;
mod limits;
mod load_chart;
mod panel;
mod place;
mod scale;
mod series;
mod sessions;
mod shape;
mod stacked;
mod stages;
mod study;
mod throughput;
mod timeline;
mod topology;
mod waterfall;

pub(crate) use breakdown::{Broken, Shares, by_part, by_service, shares};
pub(crate) use calls::{calls, p50_to_p99};
pub(crate) use canvas::{Canvas, definitions};
pub(crate) use distribution::{distribution, load_label};
pub(crate) use flame::flame;
pub(crate) use generator::{busy, lag};
pub(crate) use latency::{latency, latency_panels, latency_stamp};
pub(crate) use limits::limits;
pub(crate) use sessions::sessions;
pub(crate) use shape::Shape;
pub(crate) use stages::{STAGES, StageTimes, stages};
pub(crate) use study::{history_figure, matrix_key, nothing_at, study_figure, study_stamp};
pub(crate) use throughput::throughput;
pub(crate) use timeline::timelines;
pub(crate) use topology::topology;
pub(crate) use waterfall::waterfall;

use maud::{Markup, PreEscaped, html};

/// The width that a figure is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// The whole column of a wide screen or of paper.
    Wide,
    /// A phone, or half the column.
    Half,
    /// One of many small panels.
    Tile,
}

impl Size {
    /// Width and height in the SVG's own units: CSS pixels at its natural size.
    fn area(self) -> (f64, f64) {
        match self {
            Size::Wide => (960.0, 470.0),
            Size::Half => (400.0, 330.0),
            Size::Tile => (300.0, 164.0),
        }
    }

    /// The height of its text.
    fn font(self) -> f64 {
        match self {
            Size::Wide => 13.0,
            Size::Half => 12.0,
            Size::Tile => 11.5,
        }
    }
}

/// A figure over the whole column, drawn wide, and again for a phone. `closed` marks figures of a closed loop.
pub(crate) fn wide(title: &str, closed: bool, caption: Markup, draw: impl Fn(Size) -> Canvas) -> Markup {
    let title = &named(title, closed);
    html! {
        figure.wide {
            h3 { (title) }
            (PreEscaped(draw(Size::Wide).stamped(closed).svg("w", title)))
            (PreEscaped(draw(Size::Half).stamped(closed).svg("h", title)))
            figcaption { (caption) }
        }
    }
}

/// A figure over half the column, which is also a phone's width.
pub(crate) fn half(title: &str, closed: bool, caption: Markup, drawing: Canvas) -> Markup {
    let title = &named(title, closed);
    html! {
        figure.half {
            h3 { (title) }
            (PreEscaped(drawing.stamped(closed).svg("", title)))
            figcaption { (caption) }
        }
    }
}

/// The title, marked if the load is a closed loop.
fn named(title: &str, closed: bool) -> String {
    if closed { format!("{title} · {}", crate::subject::CLOSED) } else { title.into() }
}
