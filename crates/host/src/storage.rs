use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// Room for files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storage {
    /// Free space for temporary files: in `/tmp`, or the folder in `TMPDIR`. Known of this machine only.
    pub free_bytes: Option<u64>,
}

impl Storage {
    pub(crate) fn read(tree: &Tree) -> Storage {
        let free = || {
            let found = rustix::fs::statvfs(std::env::temp_dir().as_path()).ok()?;
            Some(found.f_bavail.saturating_mul(found.f_frsize))
        };
        // A planted tree is on the disk of the test that planted it.
        Storage { free_bytes: if tree.is_here() { free() } else { None } }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn room_is_known_of_this_machine_only() {
        assert!(Storage::read(&Tree::new(Path::new("/"))).free_bytes.is_some());
        assert_eq!(Storage::read(&Tree::new(&std::env::temp_dir())), Storage::default());
    }
}
