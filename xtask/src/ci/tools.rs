//! Tools that the checks need in addition to the Rust toolchain, and how they are installed on an empty machine.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};

use serde::Deserialize;

use super::services::NoServices;
use super::{Tier, client_tools, deploy_tools};
use crate::command::{find, is_executable, output, quiet, run};
use crate::{ROOT, aarch64};

/// Packages of Debian that some tests need.
#[derive(Deserialize)]
struct Packages {
    /// By program: its package, and the tests that are skipped without it.
    programs: BTreeMap<String, (String, String)>,
    clients: Vec<String>,
    bpf: Vec<String>,
    movies: Vec<String>,
    python: Vec<String>,
    packaging: Vec<String>,
}

static PACKAGES: LazyLock<Packages> =
    LazyLock::new(|| toml::from_str(include_str!("packages.toml")).expect("a test reads it"));

/// The features of a build with the programs in the kernel, as the tests have them.
pub(crate) const BPF_FEATURES: &str = "probes/bpf,taillight/bpf";

/// Components of the toolchain: how each answers, and its name.
const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// Where `cargo install` puts tools that only the checks need; `target/` belongs to cargo alone.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools");

pub(super) struct Tools {
    /// cargo-deny, or why it is not there.
    pub(super) deny: Result<PathBuf, String>,
    /// Whether eBPF programs can be compiled and loaded, or why not.
    pub(super) bpf: Result<(), String>,
    /// Whether the unit tests for aarch64 can be compiled and run, or why not.
    pub(super) aarch64: Result<(), String>,
    /// The packages of npm that could not be installed, and why.
    pub(super) clients: Result<(), String>,
    pub(super) chart: bool,
}

/// Looks for the parts of the toolchain that checks of the source need and, with `install`, fetches missing ones.
pub(super) fn components(install: bool) {
    for (subcommand, component) in COMPONENTS {
        if install && !quiet(Command::new("cargo").args([subcommand, "--version"])) {
            // After a failure the check itself reports the missing component.
            run(Command::new("rustup").args(["component", "add", component]));
        }
    }
}

/// Looks for the tools that compile eBPF programs and, with `install`, installs missing ones. The build of the tests needs no other
/// tools.
pub(super) fn prepare_compilers(install: bool) {
    if install {
        let clang = find("clang").is_none().then_some("clang");
        install_packages(&clang.into_iter().chain(absent_of(&PACKAGES.bpf)).collect::<Vec<_>>());
    }
}

/// Looks for everything else and, with `install`, fetches missing tools, printing each command. Tools that take minutes
/// to compile are fetched for the slow tier only.
pub(super) fn prepare(install: bool, tier: Tier) -> Tools {
    if install {
        let programs = absent().map(|(_, package, _)| package);
        let Packages { clients, movies, python, .. } = &*PACKAGES;
        let libraries = [clients, python, movies].into_iter().flat_map(|list| absent_of(list));
        install_packages(&programs.chain(libraries).collect::<Vec<_>>());
    }
    let clients = absent_of(&PACKAGES.clients);
    if !clients.is_empty() {
        println!("not here, and left out of the tests of real clients: {}", clients.join(", "));
    }
    let movies = absent_of(&PACKAGES.movies);
    if !movies.is_empty() {
        println!("not here, and left out of the movie site with what it takes: {}", movies.join(", "));
    }
    for (program, package, without) in absent() {
        // The tests themselves say so once more, and are counted.
        println!("no {program} here, which leaves out {without}; `apt-get install {package}` brings it");
    }
    let mut clients = Ok(());
    if install {
        clients = client_tools::prepare(Path::new(TOOLS));
    }
    let slow = install && tier == Tier::Slow;
    if slow {
        install_packages(&absent_of(&PACKAGES.packaging));
        deploy_tools::prepare(Path::new(TOOLS));
        client_tools::prepare_simulator(Path::new(TOOLS));
        aarch64::prepare();
    }
    Tools {
        clients,
        deny: deny(slow),
        bpf: bpf(),
        aarch64: aarch64::can_test(),
        chart: deploy_tools::chart(Path::new(TOOLS)),
    }
}

fn absent() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let programs = PACKAGES.programs.iter().filter(|(program, _)| find(program).is_none());
    programs.map(|(program, (package, without))| (program.as_str(), package.as_str(), without.as_str()))
}

fn absent_of(packages: &'static [String]) -> Vec<&'static str> {
    // A package that differs by architecture has that in its list's name.
    let list = |package: &str, arch: &str| format!("/var/lib/dpkg/info/{package}{arch}.list");
    let is_there =
        |package: &str| ["", ":amd64", ":arm64"].iter().any(|arch| Path::new(&list(package, arch)).is_file());
    packages.iter().map(String::as_str).filter(|package| !is_there(package)).collect()
}

/// Whether eBPF programs can be compiled here; otherwise the missing tool.
pub(crate) fn bpf() -> Result<(), String> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(TOOLS).into(), PathBuf::from);
    if target.display().to_string().contains(char::is_whitespace) {
        return Err(format!(
            "the Makefile of libbpf takes no blank in a path, and {} has one; name another folder in CARGO_TARGET_DIR",
            target.display()
        ));
    }
    let mut absent = absent_of(&PACKAGES.bpf);
    absent.extend(find("clang").is_none().then_some("clang"));
    match absent[..] {
        [] => Ok(()),
        _ => Err(format!("it takes {}; `apt-get install` brings them", absent.join(", "))),
    }
}

/// Installs packages of Debian, if that can be.
pub(crate) fn install_packages(names: &[&str]) {
    if names.is_empty() {
        return;
    }
    if find("apt-get").is_none() || !is_root() {
        println!("cannot install {}: that takes root and apt-get", names.join(", "));
        return;
    }
    let apt = |arguments: &[&str]| {
        run(Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(Stdio::null()))
    };
    let _no_services = NoServices::new();
    // A stale list of packages names files that were removed.
    if apt(&["update", "-qq"]) {
        apt(&[&["install", "-y", "-qq", "--no-install-recommends"], names].concat());
    }
}

fn deny(install: bool) -> Result<PathBuf, String> {
    let built = Path::new(TOOLS).join("bin/cargo-deny");
    let found = || find("cargo-deny").or_else(|| is_executable(&built).then(|| built.clone()));
    if found().is_none() && install {
        println!("building cargo-deny takes some minutes, once");
        run(Command::new("cargo").args(["install", "--locked", "cargo-deny", "--root", TOOLS]));
    }
    found().ok_or_else(|| "no cargo-deny here; `cargo xtask ci --all` builds it".into())
}

/// Whether this process is root: its folder in `/proc` belongs to its effective user. Source: `proc(5)`.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Whether rustc has the standard library of a target; with `install` rustup may fetch it.
pub(crate) fn has_target(target: &str, install: bool) -> bool {
    let is_there = || {
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(ROOT));
        sysroot.is_ok_and(|sysroot| is_in(Path::new(&sysroot), target))
    };
    let fetch = || run(Command::new("rustup").args(["target", "add", target]).current_dir(ROOT));
    is_there() || (install && find("rustup").is_some() && fetch() && is_there())
}

/// Whether the standard library of a target is in a folder of rustc.
pub(crate) fn is_in(sysroot: &Path, target: &str) -> bool {
    sysroot.join("lib/rustlib").join(target).join("lib").is_dir()
}

/// Unpacks the packages of Debian in `folder`, whose files come below `to`.
pub(crate) fn unpack(folder: &Path, to: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for package in files.filter(|path| path.extension().is_some_and(|end| end == "deb")) {
        run(Command::new("dpkg").arg("-x").arg(package).arg(to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_packages_of_programs_and_libraries() {
        let (package, without) = &PACKAGES.programs["nghttpd"];
        assert_eq!(package, "nghttp2-server");
        assert!(without.starts_with("the test of HTTP/2"));
        assert!(PACKAGES.movies.iter().any(|name| name == "cmake") && PACKAGES.clients.len() == 18);
    }

    #[test]
    fn knows_a_sysroot_with_the_target() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_in(folder.path(), "x"));
        fs::create_dir_all(folder.path().join("lib/rustlib/x/lib")).unwrap();
        assert!(is_in(folder.path(), "x"));
    }
}
