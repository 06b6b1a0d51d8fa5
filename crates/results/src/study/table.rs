use serde::{Deserialize, Serialize};

/// A table, with the published rows next to ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Table {
    /// Its name within the study.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Column headings.
    pub columns: Vec<String>,
    /// Rows, each with one cell per column.
    pub rows: Vec<Row>,
    /// The publication of the published rows; empty without such rows.
    pub source: String,
    /// The points and numbers of trials in which the server was overloaded, in words; `None` without overload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overloaded: Option<String>,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Row {
    /// Whether it comes from a publication and was not measured here.
    pub published: bool,
    /// Cells, from left to right.
    pub cells: Vec<Entry>,
}

/// The content of a cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Entry {
    /// A quantity.
    Quantity {
        /// Value in the unit.
        value: f64,
        /// Unit: `us`, `ms`, `rps`, `%`; empty for a plain number.
        unit: String,
        /// The lower end of its interval.
        low: Option<f64>,
        /// The upper end of its interval.
        high: Option<f64>,
    },
    /// Words, or `–` for an empty cell.
    Text(String),
}

impl Entry {
    /// A quantity without an interval.
    pub fn quantity(value: f64, unit: &str) -> Entry {
        Entry::Quantity { value, unit: unit.into(), low: None, high: None }
    }
}

impl From<&str> for Entry {
    fn from(text: &str) -> Entry {
        Entry::Text(text.to_owned())
    }
}
