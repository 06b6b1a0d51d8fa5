//! Replays the fuzzers' corpus through the code that they fuzz; a part of the tests of each crate that is fuzzed.

use std::fs;
use std::path::Path;

/// Runs `target` on each file of its corpus; there must be some.
pub(crate) fn replay(name: &str, target: fn(&[u8])) {
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
