//! A process that has the engines' folders to itself, so that every file found there afterwards is its own, regardless
//! of concurrent tests and programs.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use launch::{Form, Process, Spec, User, find_program};

use crate::docker::Docker;
use crate::place::LONG;
use crate::traces;

/// Tells a test that it is run as a tenant, and in which form.
const ROLE: &str = "TAILLIGHT_TEST_TENANT";
/// Folders of engines that belong to no single container; each is replaced by an empty folder.
const SHARED: [&str; 6] =
    ["/run", "/dev/shm", "/var/lib/containers", "/var/lib/lxc", "/var/log/lxc", "/var/cache/lxc"];
/// What engines make once for all containers, and keep: LXC's locks, and runc's root, which stays empty.
const KEPT: [&str; 3] = ["/run/lxc", "/run/runc", "/run/lock"];

/// The form of this process, if it is a tenant.
pub(crate) fn form() -> Option<Form> {
    env::var(ROLE).ok().map(|form| form.parse().unwrap())
}

/// Runs the test `role` of this program as a tenant, and fails as it does.
pub(crate) fn run(form: Form, role: &str) {
    if !User::is_root() {
        println!("skipped: needs root");
        return;
    }
    if find_program("unshare").is_none() {
        println!("skipped: no unshare here; apt-get install util-linux");
        return;
    }
    let docker = if form == Form::Docker {
        let Some(docker) = Docker::start() else { return };
        Some(docker)
    } else {
        None
    };
    let folder = tempfile::tempdir().unwrap();
    let mounts: Vec<String> = SHARED
        .into_iter()
        .filter(|folder| Path::new(folder).is_dir())
        .map(|folder| format!("mount -t tmpfs none {folder} && "))
        .collect();
    let script = format!("{}exec \"$@\"", mounts.concat());
    let test = env::current_exe().unwrap().display().to_string();
    let mut spec = Spec::new(role, "unshare")
        .args(["--mount", "sh", "-c", &script, "sh", &test, "--exact", role, "--nocapture"])
        .env(ROLE, form.name())
        .env("TMPDIR", folder.path().display().to_string());
    if let Some(docker) = &docker {
        spec = spec.env("DOCKER_HOST", docker.host());
    }
    let mut process = Process::spawn(spec).unwrap();
    while let Some(line) = process.next_line(LONG) {
        // It may follow the harness's own text on the same line.
        if let Some(at) = line.find("skipped: ") {
            println!("{}", &line[at..]);
        }
    }
    process.wait_success(LONG).unwrap();
}

/// The files in the tenant's private folders, except those that engines keep.
pub(crate) fn files() -> BTreeSet<String> {
    let temporary = env::temp_dir().display().to_string();
    let folders = SHARED.iter().map(|folder| (*folder).to_owned()).chain([temporary]);
    let found: Vec<String> = folders
        .filter(|folder| Path::new(folder).is_dir())
        .flat_map(|folder| {
            let said = traces::said("find", &[&folder, "-mindepth", "1"]);
            said.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let is_kept = |path: &String| KEPT.contains(&path.as_str()) || path.starts_with("/run/lxc/");
    found.into_iter().filter(|path| !is_kept(path)).collect()
}
