//! The workspace for aarch64: checked, and its unit tests built and run under QEMU, as far as this machine can.
//!
//! Uses rustup's target if it is installed, otherwise Debian's packages: its compiler for browsers, `rustc-web`, exists
//! for each architecture, and works with the standard library of another architecture in the same version. The packages
//! are unpacked below `target/tools`; the system stays unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ROOT;
use crate::ci::tools::{has_target, install_packages, is_in, unpack};
use crate::command::{as_by_hand, find, run};

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Folder of the unpacked compiler.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/aarch64");
/// Apart from `target/debug`, or each build by another compiler would throw the other's away.
const BUILT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/aarch64");
/// The compiler, its libraries and the standard library for this machine. Source: `apt-cache depends rustc-web`.
const COMPILER: [&str; 4] = ["rustc-web", "libstd-rust-web-1.96", "libstd-rust-web-dev", "libllvm22"];
/// The standard library for the other.
const LIBRARY: &str = "libstd-rust-web-dev";
/// The cross C compiler, which links, and compiles the C code of some libraries; Debian's gcc-aarch64-linux-gnu.
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// Emulators of aarch64: Debian's qemu-user, or qemu-user-static.
const EMULATORS: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];
/// The C library of aarch64, at the path of Debian's libc6-arm64-cross.
const LIBC: &str = "/usr/aarch64-linux-gnu";
/// Crates that `cargo xtask ci --all` tests: pure ones, and those that depend on the kernel or the processor. Compiling
/// the others takes longer than a step may, and the unit tests of `sphinx` did not end within a minute under QEMU 7.2.
const CORE: [&str; 20] = [
    "units",
    "spec",
    "dist",
    "hist",
    "stats",
    "audit",
    "proto-memcache",
    "proto-h2",
    "proto-http",
    "proto-resp",
    "cache-store",
    "datasets",
    "reactor",
    "openloop",
    "reference-servers",
    "workloads",
    "host",
    "launch",
    "knobs",
    "results",
];
/// Tests that fail under QEMU's user mode and not on a machine. It does not pass on requests of ethtool; a missing
/// program seems to start, as its `vfork` is a `fork`; `/proc` describes the emulator's process; QEMU 7.2 does not know
/// `IP_BIND_ADDRESS_NO_PORT`, and keeps records of tens of GB of addresses for 64 TiB.
const NOT_EMULATED: [&str; 6] = [
    "ethtool::ask::tests::the_loopback_device_answers",
    "software::version::tests::asks_a_program",
    "kernel::tests::runs_programs",
    "cpu_time::process::tests::sees_the_time_that_this_process_uses",
    "via::tests::a_socket_is_prepared_and_has_no_port_yet",
    "arena::tests::grows_in_place_up_to_its_reach",
];

/// A compiler that knows the target.
struct Compiler {
    /// `None` for rustup's, which cargo finds itself.
    unpacked: Option<PathBuf>,
}

/// Runs `cargo xtask aarch64`: checks the workspace, and runs its unit tests if they can be linked and run. True if
/// nothing failed. Fetches missing tools unless `--no-install`; with `--core` only the unit tests of [`CORE`] are
/// compiled and run.
///
/// # Errors
///
/// An unknown word.
pub(crate) fn run_checks(words: &[&str]) -> Result<bool, String> {
    let (mut install, mut only_core) = (true, false);
    for word in words {
        match *word {
            "--no-install" | "--offline" => install = false,
            "--core" => only_core = true,
            _ => return Err(format!("cannot read 'aarch64 {word}'; write --core or --no-install")),
        }
    }
    if install {
        prepare();
    }
    let Some(compiler) = compiler() else {
        println!(
            "aarch64: skipped: no standard library for {TARGET} here; `rustup target add {TARGET}` or, on Debian, \
             `cargo xtask aarch64` brings it"
        );
        return Ok(true);
    };
    let Some(linker) = find(LINKER) else {
        println!(
            "aarch64: skipped: no {LINKER} here, which compiles the C code of libraries; \
             `apt-get install gcc-aarch64-linux-gnu` brings it"
        );
        return Ok(true);
    };
    let with_linker = |command: &str| {
        let mut cargo = compiler.cargo(command);
        cargo.env("CC_aarch64_unknown_linux_gnu", &linker);
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", &linker);
        cargo
    };
    if !only_core && !run(with_linker("check").args(["--workspace", "--all-targets"])) {
        return Ok(false);
    }
    let Some(emulator) = emulator() else {
        println!("aarch64: no {} here (`apt-get install qemu-user`), so no tests run", EMULATORS[0]);
        return Ok(true);
    };
    let mut tests = with_linker("test");
    tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{} -L {LIBC}", emulator.display()));
    if only_core {
        tests.args(CORE.iter().flat_map(|name| ["-p", name]));
    } else {
        tests.arg("--workspace");
    }
    println!("aarch64: left out, as QEMU's user mode lacks what they take: {}", NOT_EMULATED.join(", "));
    // `cargo xtask ci` reads there which of them were skipped.
    tests.args(["--lib", "--bins", "--no-fail-fast", "--", "--show-output", "--exact"]);
    tests.args(NOT_EMULATED.iter().flat_map(|name| ["--skip", name]));
    Ok(run(&mut tests))
}

/// The missing tools among the C compiler, the C library and the emulator: package, and name.
fn absent() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        (find(LINKER).is_some(), "gcc-aarch64-linux-gnu", LINKER),
        (Path::new(LIBC).join("include").is_dir(), "libc6-dev-arm64-cross", LIBC),
        (emulator().is_some(), "qemu-user", EMULATORS[0]),
    ];
    all.into_iter().filter(|(is_there, ..)| !is_there).map(|(_, package, name)| (package, name))
}

/// Tries to install the missing ones of the compilers, the C library and the emulator.
pub(crate) fn prepare() {
    install_packages(&absent().map(|(package, _)| package).collect::<Vec<_>>());
    if compiler().is_none() && !has_target(TARGET, true) {
        fetch(Path::new(TOOLS));
    }
}

/// Whether the tests can be compiled and run; otherwise the missing tool.
pub(crate) fn can_test() -> Result<(), String> {
    let target = compiler().is_none().then_some(TARGET);
    let absent: Vec<&str> = absent().map(|(_, name)| name).chain(target).collect();
    match absent[..] {
        [] => Ok(()),
        _ => Err(format!(
            "there is no {} here; `cargo xtask aarch64` as root brings what lacks",
            absent.join(", no ")
        )),
    }
}

fn emulator() -> Option<PathBuf> {
    EMULATORS.into_iter().find_map(find)
}

impl Compiler {
    /// `cargo COMMAND` for the target.
    fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.args([command, "--locked", "--target", TARGET, "--target-dir", BUILT]).current_dir(ROOT);
        if let Some(unpacked) = &self.unpacked {
            cargo.env("RUSTC", unpacked.join("rustc"));
        }
        as_by_hand(&mut cargo);
        cargo
    }
}

/// rustup's, or the one that was unpacked.
fn compiler() -> Option<Compiler> {
    if has_target(TARGET, false) {
        return Some(Compiler { unpacked: None });
    }
    let tools = Path::new(TOOLS);
    is_in(&tools.join("usr"), TARGET).then(|| Compiler { unpacked: Some(tools.into()) })
}

/// Unpacks Debian's packages and writes a `rustc` that finds its libraries. After a failure the target stays missing.
fn fetch(tools: &Path) {
    let Some(apt) = find("apt-get") else { return };
    let lists = tools.join("apt");
    if ["lists/partial", "cache/archives/partial"]
        .iter()
        .any(|at| fs::create_dir_all(lists.join(at)).is_err())
    {
        return;
    }
    // Separate lists: the system's lack the other architecture, and must not change.
    let options = [
        "APT::Architecture=arm64".to_owned(),
        "APT::Architectures=arm64".to_owned(),
        format!("Dir::State::lists={}", lists.join("lists").display()),
        format!("Dir::Cache={}", lists.join("cache").display()),
        "Dir::State::status=/dev/null".to_owned(),
    ];
    let other = || {
        let mut apt = Command::new(&apt);
        apt.current_dir(&lists).arg("-qq").args(options.iter().flat_map(|option| ["-o", option]));
        apt
    };
    let fetched = run(Command::new(&apt).current_dir(&lists).args(["-qq", "download"]).args(COMPILER))
        && run(other().arg("update"))
        && run(other().args(["download", LIBRARY]));
    if !fetched {
        return;
    }
    unpack(&lists, tools);
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH={0}/usr/lib/x86_64-linux-gnu exec {0}/usr/bin/rustc \"$@\"\n",
        tools.display()
    );
    let rustc = tools.join("rustc");
    let written = fs::write(&rustc, script).and_then(|()| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755))
    });
    if written.is_ok() {
        // The packages would take another 120 MB, unused.
        let _ = fs::remove_dir_all(&lists);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_for_the_target_apart_from_the_others() {
        let compiler = Compiler { unpacked: Some("/x".into()) };
        let cargo = compiler.cargo("check");
        assert_eq!(cargo.get_current_dir(), Some(ROOT.as_ref()));
        let words: Vec<_> = cargo.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..4], ["check", "--locked", "--target", TARGET]);
        assert!(words[5].ends_with("target/aarch64"));
        assert!(cargo.get_envs().any(|(name, value)| name == "RUSTC" && value == Some("/x/rustc".as_ref())));
    }
}
