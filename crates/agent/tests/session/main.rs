//! Agents and coordinators over loopback, with generators and servers that only pretend.

mod clocks;
mod party;
mod refusals;
mod run;
mod serve;
mod tls;
