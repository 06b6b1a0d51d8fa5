use std::iter::once;

use results::Experiment;

/// Rows of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name and type of each column; the names are stable.
    pub columns: Vec<Column>,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// The type of its cells.
    pub kind: Type,
}

/// The type of a column's cells; any cell may also be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its name")]
pub enum Type {
    Text,
    Count,
    Number,
    Flag,
}

/// One value, or empty for a missing figure.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is its name")]
pub enum Cell {
    Text(String),
    Count(u64),
    Number(f64),
    Flag(bool),
    Empty,
}

/// A column's name, type and reader from a record.
pub(crate) type Reader<T> = (&'static str, Type, fn(&T) -> Cell);

impl Table {
    /// A row for each of `records`; a column for the name of the result, and one for each of `readers`.
    pub(crate) fn of<T>(
        experiment: &Experiment,
        readers: &[Reader<T>],
        records: impl Iterator<Item = T>,
    ) -> Table {
        let row = |record: T| {
            let result = Cell::from(experiment.name.as_str());
            once(result).chain(readers.iter().map(|(.., read)| read(&record))).collect()
        };
        let result = Column { name: "result", kind: Type::Text };
        let columns = readers.iter().map(|(name, kind, _)| Column { name, kind: *kind });
        Table { columns: once(result).chain(columns).collect(), rows: records.map(row).collect() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Cell {
        Cell::Count(n)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Cell {
        Cell::Flag(flag)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        if value.is_finite() { Cell::Number(value) } else { Cell::Empty }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Empty, Into::into)
    }
}
