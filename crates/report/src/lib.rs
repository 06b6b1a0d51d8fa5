//! Figures, tables and the self-contained page that answer what an experiment asked.
//!
//! Everything here is a pure function of the records in [`results`]: a report can be rebuilt years later on
//! another machine. A page is one HTML file that loads nothing; its figures are SVG drawn here; its script
//! only adds tooltips. The terminal gets the same answer as a table.
//!
//! [`experiment_html`] and [`comparison_html`] assemble the pages from `page` and `figure`;
//! [`experiment_table`] and [`comparison_table`] write the terminal's tables. A `subject::Subject` is one
//! target with its trials gathered by load, which all of them draw.
//!
//! Try it: `cargo run -p report --example sample`, then open `/tmp/taillight-sample/sweep.html`.

mod comparison;
mod experiment;
mod figure;
mod headline;
mod judgement;
mod load_point;
mod measure;
mod notes;
mod number;
mod page;
mod subject;
mod terminal;
mod tips;

pub use comparison::comparison_html;
pub use experiment::experiment_html;
pub use terminal::{comparison_table, experiment_table};
