//! The same answers for a terminal.

mod comparison;
mod experiment;
mod grid;
mod ink;
mod parts;
mod study;

pub use comparison::comparison_table;
pub use experiment::experiment_table;
pub use study::{study_comparison_table, study_table};
