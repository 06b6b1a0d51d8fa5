use serde::{Deserialize, Serialize};

use super::X;

/// A figure in the paper's form, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Figure {
    /// Its name within the study.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Kind of plot.
    pub kind: FigureKind,
    /// The horizontal axis. For percentiles: 0 to 100.
    pub x: Axis,
    /// The vertical axis. For a matrix: its rows.
    pub y: Axis,
    /// Our series and the published ones. For a matrix: one series for each row, with the row's name.
    pub series: Vec<Series>,
    /// The line of the QoS target. Units: those of `y`.
    pub qos_us: Option<f64>,
    /// Its caption.
    pub caption: String,
    /// The points and numbers of trials in which the server was overloaded, in words; `None` without overload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overloaded: Option<String>,
}

/// Kind of plot of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// A line for each series, with whiskers.
    #[default]
    Lines,
    /// A group of bars for each position, with whiskers.
    Bars,
    /// A grid of labelled cells, each with its published counterpart.
    Matrix,
    /// Response-time distributions: percentile against µs.
    Percentiles,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Axis {
    /// Quantity of the axis: `load`, `99th percentile`.
    pub label: String,
    /// The unit; empty for a quantity without one.
    pub unit: String,
    /// Scale of numbers.
    pub scale: Scale,
    /// The names in their order; empty for an axis of numbers.
    pub categories: Vec<String>,
}

/// Scale of numbers on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal distances for equal differences.
    #[default]
    Linear,
    /// Equal distances for equal ratios.
    Log,
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Whether it comes from a publication and was not measured here.
    pub published: bool,
    /// The publication; `None` for our own.
    pub source: Option<String>,
    /// Points by position, rising.
    pub points: Vec<Point>,
}

/// A point of a series: the median over its blocks, or a published value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: X,
    /// The value, in the unit of the vertical axis; `None` if there is only a label.
    pub y: Option<f64>,
    /// The lower end of the 95 % interval of the median, or the least value if there were too few repeats for an
    /// interval.
    pub low: Option<f64>,
    /// Its upper end, or the greatest value.
    pub high: Option<f64>,
    /// Number of repeats; 0 for a published value.
    pub n: u32,
    /// Whether all its repeats were valid; drawn hatched otherwise.
    pub valid: bool,
    /// Remark for the reader.
    pub note: Option<String>,
    /// For a matrix: the text of the cell, such as `MN`, [`Point::NEITHER`] or [`Point::UNKNOWN`].
    #[serde(default)]
    pub label: Option<String>,
    /// For a matrix: the published value of the cell.
    #[serde(default)]
    pub published: Option<String>,
}

impl Point {
    /// For a matrix: neither service meets its target there.
    pub const NEITHER: &str = "–";
    /// For a matrix: unknown, since no trial there is usable.
    pub const UNKNOWN: &str = "?";
}

impl Default for Point {
    /// A point without measurements; not marked invalid.
    fn default() -> Point {
        Point {
            x: X::default(),
            y: None,
            low: None,
            high: None,
            n: 0,
            valid: true,
            note: None,
            label: None,
            published: None,
        }
    }
}
