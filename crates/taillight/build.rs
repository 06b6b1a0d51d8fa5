//! Linker options that make the released program a tenth smaller.

use std::env;
use std::process::Command;

/// The first version of glibc that reads packed relocations (`DT_RELR`); an older one would start a program that crashes.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // On this target rustc links with its own lld by default.
    let lld = is("TARGET", "x86_64-unknown-linux-gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.is_empty());
    if !lld || !is("PROFILE", "release") {
        return;
    }
    // Generic code is compiled once per type, often to the same instructions.
    println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    if env::var("HOST").ok() == env::var("TARGET").ok() && glibc().is_some_and(|found| found >= PACKED_SINCE)
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc; `None` if it cannot be found out.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
