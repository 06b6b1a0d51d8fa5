//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/store.rs"]
pub(crate) mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn store_operations() {
    replay("store_operations", harness::operations_from_bytes);
}
