//! Knobs on a machine that this one is not: a guest of QEMU with two sockets, SMT, two memory nodes, version 2 of control
//! groups and a card of several interrupts.
//!
//! It shows that they work, not how fast: every instruction of the guest is emulated. Debian's kernel and busybox are
//! unpacked below `target/tools`, and nothing of the system is changed but for QEMU itself, which is installed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::ci::tools::{find, install_packages, run};

/// Where kernel and busybox are unpacked, and the guest's files are gathered.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/qemu");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const EMULATOR: &str = "qemu-system-x86_64";
/// The kernel's own name changes with each of its updates; this one depends on the newest.
const KERNEL: &str = "linux-image-amd64";
/// The card's driver, which needs no other. Source: `modules.dep` of Debian's Linux 6.1.
const DRIVER: &str = "kernel/drivers/net/ethernet/intel/e1000e/e1000e.ko";
/// Two sockets of one core of two threads, each with its memory.
const MACHINE: &str = "-accel tcg,thread=multi -cpu max,vendor=GenuineIntel \
    -smp 4,sockets=2,cores=1,threads=2 -m 1024 \
    -object memory-backend-ram,id=near,size=512M -object memory-backend-ram,id=far,size=512M \
    -numa node,cpus=0-1,memdev=near -numa node,cpus=2-3,memdev=far \
    -nic user,restrict=on,model=e1000e";
/// How long the guest may take; it takes about a minute.
const PATIENCE: Duration = Duration::from_secs(600);

/// Boots the guest and runs its checks; true where none fails. With `install`, fetches what is missing.
///
/// # Errors
///
/// What could not be built.
pub(crate) fn all(install: bool) -> Result<bool, String> {
    let tools = Path::new(TOOLS);
    if install {
        if find(EMULATOR).is_none() {
            install_packages(&["qemu-system-x86"]);
        }
        if kernel(tools).is_none() {
            fetch(tools);
        }
    }
    let Some(emulator) = find(EMULATOR) else {
        println!("qemu: skipped: no {EMULATOR} here; `apt-get install qemu-system-x86` brings it");
        return Ok(true);
    };
    let Some(kernel) = kernel(tools) else {
        println!("qemu: skipped: no kernel for the guest; on Debian, `cargo xtask qemu` fetches it");
        return Ok(true);
    };
    if !run(Command::new("cargo").args(["build", "--locked", "-p", "taillight"]).current_dir(ROOT)) {
        return Ok(false);
    }
    let disk = gather(tools).map_err(|error| format!("the guest's files could not be gathered: {error}"))?;
    let mut guest = Command::new(emulator);
    guest
        .args(MACHINE.split(' '))
        .args(["-nographic", "-no-reboot", "-kernel"])
        .arg(kernel)
        .arg("-initrd")
        .arg(disk);
    guest.args(["-append", "console=ttyS0 quiet panic=-1"]);
    let child = guest.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    watch(child.map_err(|error| format!("{EMULATOR} does not start: {error}"))?)
}

/// Follows the guest to its last word; true where every check was well.
fn watch(mut child: Child) -> Result<bool, String> {
    let (send, lines) = mpsc::channel();
    let console = child.stdout.take().ok_or("the guest has no console")?;
    std::thread::spawn(move || {
        for line in BufReader::new(console).split(b'\n').map_while(Result::ok) {
            if send.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + PATIENCE;
    let mut checks = Checks::default();
    while !checks.ended {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                println!("  {line}");
                checks.read(&line);
            }
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    println!("qemu: {} checks passed, {} failed", checks.passed, checks.failed);
    if !checks.ended {
        return Err(format!("the guest did not come to its end within {} s", PATIENCE.as_secs()));
    }
    Ok(checks.failed == 0 && checks.passed > 0)
}

/// What the guest's console said so far.
#[derive(Debug, Default, PartialEq)]
struct Checks {
    passed: usize,
    failed: usize,
    ended: bool,
}

impl Checks {
    fn read(&mut self, line: &str) {
        self.ended |= line == "CHECKS END";
        if let Some(check) = line.strip_prefix("CHECK ") {
            let count = if check.ends_with(": ok") { &mut self.passed } else { &mut self.failed };
            *count += 1;
        }
    }
}

/// The guest's kernel, where it is unpacked.
fn kernel(tools: &Path) -> Option<PathBuf> {
    let boot = fs::read_dir(tools.join("boot")).ok()?.flatten().map(|entry| entry.path());
    boot.into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"vmlinuz")))
}

/// Unpacks Debian's kernel and busybox. Where that fails, they are missing.
fn fetch(tools: &Path) {
    let packages = tools.join("packages");
    let said = Command::new("apt-cache").args(["depends", KERNEL]).output();
    let depends = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let Some(image) = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: ")) else { return };
    if fs::create_dir_all(&packages).is_err() {
        return;
    }
    let mut apt = Command::new("apt-get");
    if !run(apt.args(["-qq", "download", image, "busybox-static"]).current_dir(&packages)) {
        return;
    }
    let found = fs::read_dir(&packages).into_iter().flatten().flatten().map(|entry| entry.path());
    for package in found {
        run(Command::new("dpkg").arg("-x").arg(package).arg(tools));
    }
    let _ = fs::remove_dir_all(&packages);
}

/// The guest's first file system: busybox, `taillight`, the libraries that it needs, the drivers and the checks.
fn gather(tools: &Path) -> std::io::Result<PathBuf> {
    let root = tools.join("root");
    let _ = fs::remove_dir_all(&root);
    for folder in ["bin", "modules", "lib64"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let busybox = ["bin/busybox", "usr/bin/busybox"].map(|path| tools.join(path));
    let busybox = busybox.into_iter().find(|path| path.is_file()).ok_or(std::io::ErrorKind::NotFound)?;
    fs::copy(&busybox, root.join("bin/busybox"))?;
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/src/qemu/init.sh"), root.join("init"))?;
    executable(&root.join("init"))?;
    let built =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(ROOT).join("target"), PathBuf::from);
    let built = built.join("debug/taillight");
    let program = root.join("bin/taillight");
    // With the names of its functions it would fill the guest's memory.
    if !run(Command::new("strip").arg("-o").arg(&program).arg(&built)) {
        fs::copy(&built, &program)?;
    }
    for library in libraries(&built)? {
        let to = root.join(library.strip_prefix("/").unwrap_or(&library));
        fs::create_dir_all(to.parent().unwrap_or(&root))?;
        fs::copy(&library, to)?;
    }
    let releases = fs::read_dir(tools.join("lib/modules"))?.flatten().map(|entry| entry.path());
    let driver = releases.map(|release| release.join(DRIVER)).find(|path| path.is_file());
    fs::copy(driver.ok_or(std::io::ErrorKind::NotFound)?, root.join("modules/e1000e.ko"))?;
    let disk = tools.join("disk.cpio");
    let list = Command::new("find").arg(".").current_dir(&root).stdout(Stdio::piped()).spawn()?;
    let names = list.stdout.ok_or(std::io::ErrorKind::BrokenPipe)?;
    let packed = Command::new(&busybox)
        .args(["cpio", "-o", "-H", "newc"])
        .current_dir(&root)
        .stdin(names)
        .stdout(File::create(&disk)?)
        .status()?;
    if packed.success() { Ok(disk) } else { Err(std::io::Error::other("cpio failed")) }
}

fn executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

/// The files of the shared libraries of a program, its loader among them. Source: `ldd(1)`.
fn libraries(program: &Path) -> std::io::Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(library).collect())
}

/// The file that a line of `ldd` names: `libc.so.6 => /lib/libc.so.6 (0x…)`, or the loader alone.
fn library(line: &str) -> Option<PathBuf> {
    line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_guest_says() {
        let check = |lines: &[&str], passed, failed, ended| {
            let mut checks = Checks::default();
            lines.iter().for_each(|line| checks.read(line));
            assert_eq!(checks, Checks { passed, failed, ended });
        };
        check(&["booting", "CHECK smt: ok", "CHECK a: FAILED: 'x' where 'y' is expected"], 1, 1, false);
        check(&["CHECK smt: ok", "CHECKS END"], 1, 0, true);
    }

    #[test]
    fn finds_libraries_by_their_files() {
        let check = |line: &str, expect: Option<&str>| assert_eq!(library(line), expect.map(PathBuf::from));
        check("\tlinux-vdso.so.1 (0x00007ffd)", None);
        check(
            "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f)",
            Some("/lib/x86_64-linux-gnu/libc.so.6"),
        );
        check("\t/lib64/ld-linux-x86-64.so.2 (0x7f)", Some("/lib64/ld-linux-x86-64.so.2"));
    }
}
