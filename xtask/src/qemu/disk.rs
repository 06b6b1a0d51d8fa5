use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::guest::Guest;
use crate::ci::tools::unpack;
use crate::command::{find, output, run};

/// A package that depends on the newest kernel, whose own name changes with each update.
const KERNEL: &str = "linux-image-amd64";
/// The card's driver, which needs no other. Source: `modules.dep` of Debian's Linux 6.1.
const DRIVER: &str = "kernel/drivers/net/ethernet/intel/e1000e/e1000e.ko";
const INIT: &str = include_str!("init.sh");
/// Servers run under the second, as on any machine.
const ACCOUNTS: &str = "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";

/// The guests' kernel, once unpacked.
pub(super) fn kernel(tools: &Path) -> Option<PathBuf> {
    let boot = fs::read_dir(tools.join("boot")).ok()?.flatten().map(|entry| entry.path());
    boot.into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"vmlinuz")))
}

/// Unpacks Debian's kernel and busybox. After a failure they stay missing.
pub(super) fn fetch(tools: &Path) {
    let packages = tools.join("packages");
    let depends = output(Command::new("apt-cache").args(["depends", KERNEL])).unwrap_or_default();
    let Some(image) = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: ")) else { return };
    if fs::create_dir_all(&packages).is_err() {
        return;
    }
    let mut apt = Command::new("apt-get");
    if !run(apt.args(["-qq", "download", image, "busybox-static"]).current_dir(&packages)) {
        return;
    }
    unpack(&packages, tools);
    let _ = fs::remove_dir_all(&packages);
}

/// The guest's first file system: busybox, `taillight` as it was built and the guest's other programs, the libraries that
/// they need, the driver and the checks.
pub(super) fn gather(tools: &Path, taillight: &Path, guest: &Guest) -> std::io::Result<PathBuf> {
    let root = tools.join("root");
    let _ = fs::remove_dir_all(&root);
    for folder in ["bin", "etc", "modules", "lib64"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let busybox = ["bin/busybox", "usr/bin/busybox"].map(|path| tools.join(path));
    let busybox = busybox.into_iter().find(|path| path.is_file()).ok_or(std::io::ErrorKind::NotFound)?;
    fs::copy(&busybox, root.join("bin/busybox"))?;
    fs::write(root.join("init"), INIT)?;
    fs::set_permissions(root.join("init"), Permissions::from_mode(0o755))?;
    fs::write(root.join("checks"), guest.checks)?;
    fs::write(root.join("etc/passwd"), ACCOUNTS)?;
    let programs = guest.programs.iter().filter_map(|program| find(program));
    for program in std::iter::once(taillight.to_owned()).chain(programs) {
        install(&program, &root)?;
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

/// Copies a program of this machine and its libraries into the guest.
fn install(program: &Path, root: &Path) -> std::io::Result<()> {
    let to = root.join("bin").join(program.file_name().unwrap_or_default());
    // With the names of its functions `taillight` would fill the guest's memory.
    if !run(Command::new("strip").arg("-o").arg(&to).arg(program)) {
        fs::copy(program, &to)?;
    }
    // The shared libraries of the program, its loader among them; `ldd(1)` fails for a static program.
    let libraries = output(Command::new("ldd").arg(program)).unwrap_or_default();
    for library in libraries.lines().filter_map(library) {
        let to = root.join(library.strip_prefix("/").unwrap_or(&library));
        fs::create_dir_all(to.parent().unwrap_or(root))?;
        fs::copy(&library, to)?;
    }
    Ok(())
}

/// The file that a line of `ldd` names: `libc.so.6 => /lib/libc.so.6 (0x…)`, or the loader alone.
fn library(line: &str) -> Option<PathBuf> {
    line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

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
