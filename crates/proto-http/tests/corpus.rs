//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn http_responses() {
    replay("http_responses", proto_http::fuzz::http_responses);
}

#[test]
fn http_requests() {
    replay("http_requests", proto_http::fuzz::http_requests);
}
