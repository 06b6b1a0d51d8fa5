#![no_main]

#[allow(dead_code)]
#[path = "../harness/playlist.rs"]
mod playlist;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| playlist::playlists(bytes));
