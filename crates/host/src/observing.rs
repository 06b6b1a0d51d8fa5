use serde::{Deserialize, Serialize};

use crate::mounts::mounts;
use crate::tree::Tree;

/// The counters and tracing that the kernel permits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observing {
    /// Sources of events, as `perf` knows them: `cpu`, `software`, `tracepoint`, `uprobe`.
    pub event_sources: Vec<String>,
    /// Whether the processor's own counters can be read: cycles, instructions, cache misses.
    pub hardware_counters: bool,
    /// `perf_event_paranoid`, the limit for processes without privileges: −1 all, 2 only themselves in user space, over
    /// 2 nothing.
    pub paranoid: Option<i32>,
    /// Whether the kernel describes its types (BTF), so that an eBPF program fits any kernel.
    pub btf: bool,
    /// Whether processes without privileges may load eBPF programs.
    pub unprivileged_bpf: Option<bool>,
    /// Whether eBPF is compiled to machine code.
    pub bpf_jit: Option<bool>,
    /// Whether any function of the kernel can be probed at its entry.
    pub kprobes: bool,
    /// Whether functions of programs can be probed.
    pub uprobes: bool,
    /// Whether the kernel's own trace points can be listened to.
    pub tracepoints: bool,
    /// Whether the file system of trace points is mounted.
    pub tracefs: bool,
    /// Kernel lockdown, which restricts even root: `none`, `integrity`, `confidentiality`.
    pub lockdown: Option<String>,
}

impl Observing {
    pub(crate) fn read(tree: &Tree) -> Observing {
        let event_sources = tree.names("sys/bus/event_source/devices");
        let has = |name: &str| event_sources.iter().any(|source| source == name);
        let number = |path: &str| tree.value::<i64>(path);
        Observing {
            hardware_counters: event_sources.iter().any(|name| counts_cycles(name)),
            paranoid: tree.value("proc/sys/kernel/perf_event_paranoid"),
            btf: tree.exists("sys/kernel/btf/vmlinux"),
            unprivileged_bpf: number("proc/sys/kernel/unprivileged_bpf_disabled").map(|off| off == 0),
            bpf_jit: number("proc/sys/net/core/bpf_jit_enable").map(|on| on != 0),
            kprobes: has("kprobe"),
            uprobes: has("uprobe"),
            tracepoints: has("tracepoint"),
            tracefs: mounts(tree).iter().any(|mount| mount.kind == "tracefs"),
            lockdown: tree.choice("sys/kernel/security/lockdown"),
            event_sources,
        }
    }
}

/// Whether an event source is a processor's core. Source: the names that the kernel's drivers register: `cpu` on x86,
/// `cpu_core` and `cpu_atom` for hybrid cores, `armv8_pmuv3_0` and the like on Arm.
fn counts_cycles(name: &str) -> bool {
    name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv8_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_cores_from_other_sources() {
        let check = |name: &str, expect: bool| assert_eq!(counts_cycles(name), expect, "{name}");
        check("cpu", true);
        check("cpu_core", true);
        check("armv8_pmuv3_0", true);
        check("software", false);
        check("msr", false);
        check("uncore_imc_0", false);
    }
}
