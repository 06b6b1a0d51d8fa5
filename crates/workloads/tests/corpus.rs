//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/playlist.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/harness/site.rs"]
mod site;

use replay::replay;

#[test]
fn playlists() {
    replay("playlists", harness::playlists);
}

#[test]
fn site_descriptions() {
    replay("site_descriptions", site::site_descriptions);
}
