//! Clients as people use them do the same on Sphinx as on memcached: each goes through one list of steps and prints what
//! came of them.
//!
//! `cargo xtask ci` installs them; a client that is not there is skipped, and named.

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use support::{PATIENCE, Running, memcached, sphinxd};

/// What each client prints.
const EXPECT: [&str; 17] = [
    "set: stored",
    "get: v1",
    "missing: none",
    "multi: a=1 b=2",
    "add: refused",
    "replace: stored",
    "cas: stored",
    "stale cas: refused",
    "incr: 15",
    "decr: 12",
    "append: <v3>",
    "delete: gone",
    "touch: kept",
    "expiry: 0 left",
    "large: 500000",
    "binary: same",
    "done",
];

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

/// Runs a command to its end within the bound.
fn output(command: &mut Command) -> Output {
    let shown = format!("{command:?}");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (ended, end) = channel();
    thread::spawn(move || ended.send(child.wait_with_output().unwrap()));
    end.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{shown} does not end"))
}

/// Whether the command ends well, which tells whether a client is there.
fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

fn check(client: &str, package: &str, probe: &mut Command, command: impl Fn() -> Command) {
    if !works(probe) {
        return println!("skipped: {client} is not here; `apt-get install {package}` brings it");
    }
    let steps = |server: &Running| {
        let mut command = command();
        command.args([server.address.ip().to_string(), server.address.port().to_string()]);
        let Output { status, stdout, stderr } = output(&mut command);
        let said = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{client}: {said}{}", String::from_utf8_lossy(&stderr));
        said.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    if let Some(memcached) = memcached() {
        assert_eq!(steps(&memcached), EXPECT, "{client} on memcached");
    }
    assert_eq!(steps(&sphinxd("-t 2")), EXPECT, "{client} on Sphinx");
}

fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(CLIENTS);
    command
}

// Debian's, whatever else is first in PATH.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn pymemcache() {
    check("pymemcache", "python3-pymemcache", &mut program(PYTHON, &["-c", "import pymemcache"]), || {
        program(PYTHON, &["pymemcache_client.py"])
    });
}

#[test]
fn pylibmc() {
    check("pylibmc", "python3-pylibmc", &mut program(PYTHON, &["-c", "import pylibmc"]), || {
        program(PYTHON, &["pylibmc_client.py"])
    });
}

#[test]
fn php_memcached() {
    let probe = "exit(class_exists('Memcached') ? 0 : 1);";
    check("php-memcached", "php-cli php-memcached", &mut program("php", &["-r", probe]), || {
        program("php", &["php_client.php"])
    });
}

#[test]
fn as_dalli_does() {
    check("Python", "python3", &mut program("python3", &["--version"]), || {
        program("python3", &["dalli_style_client.py"])
    });
}

#[test]
fn spymemcached() {
    const JAR: &str = "/usr/share/java/spymemcached.jar";
    let mut probe = program("java", &["--list-modules"]);
    // Without a compiler it cannot run a file of source.
    let modules = probe.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !Path::new(JAR).exists() || !modules.is_ok_and(|modules| modules.contains("jdk.compiler")) {
        return println!(
            "skipped: spymemcached is not here; `apt-get install libspymemcached-java default-jdk-headless` brings it"
        );
    }
    check("spymemcached", "libspymemcached-java", &mut program("java", &["-version"]), || {
        program("java", &["-cp", JAR, "SpyClient.java"])
    });
}

#[test]
fn gomemcache() {
    let go = |args: &[&str]| {
        let mut command = program("go", args);
        // What the set-up has fetched must do: a test asks no network.
        command.env("GOPROXY", "off").env("GOFLAGS", "-mod=readonly").env("GOTOOLCHAIN", "local");
        command.current_dir(Path::new(CLIENTS).join("go"));
        command
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("client").display().to_string();
    if !works(&mut go(&["build", "-o", &program, "."])) {
        return println!("skipped: gomemcache is not here; `cargo xtask ci` brings it where there is Go");
    }
    check("gomemcache", "golang", &mut Command::new("true"), || Command::new(&program));
}

/// libmemcached's own tools, each with what it says and how it ends.
#[test]
fn libmemcached_tools() {
    // They are called memcping and so on since libmemcached 1.1, and were memping before.
    let Some(prefix) = ["memc", "mem"]
        .into_iter()
        .find(|prefix| works(&mut program(&format!("{prefix}ping"), &["--version"])))
    else {
        return println!("skipped: memcping is not here; `apt-get install libmemcached-tools` brings it");
    };
    let folder = tempfile::tempdir().unwrap();
    let value = format!("{}\n", "value ".repeat(2_000));
    std::fs::write(folder.path().join("item"), &value).unwrap();
    let talk = |server: &Running| {
        let servers = format!("--servers={}", server.address);
        let run = |name: &str, args: &[&str]| {
            let mut command = Command::new(format!("{prefix}{name}"));
            let Output { status, stdout, .. } =
                output(command.arg(&servers).args(args).current_dir(folder.path()));
            (status.code(), String::from_utf8_lossy(&stdout).into_owned())
        };
        let stats = run("stat", &[]);
        assert!(stats.0 == Some(0) && stats.1.contains("curr_items"), "{stats:?}");
        [
            run("ping", &[]),
            run("exist", &["item"]),
            run("cp", &["item"]),
            run("exist", &["item"]),
            run("cat", &["item"]),
            run("touch", &["--expire=100", "item"]),
            run("rm", &["item"]),
            run("rm", &["item"]),
            run("cat", &["item"]),
            run("cp", &["item"]),
            run("flush", &[]),
            run("exist", &["item"]),
        ]
    };
    let ours = talk(&sphinxd("-t 2"));
    assert_eq!(
        (ours[0].0, ours[2].0, ours[5].0, ours[6].0),
        (Some(0), Some(0), Some(0), Some(0)),
        "{ours:?}"
    );
    assert_eq!(ours[4].1.trim_end(), value.trim_end());
    assert!(ours[1].0 != Some(0) && ours[3].0 == Some(0) && ours[11].0 != Some(0), "{ours:?}");
    if let Some(memcached) = memcached() {
        assert_eq!(ours, talk(&memcached));
    }
}
