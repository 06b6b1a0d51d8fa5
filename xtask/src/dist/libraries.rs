//! The libraries in the programs: as a bill of materials, and with their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::files::sha256;
use crate::metadata::of_cargo;

/// The features of the programs of a release: all formats that results can be exported to.
pub(super) const FEATURES: &str = "taillight/parquet";
/// The packages of the programs.
pub(super) const PACKAGES: [&str; 2] = ["taillight", "sphinx"];

/// Packages that are compiled into the programs.
pub(super) struct Libraries {
    packages: BTreeMap<String, Package>,
    /// The packages that each of them uses, by their identities.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// Checksums of the lock file, by name and version.
    checksums: BTreeMap<(String, String), String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `dev`, `build`; `None` for a normal dependency.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Libraries {
    /// Reads them for these targets. Source: `cargo metadata` and Cargo.lock.
    ///
    /// Errors: cargo fails, for example because it cannot fetch a package.
    pub(super) fn read(root: &Path, targets: &[&str]) -> Result<Libraries, String> {
        let platforms = targets.iter().flat_map(|target| ["--filter-platform", *target]);
        let options: Vec<&str> = ["--locked", "--features", FEATURES].into_iter().chain(platforms).collect();
        let metadata: Metadata = of_cargo(root, &options)?;
        let lock = fs::read_to_string(root.join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
        let lock: Lock = toml::from_str(&lock).map_err(|error| format!("Cargo.lock: {error}"))?;
        let checksums =
            lock.package.into_iter().filter_map(|one| Some(((one.name, one.version), one.checksum?)));
        Ok(Libraries::of(metadata, checksums.collect()))
    }

    fn of(metadata: Metadata, checksums: BTreeMap<(String, String), String>) -> Libraries {
        let mut all: BTreeMap<String, Package> =
            metadata.packages.into_iter().map(|package| (package.id.clone(), package)).collect();
        // Macros run while the programs are compiled.
        let is_linked = |id: &str| {
            let targets = all.get(id).map_or(&[][..], |package| &package.targets);
            !targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
        };
        let nodes = metadata.resolve.nodes.into_iter().map(|node| {
            let linked = node.deps.into_iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()) && is_linked(&dependency.pkg)
            });
            (node.id, linked.map(|dependency| dependency.pkg).collect())
        });
        let graph: BTreeMap<String, BTreeSet<String>> = nodes.collect();
        let programs = all
            .values()
            .filter(|package| PACKAGES.contains(&package.name.as_str()) && package.source.is_none());
        let mut left: Vec<String> = programs.map(|package| package.id.clone()).collect();
        let (mut packages, mut uses) = (BTreeMap::new(), BTreeMap::new());
        while let Some(id) = left.pop() {
            let Some(package) = all.remove(&id) else { continue };
            let own = graph.get(&id).cloned().unwrap_or_default();
            left.extend(own.iter().cloned());
            uses.insert(id.clone(), own);
            packages.insert(id, package);
        }
        Libraries { packages, uses, checksums }
    }

    /// The bill of materials. Source: CycloneDX 1.5, as JSON.
    pub(super) fn bill(&self, version: &str, timestamp: &str) -> Value {
        let address = |id: &str| match self.packages.get(id) {
            Some(package) => format!("pkg:cargo/{}@{}", package.name, package.version),
            None => id.to_owned(),
        };
        let components = self.packages.iter().map(|(id, package)| {
            let mut component = json!({
                "type": if PACKAGES.contains(&package.name.as_str()) { "application" } else { "library" },
                "bom-ref": address(id), "purl": address(id), "name": package.name, "version": package.version,
            });
            if let Some(license) = &package.license {
                // Before SPDX had OR, cargo had a slash.
                component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
            }
            if let Some(sum) = self.checksums.get(&(package.name.clone(), package.version.clone())) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
            }
            component
        });
        let dependencies = self.uses.iter().map(|(id, uses)| {
            json!({ "ref": address(id), "dependsOn": uses.iter().map(|id| address(id)).collect::<Vec<_>>() })
        });
        json!({
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {
                "timestamp": timestamp,
                "component": { "type": "application", "bom-ref": "release", "name": "taillight", "version": version,
                               "licenses": [{ "license": { "id": "Apache-2.0" } }] },
            },
            "components": components.collect::<Vec<_>>(),
            "dependencies": dependencies.collect::<Vec<_>>(),
        })
    }

    /// The texts of the libraries' licences, each text once, with the libraries that have it.
    ///
    /// Errors: a library that came from a registry has neither a text nor the name of a licence.
    pub(super) fn licenses(&self) -> Result<String, String> {
        let mut texts: BTreeMap<String, (BTreeSet<String>, String)> = BTreeMap::new();
        let mut list = String::new();
        for package in self.packages.values().filter(|package| package.source.is_some()) {
            let name = format!("{} {}", package.name, package.version);
            let Some(license) = &package.license else { return Err(format!("{name} names no licence")) };
            list += &format!("{name}: {license}\n");
            for text in license_files(package.manifest_path.parent().unwrap_or(Path::new("/"))) {
                texts
                    .entry(sha256(text.as_bytes()))
                    .or_insert((BTreeSet::new(), text))
                    .0
                    .insert(name.clone());
            }
        }
        let texts = texts.into_values().map(|(names, text)| {
            let names: Vec<String> = names.into_iter().collect();
            format!("\n{}\n{}\n\n{}\n", "=".repeat(78), names.join(", "), text.trim_end())
        });
        Ok(format!(
            "The programs contain these libraries, Rust's standard library (MIT OR Apache-2.0) and musl (MIT).\n\n{list}{}",
            texts.collect::<String>()
        ))
    }
}

/// The texts in a package, in the order of their names.
fn license_files(folder: &Path) -> Vec<String> {
    let is_license = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|start| name.starts_with(start))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(is_license).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect()
}
