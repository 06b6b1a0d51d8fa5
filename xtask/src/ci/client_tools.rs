//! Tools for tests that Debian does not package: cache clients of npm, PyPI, Go and Maven, the player of the page of
//! `apps/video`, the driver of a browser, and the packages of PyPI that the Python package is tested with; for a bench, a
//! simulator of caches.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{find, run};

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/sphinx/tests/clients");
/// The packages of the page that plays videos.
const PLAYER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../apps/video/player");
/// The package that drives a browser in the tests of pages.
const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/taillight/tests/browser");
/// Cache clients of PyPI and their dependencies: name, version, and how pip names the folder.
const PYTHON: [(&str, &str, &str); 4] = [
    ("python-binary-memcached", "0.33.0", "python_binary_memcached"),
    ("uhashring", "2.5", "uhashring"),
    ("redis", "5.2.1", "redis"),
    // Needed by redis before Python 3.11.3.
    ("async-timeout", "5.0.1", "async_timeout"),
];
/// The simulator of `crates/sphinx/benches/policies`, and the one library that it takes.
const SIMULATOR: [(&str, &str, &str); 2] =
    [("libcachesim", "0.3.5", "libcachesim"), ("numpy", "2.4.6", "numpy")];
/// The packages that build, check and test the Python package of this repository.
const NOTEBOOKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../python/requirements.txt");
/// The version in `crates/sphinx/tests/clients/exporter/go.mod`, which the program is to say of itself.
const EXPORTER: &str = "0.14.4";
const EXPORTER_PACKAGE: &str = "github.com/prometheus/memcached_exporter/cmd/memcached_exporter";

/// Fetches packages that are missing or of another version into `tools`; a test that lacks one is skipped with the
/// reason.
///
/// Errors: the packages that could not be installed, and why.
pub(super) fn prepare(tools: &Path) -> Result<(), String> {
    let clients = Path::new(CLIENTS);
    let packages = [(clients.join("node"), "node"), (PLAYER.into(), "player"), (BROWSER.into(), "browser")];
    let failed: Vec<String> =
        packages.iter().filter_map(|(from, to)| node(from, &tools.join(to)).err()).collect();
    go(&clients.join("exporter"), &tools.join("bin"));
    if find("go").is_some() {
        for module in ["go", "go-redis"] {
            run(Command::new("go").args(["mod", "download"]).current_dir(clients.join(module)));
        }
    }
    python(&tools.join("clients-python"), &PYTHON);
    maven(&clients.join("jedis"), &tools.join("jedis"));
    environment(&tools.join("python-package"), Path::new(NOTEBOOKS));
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Fetches the simulator of caches, if its packages are missing or of another version.
pub(super) fn prepare_simulator(tools: &Path) {
    python(&tools.join("simulator-python"), &SIMULATOR);
}

/// Installs the packages of the lock file unless they are installed.
///
/// Errors: a file is missing, or npm is missing or fails. A machine without npm does not fail: the tests report their
/// missing packages.
fn node(from: &Path, to: &Path) -> Result<(), String> {
    const LOCK: &str = "package-lock.json";
    let lock = from.join(LOCK);
    let wanted = fs::read(&lock).map_err(|error| {
        format!("{}: {error}; `npm install --package-lock-only --omit-lockfile-registry-resolved` there writes it", lock.display())
    })?;
    let installed =
        to.join("node_modules").is_dir() && fs::read(to.join(LOCK)).is_ok_and(|there| there == wanted);
    if installed {
        return Ok(());
    }
    if find("npm").is_none() {
        println!(
            "no npm here, which leaves out what {} names; `apt-get install npm` brings it",
            from.display()
        );
        return Ok(());
    }
    fs::create_dir_all(to).map_err(|error| format!("cannot make the folder {}: {error}", to.display()))?;
    for file in ["package.json", LOCK] {
        let file = from.join(file);
        let place = to.join(file.file_name().unwrap_or_default());
        fs::copy(&file, &place).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
    }
    let done =
        run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(to));
    if done {
        return Ok(());
    }
    // So that it is tried again.
    let _ = fs::remove_file(to.join(LOCK));
    Err(format!("npm could not install what {} names; its message is above", from.display()))
}

/// Installs the packages of Python into a folder that needs no environment to be read from.
fn python(to: &Path, wanted: &[(&str, &str, &str)]) {
    let packages = to.join("packages");
    let is_there = wanted
        .iter()
        .all(|(_, version, folder)| packages.join(format!("{folder}-{version}.dist-info")).is_dir());
    if is_there || find("python3").is_none() {
        return;
    }
    // Replaces a partial environment of an interrupted run.
    if run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(to)) {
        let wanted = wanted.iter().map(|(name, version, _)| format!("{name}=={version}"));
        let pip = || Command::new(to.join("bin/pip"));
        run(pip().args(["install", "--quiet", "--no-deps", "--target"]).arg(&packages).args(wanted));
    }
}

/// Copies the jars that a `pom.xml` names, with their dependencies, unless the jars of the same file are there.
fn maven(from: &Path, to: &Path) {
    const POM: &str = "pom.xml";
    const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
    let wanted = fs::read(from.join(POM)).unwrap_or_default();
    if fs::read(to.join(POM)).is_ok_and(|there| there == wanted) || find("mvn").is_none() {
        return;
    }
    // Jars of another version, or of an interrupted run.
    let _ = fs::remove_dir_all(to);
    let out = format!("-DoutputDirectory={}", to.display());
    if run(Command::new("mvn").args(["-B", "-q", "-f"]).arg(from.join(POM)).args([COPY, &out])) {
        // Without this copy the jars are fetched again.
        let _ = fs::write(to.join(POM), wanted);
    }
}

/// Makes an environment of Python with the packages of a list, unless they are installed.
fn environment(to: &Path, list: &Path) {
    let installed = to.join("installed.txt");
    let wanted = fs::read(list).unwrap_or_default();
    if fs::read(&installed).is_ok_and(|there| there == wanted) || find("python3").is_none() {
        return;
    }
    if run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(to))
        && run(Command::new(to.join("bin/pip")).args(["install", "--quiet", "--requirement"]).arg(list))
    {
        // Without this copy the packages are installed again.
        let _ = fs::write(installed, wanted);
    }
}

fn go(module: &Path, bin: &Path) {
    let program = bin.join("memcached_exporter");
    let says_version = || {
        let output = Command::new(&program).arg("--version").output().ok()?;
        Some(
            [output.stdout, output.stderr]
                .concat()
                .windows(EXPORTER.len())
                .any(|text| text == EXPORTER.as_bytes()),
        )
    };
    if says_version() == Some(true) || find("go").is_none() || fs::create_dir_all(bin).is_err() {
        return;
    }
    println!("building memcached_exporter takes a minute, once");
    let version = format!("-X github.com/prometheus/common/version.Version={EXPORTER}");
    run(Command::new("go")
        .args(["build", "-mod=readonly", "-buildvcs=false", "-ldflags", &version, "-o"])
        .arg(bin)
        .arg(EXPORTER_PACKAGE)
        .env("CGO_ENABLED", "0")
        .current_dir(module));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_stays_and_a_missing_lock_file_is_said() {
        let root = std::env::temp_dir().join(format!("taillight-client-tools-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to"));
        fs::create_dir_all(&from).unwrap();
        fs::write(from.join("package.json"), "{}").unwrap();
        let error = node(&from, &to).unwrap_err();
        assert!(error.contains("package-lock.json") && error.contains("--package-lock-only"), "{error}");
        assert!(!to.exists());
        // Packages that match the lock file are not installed again.
        fs::write(from.join("package-lock.json"), "{}").unwrap();
        fs::create_dir_all(to.join("node_modules")).unwrap();
        fs::write(to.join("package-lock.json"), "{}").unwrap();
        node(&from, &to).unwrap();
        assert!(!to.join("package.json").exists());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_packages_have_lock_files_without_a_host() {
        for folder in [&format!("{CLIENTS}/node"), PLAYER, BROWSER] {
            let lock = fs::read_to_string(Path::new(folder).join("package-lock.json")).unwrap();
            assert!(lock.contains("integrity") && !lock.contains("\"resolved\""), "{folder}");
        }
    }
}
