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

/// The capabilities in the order of their bits. Source: `linux/capability.h` of Linux 6.1, the last added in 5.9.
const NAMES: [&str; 41] = [
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
];

impl Privileges {
    pub(crate) fn read(tree: &Tree) -> Privileges {
        const STATUS: &str = "proc/self/status";
        let bits = tree.field(STATUS, "CapEff").and_then(|text| u64::from_str_radix(&text, 16).ok());
        // Real, effective, saved, of the file system.
        let user =
            tree.field(STATUS, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse::<u32>().ok());
        let bits = bits.unwrap_or_default();
        let held = NAMES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        Privileges { root: user == Some(0), capabilities: held.map(|(_, name)| (*name).to_owned()).collect() }
    }

    /// Whether it holds `capability`: `net_admin`.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|name| name == capability)
    }
}
