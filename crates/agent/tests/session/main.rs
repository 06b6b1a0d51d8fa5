//! Agents and coordinators over loopback, with generators and servers that only pretend.

mod clocks;
mod refusals;
mod run;
mod serve;
mod setup;
mod tls;
