//! QEMU guests for hardware that this machine lacks: knobs with SMT, a second memory node, version 2 of control groups
//! and a card of several interrupts; studies on four and on eight processors.
//!
//! They test function, not speed: every instruction of a guest is emulated. Debian's kernel and busybox are unpacked
//! below `target/tools`; the only change to the system is the installation of QEMU.

mod console;
mod disk;
mod guest;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::ROOT;
use crate::ci::tools::{BPF_FEATURES, bpf, install_packages};
use crate::command::{as_by_hand, find, run};
use console::Checks;
use guest::{GUESTS, Guest};

/// Folder of the unpacked kernel and busybox, and of the guests' files.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/qemu");
const EMULATOR: &str = "qemu-system-x86_64";

/// Runs `cargo xtask qemu`: boots the named guests, by default all, and runs their checks; true if none fails. Fetches
/// missing tools unless `--no-install`.
///
/// # Errors
///
/// An unknown guest; a failed build.
pub(crate) fn run_guests(words: &[&str]) -> Result<bool, String> {
    let (options, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let mut install = true;
    for option in options {
        match option {
            "--no-install" | "--offline" => install = false,
            "--list" => {
                GUESTS.iter().for_each(|guest| println!("{:<8}{}", guest.name, guest.about));
                return Ok(true);
            }
            _ => return Err(format!("cannot read 'qemu {option}'; write --list or --no-install")),
        }
    }
    let guests = Guest::named(&names)?;
    let tools = Path::new(TOOLS);
    if install {
        fetch(tools, &guests);
    }
    let Some(emulator) = find(EMULATOR) else {
        println!("qemu: skipped: no {EMULATOR} here; `apt-get install qemu-system-x86` brings it");
        return Ok(true);
    };
    let Some(kernel) = disk::kernel(tools) else {
        println!("qemu: skipped: no kernel for the guests; on Debian, `cargo xtask qemu` fetches it");
        return Ok(true);
    };
    if !build() {
        return Ok(false);
    }
    let mut failed = Vec::new();
    for guest in guests {
        if let Some(absent) = guest.programs.iter().find(|program| find(program).is_none()) {
            println!("qemu {}: skipped: no {absent} here; `apt-get install {absent}` brings it", guest.name);
            continue;
        }
        println!("\n== qemu {}: {}", guest.name, guest.about);
        let started = Instant::now();
        let outcome = boot(guest, &emulator, &kernel, tools);
        match &outcome {
            Ok(checks) => println!(
                "== qemu {}: {} checks passed, {} failed in {:.0} s",
                guest.name,
                checks.passed,
                checks.failed,
                started.elapsed().as_secs_f64()
            ),
            Err(why) => println!("== qemu {}: FAILED: {why}", guest.name),
        }
        if !outcome.is_ok_and(|checks| checks.are_well()) {
            failed.push(guest.name);
        }
    }
    if !failed.is_empty() {
        println!("qemu: failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// Tries to install and unpack the missing tools.
fn fetch(tools: &Path, guests: &[&Guest]) {
    let mut absent: Vec<&str> = guests.iter().flat_map(|guest| guest.programs).copied().collect();
    absent.retain(|program| find(program).is_none());
    absent.dedup();
    if find(EMULATOR).is_none() {
        absent.push("qemu-system-x86");
    }
    install_packages(&absent);
    if disk::kernel(tools).is_none() {
        disk::fetch(tools);
    }
}

/// Builds the guests' programs, with the features that the tests of `cargo xtask ci` have compiled already.
fn build() -> bool {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--workspace", "--bin", "taillight"]).current_dir(ROOT);
    if bpf().is_ok() {
        cargo.args(["--features", BPF_FEATURES]);
    }
    run(as_by_hand(&mut cargo))
}

/// Boots a guest and follows it to its end.
fn boot(guest: &Guest, emulator: &Path, kernel: &Path, tools: &Path) -> Result<Checks, String> {
    let built =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(ROOT).join("target"), PathBuf::from);
    let disk = disk::gather(tools, &built.join("debug/taillight"), guest)
        .map_err(|error| format!("the guest's files could not be gathered: {error}"))?;
    let mut command = Command::new(emulator);
    command.args(guest.machine()).args(["-nographic", "-no-reboot", "-kernel"]).arg(kernel);
    command.arg("-initrd").arg(disk).args(["-append", "console=ttyS0 quiet panic=-1"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    console::watch(child.map_err(|error| format!("{EMULATOR} does not start: {error}"))?, guest.patience)
}
