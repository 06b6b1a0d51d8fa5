//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn udp_requests() {
    replay("udp_requests", sphinx::fuzz::udp_requests);
}

#[test]
fn foreign_protocols() {
    replay("foreign_protocols", sphinx::fuzz::foreign_protocols);
}

#[test]
fn binary_connections() {
    replay("binary_connections", sphinx::fuzz::binary_connections);
}

#[test]
fn saved_memory() {
    replay("saved_memory", sphinx::fuzz::saved_memory);
}

#[test]
fn first_requests() {
    replay("first_requests", sphinx::fuzz::first_requests);
}
