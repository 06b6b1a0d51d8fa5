//! Replays the fuzzer's corpus through the code that it fuzzes.

#[path = "../../../fuzz/harness/playlist.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn playlists() {
    replay("playlists", harness::playlists);
}
