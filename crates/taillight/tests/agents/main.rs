//! Agents on machines of their own: network namespaces stand for them, with links that can be cut and, where the
//! kernel has time namespaces, a clock that is an hour off.

#[path = "../../../launch/tests/servers/docker.rs"]
mod docker;
mod knobs;
mod net;
mod program;
mod server;
mod study;
mod trials;
mod zones;
