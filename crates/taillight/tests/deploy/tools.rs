use std::path::{Path, PathBuf};

use launch::find_program;

/// Where `cargo xtask ci` puts what only the tests need.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools");

/// The folder `deploy/` of this repository.
pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

/// A program that the tests need: fetched by `cargo xtask ci`, or installed. Prints why a test is skipped without it.
pub(crate) fn tool(name: &str, remedy: &str) -> Option<PathBuf> {
    let fetched = ["bin", "python/bin"].map(|folder| Path::new(TOOLS).join(folder).join(name));
    let found = fetched.into_iter().find(|file| file.is_file()).or_else(|| find_program(name));
    if found.is_none() {
        println!("skipped: no {name} here; {remedy}");
    }
    found
}

/// The folder with the JSON schemas of this version of Kubernetes, strict ones.
pub(crate) fn kubernetes_schemas(version: &str) -> Option<PathBuf> {
    let inside = format!("site-packages/kubernetes_validate/kubernetes-json-schema/v{version}-local-strict");
    let pythons = std::fs::read_dir(Path::new(TOOLS).join("python/lib")).ok()?;
    pythons.flatten().map(|python| python.path().join(&inside)).find(|folder| folder.is_dir())
}
