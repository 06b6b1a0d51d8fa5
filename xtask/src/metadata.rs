use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// A package of the workspace, as far as the checks look at it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A direct dependency of a package.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`; `None` for a normal dependency.
    pub(crate) kind: Option<String>,
    /// The registry; `None` for a package of this workspace.
    pub(crate) source: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// The packages of the workspace at `root`. Source: `cargo metadata`, whose format 1 is stable.
pub(crate) fn read(root: &Path) -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(metadata.packages)
}

impl Package {
    /// A package of a test: each dependency is `name`, `name(dev)` or `name(registry)`.
    #[cfg(test)]
    pub(crate) fn of(name: &str, dependencies: &[&str]) -> Package {
        let dependency = |text: &&str| {
            let (name, mark) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
            Dependency {
                name: name.into(),
                kind: (mark == "dev" || mark == "build").then(|| mark.into()),
                source: (mark == "registry").then(|| mark.into()),
            }
        };
        Package { name: name.into(), dependencies: dependencies.iter().map(dependency).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_this_workspace() {
        let packages = read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let own = packages.iter().find(|package| package.name == "xtask").unwrap();
        let serde = own.dependencies.iter().find(|dependency| dependency.name == "serde").unwrap();
        assert!(serde.kind.is_none() && serde.source.is_some());
    }
}
