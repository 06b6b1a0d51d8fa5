//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/resp.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn resp_requests() {
    replay::replay("resp_requests", harness::resp_requests);
}
