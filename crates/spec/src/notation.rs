//! How a distribution is written, and what there is to know of it: one text for parser, help and catalogue.

/// How one kind of a distribution, a process or a data set is written.
///
/// It is declared with the type that it belongs to; each type tells the notation of every value, so that no notation
/// is missing in the catalogue, and a test parses every example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notation {
    /// Syntax, with placeholders in capitals.
    pub syntax: &'static str,
    /// Meaning, with its parameters and their units.
    pub meaning: &'static str,
    /// What can be typed as it stands.
    pub example: &'static str,
    /// Source of the law.
    pub source: &'static str,
    /// The source's figures that a test compares the implementation with, or the test's other reference.
    pub check: &'static str,
}

impl Notation {
    /// The word before the colon, by which it is called.
    pub fn name(&self) -> &'static str {
        self.syntax.split([':', '[']).next().unwrap_or(self.syntax)
    }
}
