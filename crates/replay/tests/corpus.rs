//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/trace.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn traces() {
    replay::replay("traces", harness::traces);
}
