//! Compiles the applications of `apps/` in, compressed: the description of each, its templates and its other files.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Folders that are not deployed: tests, and the tools that fetch third-party packages.
const APART: [&str; 2] = ["tests", "player"];
/// The same at any depth.
const ANYWHERE: [&str; 2] = ["node_modules", "__pycache__"];

fn main() {
    let apps = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../apps");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed={}", apps.display());
    let mut code = String::from("pub(super) static APPS: &[(&str, crate::files::Compiled)] = &[\n");
    for folder in sorted(&apps).iter().filter(|folder| folder.join("app.toml").exists()) {
        writeln!(code, "({:?}, &[", name(folder)).expect("a string takes it");
        let mut files = Vec::new();
        collect(folder, &APART, &mut files);
        for (number, file) in files.into_iter().enumerate() {
            let inside = file.strip_prefix(folder).expect("it is below").display().to_string();
            let packed = out.join(format!("{}-{number}", name(folder)));
            fs::write(&packed, deflated(&file)).expect("cargo's folder can be written to");
            writeln!(code, "({inside:?}, include_bytes!({:?})),", packed.display().to_string())
                .expect("a string takes it");
        }
        code.push_str("]),\n");
    }
    code.push_str("];\n");
    fs::write(out.join("apps.rs"), code).expect("cargo's folder can be written to");
}

fn deflated(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("a vector takes it")
}

/// The files in `folder` and below, but for the folders `apart` in it.
fn collect(folder: &Path, apart: &[&str], files: &mut Vec<PathBuf>) {
    for entry in sorted(folder) {
        let name = name(&entry);
        if !entry.is_dir() {
            files.push(entry);
        } else if !apart.contains(&name.as_str())
            && !ANYWHERE.contains(&name.as_str())
            && !name.starts_with('.')
        {
            collect(&entry, &[], files);
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
