//! Runs a [`Plan`], of a command or of a study.
//!
//! A [`Bench`] is a generator with its servers, kept running from block to block; its [`Trials`] runs trials and keeps
//! their result on disk. The [`Runner`] executes the blocks of a plan: it searches maxima, measures references and
//! points in a random order, repeats disturbed measurements, and searches the peaks at the end. A [`Record`] stores the
//! cells in addition to the benches' own results, [`Progress`] reports the progress.

mod agenda;
mod bench;
mod knob_guard;
mod metrics;
mod pair;
mod plan;
pub(crate) mod processors;
mod progress;
mod record;
mod remote_host;
mod runner;
mod seeds;
mod step;
mod trials;

pub use bench::{Bench, Setup};
pub use knob_guard::{KnobGuard, LEFT_OUT};
pub(crate) use knob_guard::{changes_this_machine, client_names as client_knob_names, names as knob_names};
pub(crate) use metrics::ADVICE_USED;
#[cfg(test)]
pub(crate) use pair::place;
pub(crate) use plan::{BenchPlan, Pair, Point};
pub use plan::{Plan, Sweep};
pub use progress::{Event, Progress, Step, Tracker, Unwatched, Where};
pub use record::{Record, Unkept};
pub use remote_host::{RemoteHost, Tuner};
pub(crate) use runner::limits;
pub use runner::{Ended, Runner};
#[cfg(test)]
pub(crate) use step::BlockStep;
pub use trials::{Request, Trials};
