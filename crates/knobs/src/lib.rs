//! Changes the host for a measurement, and reverts it.
//!
//! A knob is data. A [`Knob`] is the text that a user writes (`cpu.set=0-3`); [`plan`] turns it into a list of
//! [`Action`]s, each of which can be printed as a shell command; an [`Engine`] applies them. It announces each action
//! in a journal on disk before it makes it, reads it back, and reverts all of them in reverse order when the
//! [`Applied`] is dropped. After a crash another process reads the journal and does the same ([`Engine::undo`]). A knob
//! that another process has changed since keeps its value and is reported as a [`Drift`].
//!
//! Everything that touches the host goes through [`Kernel`], so that tests can give the engine a machine that we lack:
//! cache ways, frequencies, cards with many queues.
//!
//! Try it: `cargo run -p taillight -- tune plan cpu.quota=50% --pid 1`.

mod action;
mod applied;
mod asked;
mod daemon;
mod engine;
mod error;
mod journal;
mod kernel;
mod knob;
mod moved;
mod namespace;
pub mod overhead;
mod overlap;
mod pacing;
mod plan;
mod profile;
mod reading;
mod restore;
mod state;
mod subject;
mod syntax;
mod undo;

pub use action::{Action, Step};
pub use applied::Applied;
pub use asked::RequestedKnobs;
pub use engine::{Engine, Moment, Watcher, state_folder};
pub use error::{Error, Problem};
pub use journal::{Begin, Entry, Story};
pub use kernel::{Kernel, LocalKernel};
pub use knob::{About, Cpus, Knob};
pub use namespace::Namespace;
pub use plan::{Planned, Skipped, plan, plan_what_can_be};
pub use profile::{Line, Profile};
pub use reading::Reading;
pub use restore::Drift;
pub use state::State;
pub use subject::Subject;
pub use syntax::Syntax;
pub use undo::{Status, Undone, status};
