//! The same answers for a terminal.

mod comparison;
mod experiment;
mod grid;
mod ink;
mod parts;

pub use comparison::comparison_table;
pub use experiment::experiment_table;
