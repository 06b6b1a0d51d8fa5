//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/h2.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn h2_frames() {
    replay::replay("h2_frames", harness::h2_frames);
}
