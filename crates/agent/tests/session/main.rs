//! Agents and coordinators over loopback, with pretended generators and servers.

mod clocks;
mod refusals;
mod run;
mod serve;
mod setup;
mod tls;
