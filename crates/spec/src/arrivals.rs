//! When requests arrive, as a person asks for it.

mod asked;
mod process;
mod profile;

pub use asked::ArrivalSpec;
pub use process::Process;
pub use profile::{Cursor, Profile};
