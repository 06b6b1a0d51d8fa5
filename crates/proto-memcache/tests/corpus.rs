//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/memcache.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn server_requests() {
    replay("server_requests", harness::server_requests);
}

#[test]
fn binary_requests() {
    replay("binary_requests", harness::binary_requests);
}

#[test]
fn binary_responses() {
    replay("binary_responses", harness::binary_responses);
}

#[test]
fn client_responses() {
    replay("client_responses", harness::client_responses);
}

#[test]
fn client_meta_responses() {
    replay("client_meta_responses", harness::client_meta_responses);
}

#[test]
fn udp_replies() {
    replay("udp_replies", harness::udp_replies);
}
