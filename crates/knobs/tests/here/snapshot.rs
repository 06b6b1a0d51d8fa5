use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::victim::Victim;

/// Whatever a knob could leave changed, by name: control groups, disciplines, interrupts, kernel parameters,
/// processes, containers, devices.
pub(crate) type Snapshot = BTreeMap<String, String>;

/// Kernel parameters that the knobs change here; the others are changed by the machine itself all the time.
const PARAMETERS: &[&str] = &[
    "kernel/randomize_va_space",
    "net/core/busy_poll",
    "net/core/busy_read",
    "net/core/rps_sock_flow_entries",
    "net/core/somaxconn",
    "net/ipv4/tcp_congestion_control",
    "vm/nr_hugepages",
    "vm/swappiness",
];

const FILES: &[&str] = &[
    "/proc/swaps",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/unified/cgroup.subtree_control",
];

/// Where the engines keep a folder for each container, running or not. Their commands would say the same, at 0.1 s each.
const CONTAINERS: &[&str] = &[
    "/var/lib/lxc",
    "/var/lib/containers/storage/overlay-containers",
    "/var/lib/docker/containers",
    "/run/containerd/io.containerd.runtime.v2.task/moby",
];

pub(crate) fn snapshot(victim: &Victim) -> Snapshot {
    let mut all = Snapshot::new();
    let mut file = |path: String| {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| error.kind().to_string());
        all.insert(path, text);
    };
    PARAMETERS.iter().for_each(|name| file(format!("/proc/sys/{name}")));
    FILES.iter().for_each(|name| file((*name).to_owned()));
    file(format!("/proc/{}/cgroup", victim.pid()));
    for interrupt in fs::read_dir("/proc/irq").into_iter().flatten().flatten() {
        file(interrupt.path().join("smp_affinity_list").display().to_string());
    }
    let mut groups = Vec::new();
    folders(Path::new("/sys/fs/cgroup"), victim.name(), &mut groups);
    folders(Path::new("/sys/fs/resctrl"), victim.name(), &mut groups);
    all.insert("groups".into(), groups.join("\n"));
    for folder in CONTAINERS {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        all.insert((*folder).into(), names.join("\n"));
    }
    let net = format!("--net={}", victim.namespace().display());
    all.insert("outside".into(), said(Command::new("sh").args(["-c", OUTSIDE])));
    all.insert(
        "inside".into(),
        said(Command::new("nsenter").args([&net, "unshare", "--mount", "sh", "-c", INSIDE])),
    );
    all
}

/// This machine's own devices.
const OUTSIDE: &str = "for device in lo eth0; do tc qdisc show dev $device; done; pgrep -a irqbalance";
/// The victim's; `/sys` shows the namespace of who mounted it.
const INSIDE: &str = "tc qdisc show; tc class show dev tlv0; ip -o link; \
    sysctl net.core.somaxconn net.ipv4.tcp_congestion_control; \
    mount -t sysfs sysfs /sys && grep -s . /sys/class/net/tlv0/queues/*/?ps_cpus /sys/class/net/tlv0/queues/*/rps_flow_cnt";

fn folders(folder: &Path, name: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            if path.to_string_lossy().contains(name) {
                found.push(path.display().to_string());
            }
            folders(&path, name, found);
        }
    }
}

fn said(command: &mut Command) -> String {
    let output = command.output();
    output
        .map_or_else(|e| e.kind().to_string(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}
