//! The object-caching workload: every operation of a cache's clients, on one server or a cluster.
//!
//! [`CacheConfig`] describes the requests. [`Items`] is the data set that follows from it, [`prepare`] ensures that the
//! servers hold it, and each generator thread has a [`Cache`] that draws the requests and judges the answers.

mod answer;
mod answers;
mod check;
mod cluster;
mod config;
mod content;
mod control;
mod counts;
mod expiry;
pub mod explain;
mod fill;
mod holdings;
mod items;
mod job;
mod login;
mod picker;
mod prepare;
mod redis;
mod requests;
mod survey;
mod versions;
mod wire;

pub use check::{ConfigError, KEYS_IN_CLUSTER_MAX, KEYS_ON_MISS_MAX, KEYS_PER_GET_MAX};
pub use cluster::{Cluster, Server};
pub use config::CacheConfig;
pub use control::{Connect, Control, ControlError, Dialect, PATIENCE, Stream, stream};
pub use holdings::Holdings;
pub use items::{Items, Kind};
pub use job::Job;
pub use login::Login;
pub use prepare::{DataSet, FILLED, Preparation, prepare};
pub use requests::{Cache, Seat};
pub use spec::workload::{
    Digits, Expiry, Fill as FillPolicy, Mix, OnMiss, Operation, Placement, Prefix, Protocol, Share,
};
pub use versions::Versions;
pub use wire::Wire;
