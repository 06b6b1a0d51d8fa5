//! The object-caching workload: every operation of a cache's clients, on one server or a cluster.
//!
//! [`CacheConfig`] is what is asked for. [`Items`] is the data set that follows from it, [`prepare`] sees to it that
//! the servers hold it, and each generator thread has a [`Cache`] that draws the requests and judges the answers.

mod answer;
mod answers;
mod check;
mod cluster;
mod config;
mod content;
mod control;
mod counts;
mod expiry;
mod fill;
mod items;
mod job;
mod mix;
mod operation;
mod picker;
mod prefix;
mod prepare;
mod requests;
mod survey;
mod versions;
mod wire;

pub use check::{ConfigError, KEYS_ON_MISS_MAX, KEYS_PER_GET_MAX};
pub use cluster::{Cluster, Placement, Server};
pub use config::{CacheConfig, Listed, OnMiss, Protocol};
pub use control::{Control, ControlError, PATIENCE, Stream};
pub use expiry::Expiry;
pub use items::{Items, Kind};
pub use job::Job;
pub use mix::{Mix, Share};
pub use operation::Operation;
pub use prefix::Prefix;
pub use prepare::{DataSet, FILLED, FillPolicy, Preparation, prepare};
pub use requests::{Cache, Seat};
pub use versions::Versions;
pub use wire::Wire;
