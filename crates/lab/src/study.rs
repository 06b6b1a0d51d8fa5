//! Studies: a published figure measured again, its claims judged.
//!
//! A [`Definition`] is read from `study.toml` and `claims.toml`, whose parameters and axes are expressions over a
//! [`Machine`], or from the file of a single experiment, and resolved for a host into a [`Plan`](crate::Plan): benches (a server with its generator), points, references, and what is left out with
//! its reason. [`run`] goes through it block by block. Each block measures the maxima and the reference points
//! again and all points in an order of its own, so that the drift of the machine cancels in ratios within a block.
//! Figures, tables and verdicts are computed from the cells of the record, also years later ([`conclude`]).
//!
//! Try it: `cargo run --release -- study list`.

mod axis;
mod claim;
mod definition;
mod draw;
mod expand;
mod experiment;
mod facts;
mod judge;
mod language;
mod library;
mod machine;
mod matrix;
mod outline;
mod parameter;
mod picture;
mod plan;
mod record;
mod run;
mod section;
mod summary;
mod variant;

pub use claim::Claim;
pub use definition::{Definition, StudyKind};
pub use facts::{Facts, Machinery};
pub use library::{Embedded, STUDIES, Source};
pub use machine::{LoadFrom, Machine};
pub use outline::outline;
pub use parameter::{Overrides, words as in_words};
pub use record::{conclude, new_record};
pub use run::run;
pub(crate) use summary::Cells;
#[cfg(test)]
pub(crate) use summary::tests;

/// A definition that cannot be used: the file, the place in it, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionError(pub String);
