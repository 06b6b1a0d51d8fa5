//! Figures, tables and the self-contained page that answer an experiment's question.
//!
//! Everything here is a pure function of the records in [`results`]: a report can be rebuilt years later on another
//! machine. A page is one HTML file that loads nothing; its figures are SVG drawn here; its script only adds tooltips.
//! The terminal gets the same answer as a table.
//!
//! [`experiment_html`], [`comparison_html`], [`study_html`] and [`history_html`] assemble the pages from `page` and `figure`;
//! [`experiment_table`], [`comparison_table`] and [`study_table`] write the terminal's tables. A `subject::Subject` is
//! one target with its trials gathered by load, which the first two draw; a study has its own figures.
//! [`experiment_tables`] and [`study_tables`] give the tables as words, for documents.
//!
//! Try it: `cargo run -p report --example sample`, then open `/tmp/taillight-sample/sweep.html`.

mod comparison;
mod disturbance;
mod experiment;
mod figure;
mod headline;
mod history;
mod index;
mod load;
mod load_point;
mod measure;
mod notes;
mod number;
mod observed;
mod one_load;
mod page;
mod quantity;
mod sessions;
mod study;
mod subject;
mod tables;
mod terminal;
mod tips;
mod traces;
pub mod view;

pub use comparison::{Sides, comparison_html, comparison_markdown};
pub use disturbance::unanswered;
pub use experiment::experiment_html;
pub use history::history_html;
pub use index::{Found, IndexEntry, index_html};
pub use study::study_html;
pub use tables::{experiment_tables, study_tables};
pub use terminal::{comparison_table, experiment_table, study_table, words_table};

/// `found` without duplicates, in the order in which each came first.
fn distinct<T: PartialEq>(found: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in found {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}
