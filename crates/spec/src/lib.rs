//! What a measurement is: the server, what is sent to it and how much, and for how long.
//!
//! A [`Spec`] is one value in all its forms: the command line, a TOML or JSON file, a study, the message to
//! an agent, the input of a load generator and the configuration in a result. The types derive their options on the
//! command line (`clap`), their form in a file (`serde`) and its schema (`schemars`) from the same fields, so that an
//! option has one name and one parser. Values are written as a person types them, quantities with their unit.
//!
//! Try it: `cargo test -p spec`.

mod arrivals;
mod chapter;
mod defaults;
mod explained;
mod field;
mod form;
mod generator;
mod knob;
mod load;
mod measurement;
mod notation;
mod popularity;
mod preset;
mod probes;
mod read;
mod scaling;
mod size;
mod source;
mod syntax;
mod target;
mod target_name;
mod text;
mod time;
mod url;
pub mod workload;

pub use arrivals::{ArrivalSpec, Cursor, Process, Profile};
pub use chapter::{Chapter, Entry, Section};
pub use explained::{Explained, Origin};
pub use field::Field;
pub use form::Form;
pub use generator::{Agents, Binding, Generator, Io, Pace, Tls, WhenAbsent};
pub use knob::Knob;
pub use load::{Load, percent};
pub use measurement::{QosTarget, Spec};
pub use notation::Notation;
pub use popularity::Popularity;
pub use preset::{Parameter, Preset};
pub use probes::{Probe, ProbeSet};
pub use read::{SpecError, nearest, unknown_key};
pub use scaling::{Copies, Scaling};
pub use size::{Size, growth, normal_below};
pub use source::is_source;
pub use target::{Cpus, FilesPlace, Reset, Target};
pub use target_name::{TargetName, UNIX, target_error};
pub use time::Time;
pub use url::Url;
pub use workload::Workload;
