//! The folders of the control groups that a process is in.

use std::path::{Component, Path, PathBuf};

use crate::mounts::{MountPoint, mount_points};
use crate::tree::read_lossy;

/// The folders of the groups that limit process `pid` by `controller`: its own group, then the groups around it, as far
/// as they are visible. `pid` may be `self`.
///
/// A controller belongs to one hierarchy, of version 1 or 2, also if both are mounted. In a container the visible part
/// of a hierarchy may begin at the container's own group.
///
/// Source: `cgroups(7)`, `cgroup_namespaces(7)`.
pub(crate) fn of(root: &Path, pid: &str, controller: &str) -> Vec<PathBuf> {
    let text = |file: &str| read_lossy(&root.join(file)).unwrap_or_default();
    let rows = text(&format!("proc/{pid}/cgroup"));
    let rows = rows.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let version_1 = rows.clone().find(|(names, _)| names.split(',').any(|name| name == controller));
    let Some((names, path)) = version_1.or_else(|| rows.clone().find(|(names, _)| names.is_empty())) else {
        return Vec::new();
    };
    let kind = if names.is_empty() { "cgroup2" } else { "cgroup" };
    let has_controller = |options: &str| options.split(',').any(|option| option == controller);
    let holds =
        |mount: &MountPoint| mount.kind == kind && (names.is_empty() || has_controller(&mount.options));
    let mounts: Vec<MountPoint> = mount_points(&text("proc/self/mountinfo")).filter(holds).collect();
    let visible = mounts.iter().find_map(|mount| Some((mount, below(path, &mount.root)?)));
    // A group outside of the visible part is limited by the group at which that begins, at least.
    let Some((mount, inner)) = visible.or_else(|| Some((mounts.first()?, Path::new("")))) else {
        return Vec::new();
    };
    let top = root.join(mount.at.trim_start_matches('/'));
    let group = top.join(inner);
    group.ancestors().take_while(|folder| folder.starts_with(&top)).map(PathBuf::from).collect()
}

/// The path of a group below `root`.
fn below<'a>(group: &'a str, root: &str) -> Option<&'a Path> {
    let inner = Path::new(group).strip_prefix(root).ok()?;
    inner.components().all(|part| matches!(part, Component::Normal(_))).then_some(inner)
}

/// The first of `files` in the folder that there is: its name and content.
pub(crate) fn first(folder: &Path, files: &[&'static str]) -> Option<(&'static str, String)> {
    files.iter().find_map(|file| Some((*file, read_lossy(&folder.join(file)).ok()?)))
}

/// The name of a file below `root`, as a user finds it.
pub(crate) fn shown(root: &Path, folder: &Path, file: &str) -> String {
    let inner = folder.strip_prefix(root).unwrap_or(folder);
    Path::new("/").join(inner).join(file).display().to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    /// A tree with these files.
    pub(crate) fn planted(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    /// `mountinfo` of a machine with version 2 alone.
    pub(crate) const UNIFIED: &str =
        "31 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    /// The same with version 1 for resources, and an empty hierarchy of version 2, as systemd's hybrid layout has it.
    pub(crate) const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn a_mount_point_in_another_encoding_hides_no_group() {
        let root = planted(&[("proc/self/cgroup", "0::/\n")]);
        let disk = &b"20 1 8:1 / /mnt/na\xefve rw - ext4 /dev/sda1 rw\n"[..];
        fs::write(root.path().join("proc/self/mountinfo"), [disk, UNIFIED.as_bytes()].concat()).unwrap();
        assert_eq!(of(root.path(), "self", "cpu"), [root.path().join("sys/fs/cgroup")]);
    }

    #[test]
    fn own_group_first_then_the_groups_around_it() {
        let check = |own: &str, mounts: &str, controller: &str, expect: &[&str]| {
            let root = planted(&[("proc/self/cgroup", own), ("proc/self/mountinfo", mounts)]);
            let found = of(root.path(), "self", controller);
            let found: Vec<_> = found.iter().map(|at| at.strip_prefix(root.path()).unwrap()).collect();
            assert_eq!(found, expect.iter().map(Path::new).collect::<Vec<_>>(), "{own} {controller}");
        };
        check("0::/\n", UNIFIED, "cpu", &["sys/fs/cgroup"]);
        let unit = ["sys/fs/cgroup/system.slice/a.service", "sys/fs/cgroup/system.slice", "sys/fs/cgroup"];
        check("0::/system.slice/a.service\n", UNIFIED, "memory", &unit);
        let hybrid = "4:cpu,cpuacct:/a\n3:memory:/b/c\n1:name=systemd:/d\n0::/d\n";
        check(hybrid, HYBRID, "cpu", &["sys/fs/cgroup/cpu,cpuacct/a", "sys/fs/cgroup/cpu,cpuacct"]);
        let nested = ["sys/fs/cgroup/memory/b/c", "sys/fs/cgroup/memory/b", "sys/fs/cgroup/memory"];
        check(hybrid, HYBRID, "memory", &nested);
        // Not in version 1, so in version 2.
        check(hybrid, HYBRID, "pids", &["sys/fs/cgroup/unified/d", "sys/fs/cgroup/unified"]);
        // A container of version 1 without a namespace sees its own group at the mount point.
        let own = "30 29 0:33 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        check("5:memory:/docker/ab\n", own, "memory", &["sys/fs/cgroup/memory"]);
        let inside = ["sys/fs/cgroup/memory/x", "sys/fs/cgroup/memory"];
        check("5:memory:/docker/ab/x\n", own, "memory", &inside);
        // The group is outside of the namespace, or of the mounted part.
        check("0::/../other\n", UNIFIED, "cpu", &["sys/fs/cgroup"]);
        check("5:memory:/else\n", own, "memory", &["sys/fs/cgroup/memory"]);
        // The kernel writes a backslash as an octal number.
        let odd = "30 29 0:33 /a\\134x2db /cg\\040roup ro - cgroup2 none rw\n";
        check("0::/a\\x2db/c\n", odd, "cpu", &["cg roup/c", "cg roup"]);
        // A path with colons.
        check("0::/a:b\n", UNIFIED, "cpu", &["sys/fs/cgroup/a:b", "sys/fs/cgroup"]);
        for (own, mounts) in [("", UNIFIED), ("0::/a\n", ""), ("damaged\n", UNIFIED), ("0::/a\n", "x - y\n")]
        {
            check(own, mounts, "cpu", &[]);
        }
    }
}
