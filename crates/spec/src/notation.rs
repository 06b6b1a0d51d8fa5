//! The notation of distributions and their documentation: one text for parser, help and catalogue.

/// The notation of one kind of a distribution, a process or a data set.
///
/// It is declared with its type; each type returns the notation of every value, so that the catalogue is complete,
/// and a test parses every example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notation {
    /// Syntax, with placeholders in capitals.
    pub syntax: &'static str,
    /// Meaning, with its parameters and their units.
    pub meaning: &'static str,
    /// A valid text.
    pub example: &'static str,
    /// Source of the law.
    pub source: &'static str,
    /// The source's figures that a test compares the implementation with, or the test's other reference.
    pub check: &'static str,
}

impl Notation {
    /// The name: the word before the colon.
    pub fn name(&self) -> &'static str {
        name(self.syntax)
    }

    /// The one of `forms` in which `value` is written.
    pub(crate) fn of(forms: &'static [Notation], value: &impl ToString) -> &'static Notation {
        let text = value.to_string();
        forms.iter().find(|form| form.name() == name(&text)).expect("every value is written in a form")
    }
}

fn name(text: &str) -> &str {
    text.split([':', '[']).next().unwrap_or(text)
}
