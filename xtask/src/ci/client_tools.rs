//! What tests need and no package of Debian has: clients of caches of npm and of Go, and the player of the page of `apps/video`.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::tools::{find, run};

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/sphinx/tests/clients");
/// The packages of the page that plays videos.
const PLAYER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../apps/video/player");
/// The version in `crates/sphinx/tests/clients/exporter/go.mod`, which the program is to say of itself.
const EXPORTER: &str = "0.14.4";
const EXPORTER_PACKAGE: &str = "github.com/prometheus/memcached_exporter/cmd/memcached_exporter";

/// Fetches what is missing or of another version into `tools`; a test that lacks one is skipped with the reason.
pub(super) fn prepare(tools: &Path) {
    let clients = Path::new(CLIENTS);
    node(&clients.join("node"), &tools.join("node"));
    node(Path::new(PLAYER), &tools.join("player"));
    go(&clients.join("exporter"), &tools.join("bin"));
}

/// Installs what the lock file says, unless that is installed.
fn node(from: &Path, to: &Path) {
    const LOCK: &str = "package-lock.json";
    let wanted = fs::read(from.join(LOCK)).ok();
    let installed = to.join("node_modules").is_dir() && fs::read(to.join(LOCK)).ok() == wanted;
    if installed || find("npm").is_none() || fs::create_dir_all(to).is_err() {
        return;
    }
    let copied = ["package.json", LOCK].iter().all(|file| fs::copy(from.join(file), to.join(file)).is_ok());
    if copied
        && !run(Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(to))
    {
        // So that it is tried again.
        let _ = fs::remove_file(to.join(LOCK));
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
