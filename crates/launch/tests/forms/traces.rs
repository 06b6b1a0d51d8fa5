use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Whatever on this machine bears `name`: processes, interfaces, mounts, control groups, namespaces, folders, containers
/// and images.
pub(crate) fn of(name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut look = |kind: &str, text: &str| {
        let lines = text.lines().filter(|line| line.contains(name));
        found.extend(lines.map(|line| format!("{kind}: {line}")));
    };
    look("interface", &said("ip", &["-o", "link", "show"]));
    look("namespace", &said("ip", &["netns", "list"]));
    look("mount", &fs::read_to_string("/proc/self/mounts").unwrap());
    look("control group", &said("find", &["/sys/fs/cgroup", "-type", "d"]));
    look("container", &said("docker", &["ps", "-a", "--format", "{{.Names}}"]));
    look("image", &said("docker", &["images", "--format", "{{.Repository}}"]));
    look("folder", &files());
    for (pid, line) in processes() {
        if pid != std::process::id() && line.contains(name) {
            found.insert(format!("process {pid}: {line}"));
        }
    }
    found
}

/// Control groups, mounts and files of engines that bear no name of ours: what would stay behind for all.
pub(crate) fn of_engines() -> BTreeSet<String> {
    let text =
        [said("find", &["/sys/fs/cgroup", "-type", "d"]), said("cat", &["/proc/self/mounts"]), files()]
            .join("\n");
    let engines = ["lxc", "libpod", "podman", "conmon", "containers", "docker", "runc", "crun"];
    let ours =
        |line: &str| line.split(['/', '.', '-', ' ']).any(|word| word.len() == 13 && word.starts_with("tl"));
    let of_engine = |line: &&str| engines.iter().any(|word| line.contains(word)) && !ours(line);
    text.lines().filter(of_engine).map(str::to_owned).collect()
}

/// Files and folders where engines and this program keep what they have to.
fn files() -> String {
    let temporary = std::env::temp_dir();
    let entries = fs::read_dir(&temporary).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.path().display().to_string()).collect();
    let places = ["/run/lxc", "/run/runc", "/run/crun", "/run/libpod", "/run/containers", "/var/log/lxc"];
    for place in places.into_iter().chain(["/var/lib/containers", "/dev/shm"]) {
        names.extend(Path::new(place).exists().then(|| said("find", &[place])));
    }
    names.join("\n")
}

/// Waits until nothing bears `name` any more.
pub(crate) fn await_none(name: &str) {
    let mut left = BTreeSet::new();
    for _ in 0..600 {
        left = of(name);
        if left.is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("left behind: {left:#?}");
}

/// Every process with its command line.
pub(crate) fn processes() -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    pids.filter_map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
    })
    .collect()
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}
