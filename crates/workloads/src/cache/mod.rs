//! The object-caching workload: gets and sets of a data set of keys and values.

mod config;
mod control;
mod items;
mod mix;
mod requests;

pub use config::{CacheConfig, ConfigError, Prefix};
pub use control::{Control, ControlError, DataSet, FILLED, FillPolicy, prepare};
pub use items::Items;
pub use mix::Mix;
pub use requests::Cache;
