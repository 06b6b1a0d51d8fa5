use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use knobs::Subject;
use launch::{Process, Spec};

use crate::faults::ROLE;
use crate::victim::Victim;
use crate::{alone, may_change};

/// Everything that a knob could leave changed, by name: control groups, disciplines, interrupts, kernel parameters,
/// processes of this program and of programs that it has killed, devices.
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
    for disk in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        file(disk.path().join("queue/read_ahead_kb").display().to_string());
    }
    let mut groups = Vec::new();
    folders(Path::new("/sys/fs/cgroup"), victim.name(), &mut groups);
    folders(Path::new("/sys/fs/resctrl"), victim.name(), &mut groups);
    all.insert("groups".into(), groups.join("\n"));
    all.insert("paces".into(), paces());
    all.insert("processes".into(), processes().join("\n"));
    let net = format!("--net={}", victim.namespace().display());
    all.insert("outside".into(), said(Command::new("sh").args(["-c", OUTSIDE])));
    all.insert(
        "inside".into(),
        said(Command::new("nsenter").args([&net, "unshare", "--mount", "sh", "-c", INSIDE])),
    );
    all
}

/// Whether connections are paced by a program at the topmost control group.
fn paces() -> String {
    static TOPMOST: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let hierarchies = host::Host::here().cgroups.hierarchies;
        hierarchies.into_iter().find(|one| one.version == 2).map(|one| one.mount.into())
    });
    let here = knobs::LocalKernel::new(Path::new("/"));
    let group = TOPMOST.as_deref();
    group.map(|group| format!("{:?}", knobs::Kernel::paces(&here, group).ok())).unwrap_or_default()
}

/// This machine's own devices, and the one daemon that a knob starts and stops. Devices with the names that `launch`
/// gives (its `owner.rs`) belong to servers and tests that may run at the same time; knobs do not make such devices.
const OUTSIDE: &str = "ls /sys/class/net | grep -vE '^tl[0-9a-f]{4}[0-9a-z]{7}'; \
    tc qdisc show | grep -vE ' dev tl[0-9a-f]{4}[0-9a-z]{7}'; \
    ip -4 route show table local 198.18.0.0/22; pgrep -a irqbalance";
/// The victim's; `/sys` shows the namespace of the process that mounted it.
const INSIDE: &str = "tc qdisc show; tc class show dev tlv0; tc filter show dev tlv0; ip -4 route show; ip -o link; \
    sysctl net.core.somaxconn net.ipv4.tcp_congestion_control; \
    mount -t sysfs sysfs /sys && grep -s . /sys/class/net/tlv0/queues/*/?ps_cpus /sys/class/net/tlv0/queues/*/rps_flow_cnt";

/// The descendants of this program, and those of programs that it has killed: these have lost their parent, but still
/// have their orders in their environment.
fn processes() -> Vec<String> {
    let pids: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let told = format!("{ROLE}=").into_bytes();
    let of_killed = pids.into_iter().filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|word| word.starts_with(&told))
    });
    let own = Subject { pids: vec![std::process::id()], ..Subject::default() }.with_descendants().pids;
    let mut pids: Vec<u32> = own.into_iter().chain(of_killed).collect();
    pids.sort_unstable();
    pids.dedup();
    let name = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(format!("{pid} {}", name.trim()))
    };
    pids.into_iter().filter_map(name).collect()
}

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

#[test]
fn a_snapshot_sees_processes_and_devices_that_were_left() {
    let _alone = alone();
    if !may_change() {
        return;
    }
    let Some(victim) = Victim::new("seen") else { return };
    let before = snapshot(&victim);
    assert_eq!(snapshot(&victim), before, "it changes by itself");
    // Like a process left by a killed program: its environment, and another parent.
    let left = said(Command::new("sh").args(["-c", "sleep 600 > /dev/null 2>&1 & echo $!"]).env(ROLE, "{}"));
    let during = snapshot(&victim);
    let pid = rustix::process::Pid::from_raw(left.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(differing(&before, &during), ["processes"]);
    let child = Process::spawn(Spec::new("left", "sleep").arg("600")).unwrap();
    assert_eq!(differing(&before, &snapshot(&victim)), ["processes"]);
    drop(child);
    let name = format!("tls{}", std::process::id());
    let link = |words: &[&str]| Command::new("ip").arg("link").args(words).status().unwrap().success();
    if link(&["add", &name, "type", "veth", "peer", "name", &format!("{name}p")]) {
        let during = snapshot(&victim);
        assert!(link(&["del", &name]));
        assert_eq!(differing(&before, &during), ["outside"]);
    }
}

fn differing<'a>(before: &Snapshot, during: &'a Snapshot) -> Vec<&'a str> {
    let others = during.iter().filter(|(name, value)| before.get(*name) != Some(value));
    others.map(|(name, _)| name.as_str()).collect()
}
