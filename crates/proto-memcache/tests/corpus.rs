//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn server_requests() {
    replay("server_requests", proto_memcache::fuzz::server_requests);
}

#[test]
fn client_responses() {
    replay("client_responses", proto_memcache::fuzz::client_responses);
}

#[test]
fn client_meta_responses() {
    replay("client_meta_responses", proto_memcache::fuzz::client_meta_responses);
}

#[test]
fn udp_replies() {
    replay("udp_replies", proto_memcache::fuzz::udp_replies);
}
