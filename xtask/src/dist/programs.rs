//! The programs of a release, linked statically: compiled here, or found in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::libraries::{FEATURES, PACKAGES};
use super::release::Program;
use crate::ci::tools::has_target;
use crate::command::{as_by_hand, find, quiet, run};

/// A kind of machine that programs are made for.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) name: &'static str,
    /// As archives name it.
    pub(super) architecture: &'static str,
    /// As Debian and images name it.
    pub(super) debian: &'static str,
    /// The C compiler, which compiles `ring` and links. Debian's gcc for glibc does: `ring` uses no function of a C
    /// library that is glibc's alone, and rustc brings musl.
    compiler: &'static str,
    /// Its Debian packages: without the second it has no headers of a C library.
    packages: &'static str,
}

pub(super) const TARGETS: [Target; 2] = [
    Target {
        name: "x86_64-unknown-linux-musl",
        architecture: "x86_64",
        debian: "amd64",
        compiler: "x86_64-linux-gnu-gcc",
        packages: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
    },
    Target {
        name: "aarch64-unknown-linux-musl",
        architecture: "aarch64",
        debian: "arm64",
        compiler: "aarch64-linux-gnu-gcc",
        packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    },
];

impl Target {
    /// The folder of the programs that [`compile`](Self::compile) makes.
    pub(super) fn folder(&self, root: &Path, profile: &str) -> PathBuf {
        root.join("target").join(self.name).join(profile)
    }

    /// Both programs in a folder. Errors: one of them cannot be read.
    pub(super) fn read(&self, folder: &Path) -> Result<Program, String> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        Ok(Program { target: *self, taillight: read("taillight")?, sphinxd: read("sphinxd")? })
    }

    /// What lacks to compile for it, with how to get it. Tries rustup if its standard library is missing.
    pub(super) fn lacks(&self) -> Option<String> {
        if !has_target(self.name, true) {
            return Some(format!("no standard library for {0} here; rustup target add {0}", self.name));
        }
        let works = self.c_compiler().is_some_and(|compiler| {
            quiet(Command::new(compiler).args(["-E", "-include", "string.h", "-x", "c", "/dev/null"]))
        });
        (!works).then(|| format!("no {} with headers here; apt-get install {}", self.compiler, self.packages))
    }

    fn c_compiler(&self) -> Option<PathBuf> {
        let own = self.architecture == std::env::consts::ARCH;
        find(self.compiler).or_else(|| own.then(|| find("cc")).flatten())
    }

    /// Compiles both programs, without a path of this machine in them; false if cargo fails.
    pub(super) fn compile(&self, root: &Path, profile: &str) -> bool {
        let Some(compiler) = self.c_compiler() else { return false };
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
        let places = [(root.to_owned(), "/taillight"), (cargo_home, "/cargo")];
        let map = |option: &str, separator: &str| {
            let options = places.iter().map(|(from, to)| format!("{option}{}={to}", from.display()));
            options.collect::<Vec<_>>().join(separator)
        };
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--locked", "--profile", profile, "--target", self.name, "--bins"]);
        cargo.args(["--features", FEATURES]).args(PACKAGES.iter().flat_map(|name| ["-p", name]));
        as_by_hand(&mut cargo);
        let name = self.name.replace('-', "_");
        cargo.current_dir(root).env_remove("RUSTFLAGS").env_remove("CARGO_TARGET_DIR");
        // Paths may have blanks, and this variable separates by another character.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", map("--remap-path-prefix=", "\x1f"));
        cargo.env(format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), &compiler);
        cargo.env(format!("CC_{name}"), &compiler);
        cargo.env(format!("CFLAGS_{name}"), map("-ffile-prefix-map=", " "));
        run(&mut cargo)
    }
}
