use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::docker;

/// Everything on this machine that bears `name`: processes, interfaces, mounts, control groups, namespaces, folders,
/// containers and images. The latter two come from the docker daemon at this address.
pub(crate) fn of(name: &str, docker: Option<&str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut look = |kind: &str, text: &str| {
        let lines = text.lines().filter(|line| line.contains(name));
        found.extend(lines.map(|line| format!("{kind}: {line}")));
    };
    look("interface", &said("ip", &["-o", "link", "show"]));
    look("namespace", &said("ip", &["netns", "list"]));
    look("mount", &fs::read_to_string("/proc/self/mounts").unwrap());
    look("control group", &said("find", &["/sys/fs/cgroup", "-type", "d"]));
    if let Some(host) = docker {
        look("container", &docker::said(host, &["ps", "-a", "--format", "{{.Names}}"]));
        look("image", &docker::said(host, &["images", "--format", "{{.Repository}}"]));
    }
    look("folder", &files());
    for (pid, line) in processes() {
        if pid != std::process::id() && line.contains(name) {
            found.insert(format!("process {pid}: {line}"));
        }
    }
    found
}

/// Files and folders kept by engines and this program.
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
pub(crate) fn await_none(name: &str, docker: Option<&str>) {
    let mut left = BTreeSet::new();
    for _ in 0..600 {
        left = of(name, docker);
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

pub(crate) fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}
