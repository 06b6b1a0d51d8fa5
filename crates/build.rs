//! Build script of the programs: sets `BUILT_FROM` to the commit and the profile of the build, for `--version`.
//!
//! Debug builds have no commit, since each commit would have them compiled again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    // The path is PROFILE/build/PACKAGE/out; the variable PROFILE is debug or release for every profile.
    let out = variable("OUT_DIR");
    let profile = out.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    println!("cargo:rerun-if-changed=../build.rs");
    let commit = if profile == "debug" { None } else { Some(commit(&variable("CARGO_MANIFEST_DIR"))) };
    let built_from = commit.map_or(profile.to_string(), |commit| format!("{commit}, {profile}"));
    println!("cargo:rustc-env=BUILT_FROM={built_from}");
}

/// The commit, with `-dirty` if files of this program differ from it. Cargo runs this again if one of them changes.
fn commit(package: &Path) -> String {
    let mut packages = BTreeSet::new();
    add_with_dependencies(package, &mut packages);
    let root = package.join("../..");
    let data = ["Cargo.toml", "Cargo.lock", "apps", "studies"].map(|name| root.join(name));
    let sources: Vec<PathBuf> = packages.into_iter().chain(data).collect();
    sources.iter().for_each(|path| println!("cargo:rerun-if-changed={}", path.display()));
    let git = |words: &[&str], paths: &[PathBuf]| {
        let mut git = Command::new("git");
        git.arg("--no-optional-locks").arg("-C").arg(&root).args(words).args(paths);
        let output = git.output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    };
    // A repository around a copy of this one has other commits.
    let described = git(&["rev-parse", "--show-cdup", "--short=12", "HEAD"], &[]);
    let Some(commit) = described.as_ref().and_then(|text| text.trim_end().strip_prefix('\n')) else {
        return "unknown commit".into();
    };
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", file], &[]).unwrap_or_default();
        if Path::new(path.trim_end()).exists() {
            println!("cargo:rerun-if-changed={}", path.trim_end());
        }
    }
    let changed = git(&["status", "--porcelain", "--"], &sources).is_none_or(|text| !text.is_empty());
    format!("{commit}{}", if changed { "-dirty" } else { "" })
}

/// Adds the folder of a package and, for each dependency in the workspace, its folder.
fn add_with_dependencies(package: &Path, found: &mut BTreeSet<PathBuf>) {
    let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
    if manifest.is_empty() || !found.insert(package.to_owned()) {
        return;
    }
    let needed = manifest.split("[dev-dependencies]").next().unwrap_or_default();
    for (name, _) in needed.lines().filter_map(|line| line.split_once(['.', ' '])) {
        if name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
            add_with_dependencies(&package.with_file_name(name), found);
        }
    }
}
