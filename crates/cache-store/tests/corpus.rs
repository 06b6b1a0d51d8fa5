//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn store_operations() {
    replay("store_operations", cache_store::fuzz::operations_from_bytes);
}
