//! Replays the fuzzers' corpus through the code that they fuzz.

use std::fs;
use std::path::Path;

/// Runs `target` on each file of its corpus; there must be some.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut count = 0;
    for file in files {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        println!("{}", path.display());
        target(&bytes);
        count += 1;
    }
    assert!(count >= 10, "{} holds {count} files; something has emptied it", folder.display());
}

#[test]
fn server_requests() {
    replay("server_requests", proto_memcache::fuzz::server_requests);
}

#[test]
fn client_responses() {
    replay("client_responses", proto_memcache::fuzz::client_responses);
}
