//! Quantities with their units, so that a number never travels without one; and lists of processors.
//!
//! Inside the program a quantity is a newtype ([`Time`], [`Nanos`], [`Rate`], [`Bytes`]); on disk it is
//! a plain number whose field name ends in its unit (`latency_us_p99`, `offered_rps`). Typed quantities are parsed
//! here, with errors that name the given text, the allowed range and an example. [`named!`] declares enumerations whose
//! values are typed by their names.
//!
//! Try it: `cargo test -p units`.

mod bytes;
pub mod client_address;
mod count;
mod cpu_list;
mod error;
mod limit;
mod named;
mod qos;
mod rate;
mod session_figure;
mod time;

pub use bytes::Bytes;
pub use count::count;
pub use cpu_list::CpuList;
pub use error::ParseError;
pub use limit::{Limit, LimitUnit, LimitValue};
pub use qos::{Condition, Qos, QosBasis, ResponseTarget};
pub use rate::Rate;
pub use session_figure::{SESSION_PERCENTILE, SessionFigure};
pub use time::{Nanos, Time, clock};
