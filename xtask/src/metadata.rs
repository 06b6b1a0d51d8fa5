use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::command::output;

/// A package of the workspace, as far as the checks look at it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

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

pub(crate) fn read(root: &Path) -> Result<Vec<Package>, String> {
    let metadata: Metadata = of_cargo(root, &["--no-deps"])?;
    Ok(metadata.packages)
}

/// The output of `cargo metadata` for the workspace at `root`, in its format 1, which is stable.
pub(crate) fn of_cargo<T: DeserializeOwned>(root: &Path, options: &[&str]) -> Result<T, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let text = output(cargo.args(["metadata", "--format-version", "1"]).args(options).current_dir(root))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

impl Package {
    /// Its folder, from the root.
    pub(crate) fn folder(&self) -> String {
        if self.name == "xtask" { self.name.clone() } else { format!("crates/{}", self.name) }
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

    impl Package {
        /// A package of a test: each dependency is `name`, `name(dev)` or `name(registry)`.
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
}
