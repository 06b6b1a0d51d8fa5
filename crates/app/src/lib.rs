//! Applications as data: a folder of `apps/` describes the services of a target, and this crate runs them.
//!
//! An application is one or several services: a cache, a web server, a web server behind a cache. Its `app.toml` says of
//! each service which program it is, how its version is read, with which arguments and configuration files it is started,
//! which settings it has, where it listens, when it is ready, which counters it has and how it is stopped. An
//! application is added by a folder; no code changes ([`docs/reference/apps.md`]).
//!
//! [`App`] is a description that was read and checked. A [`Plan`] adds what differs from run to run: settings, threads,
//! memory, processors, instances, form, machine. [`Plan::start`] gives a [`Running`] application; dropping it ends all of its
//! processes and removes what they wrote.
//!
//! [`docs/reference/apps.md`]: ../../../docs/reference/apps.md
//!
//! Try it: `cargo test -p app`.

mod build;
mod check;
mod context;
mod copy;
mod counters;
mod data;
mod data_set;
mod deploy;
mod description;
mod elsewhere;
mod error;
mod explain;
mod files;
mod filling;
mod kept;
mod kinds;
mod library;
mod like;
mod limits;
mod npm;
mod packages;
mod parts;
mod pin;
mod plan;
mod program;
mod reach;
mod ready;
mod registry;
mod renderer;
mod running;
mod secret;
mod seed;
mod seeded;
mod settings;
mod start;
mod supervision;
mod template;
mod thrift;
mod unpack;
mod work;

pub use build::{BuildOutcome, made_folder};
pub use deploy::{Deployment, ImageFolder, Layout, POD, Rendered, SECRET_FILE, TellImage};
pub use description::{
    Account, App, Argument, Arguments, Beside, Build, Cache, Check, Command, Counters, DataSet, Entrance,
    File, Image, Listen, Member, Need, Program, Protocol, Ready, Seeded, Send, Service, Serving, Signal,
    Step, Stop, Store, StoreAction, Version, WhenArguments, Workload,
};
pub use elsewhere::{Address, Addresses, Away, Elsewhere, Machines, StartReport, WatchOrder};
pub use error::Error;
pub use explain::explain;
pub use launch::Restart;
pub use library::{names, of_folder, of_name};
pub use plan::{PeopleSet, Placement, Plan, Videos};
pub use program::VersionedProgram;
pub use running::{EndedPart, Running, RunningPart, RunningService, Starting, TellStart};
pub use seed::{Making, Seed, SeedRecord, Tell, cache_folder};
pub use settings::{Kind, Setting, Value, Values};
pub use supervision::{
    Learning, Phase, Row, State, StateFile, asked, forget_learnt, start, start_in_background, watch,
};
