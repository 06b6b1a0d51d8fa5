//! Storage for the cells of a run.

use std::collections::BTreeMap;

use results::study::Cell;

use super::Plan;
use crate::Error;

/// Stores the measurements of a run, in addition to the results of its benches.
pub trait Record {
    /// A bench is about to be measured: notes for the reader, and the version of its server.
    fn begin(&mut self, _notes: &[String], _version: &str) {}

    /// A point was measured; `instead`: once more, of the cell that was entered as this one, from 0.
    ///
    /// Errors: it cannot be written.
    fn enter(&mut self, cell: Cell, instead: Option<usize>) -> Result<(), Error>;

    /// How many were entered.
    fn cells(&self) -> usize;

    /// A remark for the reader.
    fn note(&mut self, _words: &str) {}

    /// Whether none of `more` further blocks is needed for a claim; `None` without claims, where the comparison of the
    /// targets decides.
    fn is_settled(&self, _more: usize) -> Option<bool> {
        None
    }

    /// Something is missing, and why.
    fn leave_out(&mut self, _what: &str, _reason: &str) {}

    /// A block is whole; `references` are the figures of each reference in it.
    ///
    /// Errors: it cannot be written.
    fn end_block(
        &mut self,
        _plan: &Plan,
        _block: u32,
        _references: &[BTreeMap<String, f64>],
    ) -> Result<(), Error> {
        Ok(())
    }
}

/// Of a command, whose benches keep all that it measures.
#[derive(Debug, Default)]
pub struct Unkept(usize);

impl Record for Unkept {
    fn enter(&mut self, _: Cell, instead: Option<usize>) -> Result<(), Error> {
        self.0 += usize::from(instead.is_none());
        Ok(())
    }

    fn cells(&self) -> usize {
        self.0
    }
}
