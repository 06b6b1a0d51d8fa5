use std::path::Path;

use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// The privileges of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Privileges {
    /// Whether it runs as root.
    pub root: bool,
    /// Its capabilities, as `capabilities(7)` names them without `CAP_`, in small letters: `net_admin`.
    pub capabilities: Vec<String>,
}

impl Privileges {
    /// The privileges of this process.
    pub fn here() -> Privileges {
        Privileges::read(&Tree::new(Path::new("/")))
    }

    pub(crate) fn read(tree: &Tree) -> Privileges {
        let status = |key: &str| tree.field("proc/self/status", key);
        let bits = status("CapEff").and_then(|text| u64::from_str_radix(&text, 16).ok());
        let held = CapabilitySet::from_bits_retain(bits.unwrap_or_default());
        // Real, effective, saved, of the file system.
        let user = status("Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse::<u32>().ok());
        Privileges {
            root: user == Some(0),
            capabilities: held.iter_names().map(|(name, _)| name.to_lowercase()).collect(),
        }
    }

    /// Whether it holds `capability`: `net_admin`.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|name| name == capability)
    }

    /// Whether it may load programs that observe the kernel. Source: `capabilities(7)`.
    pub fn may_load_programs(&self) -> bool {
        self.can("sys_admin") || self.can("bpf") && self.can("perfmon")
    }
}
