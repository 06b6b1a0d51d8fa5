//! A daemon of docker for one test. The tests of the command line include this file as well.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use launch::{Process, Spec, find_program};
use tempfile::TempDir;

/// How long the daemon may take to start, and to end.
const WITHIN: Duration = Duration::from_secs(60);
/// Interval between readiness checks.
const LOOK: Duration = Duration::from_millis(100);
/// Gives the daemon a `/run` of its own, in which containerd leaves folders, and keeps its mounts from the machine.
const APART: &str = "mount -t tmpfs none /run && exec \"$@\"";

/// A daemon with its own socket, images and control group, without a bridge or firewall rules, so that the machine's
/// network stays unchanged. Dropping it ends it and removes everything it made.
pub(crate) struct Docker {
    process: Option<Process>,
    folder: TempDir,
    group: String,
}

impl Docker {
    /// Starts one and waits until it answers. Prints the reason and returns `None` if unavailable.
    pub(crate) fn start() -> Option<Docker> {
        let absent = ["dockerd", "docker"].into_iter().find(|program| find_program(program).is_none());
        if let Some(program) = absent {
            println!("skipped: no {program} here; apt-get install docker.io");
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("docker-").tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let group = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        fs::write(at("daemon.json"), "{}").unwrap();
        let spec = Spec::new("dockerd", "unshare")
            .args(["--mount", "sh", "-c", APART, "sh", "dockerd", "--config-file", &at("daemon.json")])
            .args(["--host", &format!("unix://{}", at("socket")), "--pidfile", &at("pid")])
            .args(["--data-root", &at("data"), "--exec-root", &at("run"), "--storage-driver=vfs"])
            .args(["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"])
            .args(["--ip-masq=false", "--userland-proxy=false", &format!("--cgroup-parent=/{group}")])
            .args(["--shutdown-timeout=5", "--log-level=warn"]);
        let mut process = Process::spawn(spec).unwrap();
        let deadline = Instant::now() + WITHIN;
        let mut docker = Docker { process: None, folder, group };
        while said(&docker.host(), &["version", "--format", "{{.Server.Version}}"]).is_empty() {
            if process.wait(LOOK).is_ok() {
                println!("skipped: dockerd does not run here: {}", process.stderr_tail().join("; "));
                return None;
            }
            assert!(Instant::now() < deadline, "dockerd does not answer: {:?}", process.stderr_tail());
        }
        docker.process = Some(process);
        Some(docker)
    }

    /// Value for the variable `DOCKER_HOST`.
    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.folder.path().join("socket").display())
    }
}

/// Output of `docker words…` from the daemon at `host`; empty if it fails.
pub(crate) fn said(host: &str, words: &[&str]) -> String {
    let output = Command::new("docker").env("DOCKER_HOST", host).args(words).output();
    let output = output.ok().filter(|output| output.status.success());
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

impl Drop for Docker {
    fn drop(&mut self) {
        let stopped = self.process.take().map(|process| process.stop(WITHIN));
        // Empty once its containers were removed; each hierarchy has one.
        let groups = Command::new("find")
            .args(["/sys/fs/cgroup", "-depth", "-type", "d", "-path", &format!("*/{}*", self.group)])
            .args(["-exec", "rmdir", "{}", "+"])
            .status();
        if !std::thread::panicking() {
            let ended = stopped.is_none_or(|stopped| stopped.is_ok_and(|ended| !ended.killed));
            assert!(ended, "dockerd did not end by itself");
            assert!(groups.is_ok_and(|status| status.success()), "{} is left", self.group);
        }
    }
}
