//! Machines that we have and machines that we lack: each fixture is a tree of files in one text.
//!
//! A line `@ PATH` starts a file; `{a,b}` in its path means one file for each. Text before the first such line is a
//! comment.

use std::fs;
use std::path::Path;

use host::Host;
use tempfile::TempDir;

fn plant(name: &str) -> TempDir {
    let text =
        fs::read_to_string(format!("{}/tests/fixtures/{name}.tree", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut files = text.split("\n@ ");
    files.next();
    for file in files {
        let (path, content) = file.split_once('\n').unwrap();
        for path in expand(path) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{content}\n")).unwrap();
        }
    }
    root
}

fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (choices, after) = rest.split_once('}').unwrap();
    choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
}

fn read(name: &str) -> Host {
    Host::read(plant(name).path())
}

#[test]
fn a_virtual_machine() {
    let host = read("two-core-vm");
    assert_eq!(host.to_string(), "Intel(R) Xeon(R) Processor, 2 processors, 23.5 GiB, KVM, Linux 6.18.44");
    assert_eq!(host.kernel.distribution.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    assert_eq!(host.kernel.clock_source.as_deref(), Some("tsc"));
    // The mask of the process names processors that are not there.
    assert_eq!((host.cpu.online.to_string(), host.cpu.allowed.to_string()), ("0-1".into(), "0-1".into()));
    assert_eq!((host.cpu.cores.len(), host.cpu.packages, host.cpu.smt_on()), (2, 1, false));
    assert!(host.cpu.isolated.is_empty());
    let caches: Vec<_> = host.caches.iter().map(|c| (c.level, c.size_bytes, c.ways, c.count)).collect();
    assert_eq!(caches, [(1, 49_152, None, 2), (3, 272_629_760, Some(20), 1)]);
    assert_eq!((host.frequency.driver, host.frequency.turbo), (None, None));
    assert_eq!(host.frequency.idle_governor.as_deref(), Some("haltpoll"));
    assert_eq!((host.memory.swap_bytes, host.memory.huge_pages), (Some(0), Some(0)));
    assert_eq!(host.memory.transparent_huge_pages.as_deref(), Some("madvise"));
    assert_eq!((host.virtualization.steal_s, host.virtualization.steal_share), (Some(15.0), Some(0.003)));
    assert_eq!(host.network.congestion_control.as_deref(), Some("bbr"));
    assert_eq!(host.network.local_ports, Some((32_768, 60_999)));
    assert_eq!((host.limits.open_files, host.limits.open_files_most), (Some(20_000), Some(20_000)));
}

#[test]
fn a_server_of_two_sockets() {
    let host = read("two-socket-xeon");
    let line = "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz, 7 processors on 4 cores, 125.8 GiB, Linux 5.15.0-105-generic";
    assert_eq!(host.to_string(), line);
    assert_eq!((host.cpu.online.to_string(), host.cpu.allowed.to_string()), ("0-6".into(), "2-3,6".into()));
    assert_eq!((host.cpu.packages, host.cpu.smt_on()), (2, true));
    assert_eq!(host.cpu.siblings(4).unwrap().to_string(), "0,4");
    assert_eq!(host.cpu.siblings(3).unwrap().to_string(), "3");
    assert_eq!(host.cpu.isolated.to_string(), "2-3");
    let caches: Vec<_> = host.caches.iter().map(|c| (c.level, c.count, c.shared_by.to_string())).collect();
    assert_eq!(caches, [(3, 2, "0-1,4-5".into())]);
    let nodes: Vec<_> = host.numa.iter().map(|n| (n.node, n.cpus.to_string(), n.memory_bytes)).collect();
    assert_eq!(
        nodes,
        [(0, "0-1,4-5".into(), Some(67_444_563_968)), (1, "2-3,6".into(), Some(67_622_531_072))]
    );
    assert_eq!(host.frequency.driver.as_deref(), Some("intel_pstate"));
    assert_eq!(host.frequency.governor.as_deref(), Some("performance, powersave"));
    assert_eq!(host.frequency.turbo, Some(false));
    assert_eq!((host.frequency.min_khz, host.frequency.max_khz), (Some(1_200_000), Some(2_300_000)));
    assert_eq!((host.memory.huge_pages, host.memory.huge_pages_free), (Some(1024), Some(1000)));
    assert!(!host.virtualization.hypervisor && host.virtualization.kind.is_none());
    assert_eq!((host.limits.open_files, host.limits.open_files_most), (Some(1024), None));
}

#[test]
fn an_empty_tree_has_no_facts() {
    let host = Host::read(Path::new("/no/such/root"));
    assert_eq!(host, Host::default());
    assert_eq!(host.to_string(), "unknown processor, 0 processors");
}

#[test]
fn damaged_files_leave_their_facts_out() {
    let root = plant("two-core-vm");
    for path in
        ["sys/devices/system/cpu/online", "proc/meminfo", "proc/stat", "proc/self/limits", "proc/self/status"]
    {
        fs::write(root.path().join(path), b"\xff\xfe garbage 99999999999999999999999 kB\n").unwrap();
    }
    let host = Host::read(root.path());
    // The list of processors comes from cpuinfo then.
    assert_eq!(host.cpu.online.to_string(), "0-1");
    assert_eq!((host.memory.total_bytes, host.limits.open_files), (None, None));
}

#[test]
fn a_record_is_stored_and_read_back() {
    // A share that a careless reader of JSON gets wrong in the last bit.
    let steal_share = Some(0.000_415_856_850_551_148_43);
    let mut awkward = Host::default();
    awkward.virtualization.steal_share = steal_share;
    for host in [read("two-core-vm"), read("two-socket-xeon"), Host::here(), awkward] {
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host);
    }
    // A record of an older version, which knew less.
    let old: Host = serde_json::from_str(r#"{"cpu":{"online":"0-3"}}"#).unwrap();
    assert_eq!(old.cpu.online.len(), 4);
}

#[test]
fn this_machine() {
    let host = Host::here();
    assert!(!host.cpu.online.is_empty() && !host.cpu.allowed.is_empty(), "{host:?}");
    assert!(host.cpu.allowed.as_slice().iter().all(|&cpu| host.cpu.online.contains(cpu)), "{host:?}");
    assert!(host.memory.total_bytes.is_some() && host.kernel.release.is_some(), "{host:?}");
    assert!(host.limits.open_files.is_some(), "{host:?}");
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    assert_eq!(host.cpu.allowed.len(), set.count() as usize);
}
