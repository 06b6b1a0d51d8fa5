//! A pod that podman plays, from images made of this machine's own programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use launch::{User, find_program};

/// Where Debian and others have the program that an empty container of podman's runs.
const CATATONIT: [&str; 3] =
    ["/usr/bin/catatonit", "/usr/libexec/podman/catatonit", "/usr/libexec/catatonit/catatonit"];

/// podman with its own storage and settings, so that the machine's stay unchanged.
struct Podman {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Podman {
    /// `None`, and says why, where something is missing.
    fn new() -> Option<Podman> {
        let lacks = |what: &str| {
            println!("skipped: {what}");
            None
        };
        if !User::is_root() {
            return lacks(
                "needs root: the rights that podman takes without it differ from machine to machine",
            );
        }
        let Some(program) = find_program("podman") else {
            return lacks("no podman here; apt-get install podman");
        };
        if find_program("runc").is_none() {
            return lacks("no runc here; apt-get install runc");
        }
        if !CATATONIT.iter().any(|path| Path::new(path).exists()) {
            return lacks("no catatonit here; apt-get install catatonit");
        }
        if find_program("nsenter").is_none() {
            return lacks("no nsenter here; apt-get install util-linux");
        }
        let podman = Podman { program, folder: tempfile::tempdir().unwrap() };
        let at = |name: &str| podman.folder.path().join(name).display().to_string();
        // Source of these settings: crates/launch/src/engine.rs.
        let containers = "[containers]\ndefault_ulimits = [\"nofile=16384:16384\", \"nproc=32768:32768\"]\n\n[engine]\nruntime = \"runc\"\n\
                          cgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\n";
        let containers =
            format!("{containers}tmp_dir = \"{}\"\nvolume_path = \"{}\"\n", at("tmp"), at("volumes"));
        fs::write(at("containers.conf"), containers).unwrap();
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
            at("storage"),
            at("run")
        );
        fs::write(at("storage.conf"), storage).unwrap();
        Some(podman)
    }

    /// A command that finds this podman's settings.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("CONTAINERS_CONF", self.folder.path().join("containers.conf"));
        command.env("CONTAINERS_STORAGE_CONF", self.folder.path().join("storage.conf"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(&self.program).args(words).output().unwrap()
    }

    fn call(&self, words: &[&str]) -> String {
        said(&self.run(words), words)
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        for words in [
            ["pod", "rm", "--all", "--force"],
            ["rm", "--all", "--force", "--volumes"],
            ["volume", "rm", "--all", "--force"],
        ] {
            self.run(&words);
        }
        // The folder of layers is mounted on itself.
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let ours = self.folder.path().display().to_string();
        for mount in
            mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|path| path.starts_with(&ours))
        {
            let _ = Command::new("umount").arg("--lazy").arg(mount).status();
        }
    }
}

fn said(output: &Output, words: &[&str]) -> String {
    let [out, error] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    assert!(output.status.success(), "{words:?}: {out} {error}");
    out
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_pod_is_played_and_leaves_nothing() {
    let Some(podman) = Podman::new() else { return };
    if find_program("memcached").is_none() {
        println!("skipped: no memcached here; apt-get install memcached");
        return;
    }
    let taillight = |words: &[&str]| {
        let output = podman.command(Path::new(env!("CARGO_BIN_EXE_taillight"))).args(words).output().unwrap();
        said(&output, words)
    };
    let images = taillight(&["app", "images", "memcached"]);
    assert!(
        images.contains("localhost/taillight-memcached-memcached:") && images.contains("MiB"),
        "{images}"
    );
    let folder = podman.folder.path().join("pods");
    let out = folder.display().to_string();
    // No port of the machine, whose network stays as it is.
    taillight(&["app", "pods", "memcached", "--port", "0", "--out", &out]);
    let (pod, secret) = (format!("{out}/pod.yaml"), format!("{out}/secret.yaml"));
    podman.call(&["play", "kube", "--network", "none", "--configmap", &secret, &pod]);
    let pid = podman.call(&["inspect", "--format", "{{.State.Pid}}", "memcached-memcached"]);
    let net = format!("--net=/proc/{pid}/ns/net");
    let ask = "for turn in $(seq 600); do exec 3<>/dev/tcp/127.0.0.1/11211 && break; sleep 0.1; done 2>/dev/null; \
               printf 'version\\r\\n' >&3; read -r line <&3; echo \"$line\"";
    let answer = Command::new("nsenter").args([&net, "bash", "-c", ask]).output().unwrap();
    let answer = said(&answer, &["version"]);
    assert!(answer.starts_with("VERSION 1."), "{answer}");
    let limit = podman.call(&[
        "inspect",
        "--format",
        "{{.HostConfig.Memory}} {{.HostConfig.ReadonlyRootfs}} {{.Config.User}}",
        "memcached-memcached",
    ]);
    assert_eq!(limit, format!("{} true 65534:65534", (2_u64 << 30) + (64 << 20)));
    podman.call(&["play", "kube", "--down", &pod]);
    assert_eq!(podman.call(&["ps", "--all", "--quiet"]), "");
    assert_eq!(podman.call(&["pod", "ps", "--quiet"]), "");
    assert_eq!(podman.call(&["volume", "rm", "memcached-config"]), "memcached-config");
    assert_eq!(podman.call(&["volume", "ls", "--quiet"]), "");
}
