//! Servers in containers of LXC: `lxc-start` in the foreground, as a child, with a root folder and a configuration of
//! its own.
//!
//! The container shares the network namespace that was prepared for it, as podman's does, rather than have LXC make a
//! link by itself: then every form has the same one. `lxc-start` is killed by the kernel when this process dies, and
//! the container when `lxc-start` does; what then stays behind are control groups and the folder, which the guardian
//! removes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::guardian::{groups, line};
use crate::spec::Mount;
use crate::{Error, Spec, find_program};

pub(crate) const PACKAGE: &str = "lxc";

/// The place and account of a container's program.
pub(crate) struct Container<'a> {
    /// Its name: the name of the place's network and a number.
    pub name: &'a str,
    /// Its root folder.
    pub root: &'a Path,
    /// Folder for its configuration and log.
    pub folder: &'a Path,
    /// Its network namespace.
    pub space: &'a Path,
}

/// `spec` in a container: the same program, arguments, processors and user.
///
/// Errors: `lxc-start` is not installed, or the configuration cannot be written.
pub(crate) fn wrap(spec: &Spec, container: &Container<'_>) -> Result<Spec, Error> {
    let file = container.folder.join(format!("{}.conf", container.name));
    fs::write(&file, config(spec, container))
        .map_err(Error::os(&spec.name, "cannot write the container's configuration"))?;
    let program =
        find_program("lxc-start").ok_or_else(|| crate::tool::lacking("lxc", "lxc-start", PACKAGE))?;
    let folder = container.folder.display().to_string();
    let file = file.display().to_string();
    let mut start = Spec::new(spec.name.clone(), program)
        .args(["-F", "-P", &folder, "-n", container.name, "-f", &file])
        .args(["-o", &log(container).display().to_string(), "-l", "WARN", "--"])
        .args(spec.command_line());
    start.env = spec.env.clone();
    start.cpus = spec.cpus.clone();
    // lxc-start forwards the signal.
    start.stop = spec.stop;
    Ok(start)
}

pub(crate) fn log(container: &Container<'_>) -> PathBuf {
    container.folder.join(format!("{}.log", container.name))
}

fn config(spec: &Spec, container: &Container<'_>) -> String {
    let mut lines = vec![
        format!("lxc.uts.name = {}", container.name),
        format!("lxc.rootfs.path = dir:{}", container.root.display()),
        format!("lxc.namespace.share.net = {}", container.space.display()),
        // Its output is this process's pipe, not a terminal.
        "lxc.console.path = none".into(),
        "lxc.tty.max = 0".into(),
        "lxc.mount.auto = proc:mixed sys:ro".into(),
        // As LXC names them, but for the last, which it would share with all others and leave.
        format!("lxc.cgroup.dir.monitor = lxc.monitor.{}", container.name),
        format!("lxc.cgroup.dir.container = lxc.payload.{}", container.name),
        format!("lxc.cgroup.dir.monitor.pivot = lxc.pivot.{}", container.name),
    ];
    for (name, value) in &spec.env {
        lines.push(format!("lxc.environment = {name}={value}"));
    }
    for Mount { folder, writable } in &spec.mounts {
        // Source: `lxc.container.conf(5)`: fields as in fstab, the place relative to the root, blanks as in fstab(5).
        let path = folder.display().to_string().replace(' ', r"\040");
        let inside = path.trim_start_matches('/');
        let access = if *writable { "rw" } else { "ro" };
        lines.push(format!("lxc.mount.entry = {path} {inside} none bind,{access},create=dir 0 0"));
    }
    if let Some(user) = &spec.user {
        lines.push(format!("lxc.init.uid = {}", user.uid));
        lines.push(format!("lxc.init.gid = {}", user.gid));
    }
    if let Some(cpus) = spec.cpu_list() {
        // Of the two versions of control groups LXC takes the key that the machine has, and leaves the other.
        let key = if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() { "cgroup2" } else { "cgroup" };
        lines.push(format!("lxc.{key}.cpuset.cpus = {cpus}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The script that ends the containers whose names begin with `name` and removes their control groups and LXC's locks.
pub(crate) fn undo(name: &str) -> String {
    let groups = groups(&format!("*/lxc.*.{name}*"));
    format!("{groups}\n{}", line(&["find", "/run/lxc", "-depth", "-path", &format!("*{name}*"), "-delete"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    #[test]
    fn a_container_has_what_the_bare_program_has() {
        let user = User { name: "nobody".into(), uid: 65534, gid: 65533 };
        let spec = Spec::new("server", "/opt/server").arg("-t").cpus([0, 3]).env("A", "b");
        let spec = Spec { user: Some(user), ..spec };
        let spec = spec.mount("/srv/a b", false).mount("/tmp/own", true);
        let container = Container {
            name: "tlx",
            root: Path::new("/t/root"),
            folder: Path::new("/t"),
            space: Path::new("/proc/7/fd/8"),
        };
        let text = config(&spec, &container);
        for line in [
            "lxc.uts.name = tlx",
            "lxc.rootfs.path = dir:/t/root",
            "lxc.namespace.share.net = /proc/7/fd/8",
            "lxc.init.uid = 65534",
            "lxc.init.gid = 65533",
            "lxc.environment = A=b",
            r"lxc.mount.entry = /srv/a\040b srv/a\040b none bind,ro,create=dir 0 0",
            "lxc.mount.entry = /tmp/own tmp/own none bind,rw,create=dir 0 0",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
        assert!(text.lines().any(|line| line.ends_with(".cpuset.cpus = 0,3")), "{text}");
        assert!(text.ends_with('\n'));
    }
}
