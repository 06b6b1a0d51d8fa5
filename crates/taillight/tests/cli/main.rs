//! The program as its user meets it: through the command line, against real and hostile servers.
//!
//! Run them: `cargo test -p taillight --test cli`.

mod bad_input;
#[path = "../browser/run.rs"]
mod browser;
mod bystanders;
mod cache;
#[path = "../../../sphinx/tests/support/confine.rs"]
mod confine;
mod confined;
#[path = "../../../launch/tests/servers/docker.rs"]
mod docker;
mod ends;
mod explain;
mod extremes;
mod fileset;
mod fileset_video;
mod forms;
mod found;
mod host_now;
mod hostile_servers;
mod hostile_social;
mod hostile_web;
mod http2;
mod lab;
mod load;
mod mediawiki;
mod movies;
mod movies_analytics;
mod nginx;
mod probes;
mod recorded;
mod redis;
mod results;
mod run;
mod selftest;
mod side_by_side;
mod soak;
mod social_data;
mod social_faults;
mod social_site;
mod specification;
mod strangers;
mod study;
mod study_settings;
mod traces;
mod tune;
mod users;
mod video;
mod view;
mod viewers;
mod web;
mod web_bodies;
mod web_lab;
mod wrk;
