//! The same answers for a terminal.

mod comparison;
mod experiment;
mod grid;
mod ink;
mod one_load;
mod study;
mod traces;

pub(crate) use comparison::ratios_as_text;
pub(crate) use experiment::loads_as_text;
pub(crate) use study::{figure_as_text, table_as_text};

pub use comparison::comparison_table;
pub use experiment::experiment_table;
pub use study::study_table;

/// `rows` under `head`, in columns as wide as their widest cell.
pub fn words_table(head: &[&str], rows: &[Vec<String>], color: bool) -> String {
    grid::Grid::of_words(head, rows).render(usize::MAX, ink::Ink { color }) + "\n"
}
