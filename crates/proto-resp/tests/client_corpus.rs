//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/replies.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn resp_replies() {
    replay::replay("resp_replies", harness::resp_replies);
}
