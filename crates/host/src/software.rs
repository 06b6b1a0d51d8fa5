mod version;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// A program that experiments can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Software {
    /// Its name: `memcached`, `podman`.
    pub name: String,
    /// Its purpose.
    pub role: Role,
    /// Where it lies.
    pub path: PathBuf,
    /// The version that it prints.
    pub version: Option<String>,
    /// Whether a process of it runs already: a server on its usual port, an engine's daemon.
    pub running: Option<bool>,
}

/// The purpose of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Runs containers.
    Engine,
    /// Answers requests.
    Server,
    /// Looks at or changes the machine.
    #[default]
    Tool,
}

/// A program to look for: its name here, its file, its version argument, its process.
struct KnownProgram {
    name: &'static str,
    program: &'static str,
    ask: &'static str,
    process: Option<&'static str>,
    role: Role,
}

const fn known(name: &'static str, program: &'static str, ask: &'static str, role: Role) -> KnownProgram {
    KnownProgram { name, program, ask, process: None, role }
}

const KNOWN: [KnownProgram; 14] = [
    known("lxc", "lxc-start", "--version", Role::Engine),
    known("podman", "podman", "--version", Role::Engine),
    KnownProgram { process: Some("dockerd"), ..known("docker", "docker", "--version", Role::Engine) },
    known("runc", "runc", "--version", Role::Engine),
    known("crun", "crun", "--version", Role::Engine),
    // Version 1.4, which the papers ran, prints its version only in its help.
    KnownProgram { process: Some("memcached"), ..known("memcached", "memcached", "-h", Role::Server) },
    KnownProgram { process: Some("nginx"), ..known("nginx", "nginx", "-v", Role::Server) },
    KnownProgram {
        process: Some("redis-server"),
        ..known("redis", "redis-server", "--version", Role::Server)
    },
    KnownProgram {
        process: Some("valkey-server"),
        ..known("valkey", "valkey-server", "--version", Role::Server)
    },
    known("tc", "tc", "-V", Role::Tool),
    KnownProgram {
        process: Some("irqbalance"),
        ..known("irqbalance", "irqbalance", "--version", Role::Tool)
    },
    known("perf", "perf", "--version", Role::Tool),
    known("bpftrace", "bpftrace", "--version", Role::Tool),
    known("qemu", "qemu-system-x86_64", "--version", Role::Tool),
];

/// Folders of programs; a user's `PATH` may lack some of these.
const FOLDERS: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/bin", "/sbin"];

impl Software {
    /// The programs found. In a tree that is not this machine, a planted program file holds its version output.
    ///
    /// Cost: each program found runs once, 5 to 50 ms each.
    pub(crate) fn read(tree: &Tree, running: Option<&BTreeSet<String>>) -> Vec<Software> {
        let read_one = |known: &KnownProgram| {
            let path = find(tree, known.program)?;
            let said = if tree.is_here() { version::ask(&path, known.ask) } else { tree.text(&path) };
            Some(Software {
                name: known.name.into(),
                role: known.role,
                version: said.as_deref().and_then(version::parse),
                running: known.process.and_then(|process| Some(running?.contains(process))),
                path,
            })
        };
        KNOWN.iter().filter_map(read_one).collect()
    }
}

fn find(tree: &Tree, program: &str) -> Option<PathBuf> {
    let path = if tree.is_here() { env::var_os("PATH").unwrap_or_default() } else { Default::default() };
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let folders = folders.chain(FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| is_program(tree, file))
}

fn is_program(tree: &Tree, file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let runs = |meta: std::fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    tree.at(file).metadata().is_ok_and(|meta| if tree.is_here() { runs(meta) } else { meta.is_file() })
}
