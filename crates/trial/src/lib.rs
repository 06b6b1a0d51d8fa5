//! One trial: from a specification to its record.
//!
//! [`run`] takes a [`Task`], which is a [`spec::Spec`] and the addresses of running servers: it fills and verifies the
//! data set, warms up, measures, drains, judges, and returns the [`results::Trial`]. The load comes from this process
//! or, if the specification names agents, from their machines. It starts no server and changes nothing on the machine.
//!
//! Try it: `cargo test -p trial`; a whole trial is `cargo run --release -- load cache --rate 20k --json`.

mod absences;
mod clocks;
mod config;
mod from_agents;
mod generate;
mod live;
mod noise;
mod quotas;
mod record;
mod sampled;
mod served;
mod sides;
mod task;
mod tls;
mod workload;
pub mod wrk;

pub use clocks::Clocks;
pub use config::{check, resolve};
pub use generate::{Done, Interrupted, run, write, write_recording};
pub use noise::{MachineSeen, Watch};
pub use task::{Task, parse_share};
pub use workload::{read_data_set, selected_requests};
