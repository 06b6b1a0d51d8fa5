//! Compiles the applications of `apps/` in: the description and the templates of each.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let apps = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../apps");
    println!("cargo:rerun-if-changed={}", apps.display());
    let mut code = String::from("pub(super) static APPS: &[(&str, &[(&str, &str)])] = &[\n");
    for folder in sorted(&apps).iter().filter(|folder| folder.join("app.toml").exists()) {
        writeln!(code, "({:?}, &[", name(folder)).expect("a string takes it");
        let mut files = Vec::new();
        collect(folder, &mut files);
        for file in files {
            let inside = file.strip_prefix(folder).expect("it is below").display().to_string();
            writeln!(code, "({inside:?}, include_str!({:?})),", file.display().to_string())
                .expect("a string takes it");
        }
        code.push_str("]),\n");
    }
    code.push_str("];\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("apps.rs");
    fs::write(out, code).expect("cargo's folder can be written to");
}

/// The description and the templates in `folder` and below.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in sorted(folder) {
        if entry.is_dir() {
            collect(&entry, files);
        } else if name(&entry) == "app.toml" || name(&entry).ends_with(".j2") {
            files.push(entry);
        }
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    all.sort();
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
