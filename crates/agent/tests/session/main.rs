//! Agents and coordinators over loopback, with generators that only pretend.

mod clocks;
mod party;
mod refusals;
mod run;
mod tls;
