//! Compiles the studies of `studies/` in, in the order of their names.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let studies = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../studies");
    println!("cargo:rerun-if-changed={}", studies.display());
    let entries = fs::read_dir(&studies).unwrap_or_else(|e| panic!("{}: {e}", studies.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    folders.retain(|folder| folder.join("study.toml").exists());
    folders.sort();
    let embedded = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().display();
        let [study, claims, readme] = ["study.toml", "claims.toml", "README.md"]
            .map(|file| format!("include_str!({:?})", folder.join(file).display().to_string()));
        format!("Embedded {{ folder: \"{name}\", study: {study}, claims: {claims}, readme: {readme} }},\n")
    };
    let code: String = folders.iter().map(embedded).collect();
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("studies.rs"), format!("&[\n{code}]")).expect("cargo's folder can be written to");
}
