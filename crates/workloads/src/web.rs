//! Web requests: the files, the requests for them, and the check of the answers.
//!
//! [`WebConfig`] describes the requests; each generator thread has a [`Web`] that draws requests and judges answers. A
//! [`FileSet`] is the same description on both sides: neither the maker nor the checker of the files needs a list.

mod answers;
mod body;
mod config;
pub mod explain;
mod files;
mod pages;
mod probe;
mod requests;
mod streams;

pub use crate::exchange::ExchangeError as ProbeError;
pub use crate::status::{CUT_OFF, is_status};
pub use answers::Wire;
pub use body::Body;
pub use config::WebConfig;
pub use files::{Content, FileSet};
pub use pages::{Listed, Pages};
pub use probe::{Probe, Redirect};
pub use requests::{Checked, Job, Web};
pub use spec::workload::{Http, Verify};
pub use streams::{StreamWire, WebStreams};
