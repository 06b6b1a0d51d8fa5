//! Debian's configuration and start wrapper of memcached start sphinxd unchanged, with no more capabilities than Debian's
//! systemd unit leaves.
//!
//! The unit has `CapabilityBoundingSet=CAP_SETGID CAP_SETUID CAP_SYS_RESOURCE` and `NoNewPrivileges=true`: root may write
//! in no folder but its own, give away no file and open no port below 1024. Source: memcached.service of Debian 12.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

use crate::support::PATIENCE;
use crate::support::client::Client;
use launch::{Process, Spec};
use nix::unistd::{User, geteuid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const WRAPPER: &str = "/usr/share/memcached/scripts/systemd-memcached-wrapper";
const CONF: &str = "/etc/memcached.conf";
const MEMCACHED: &str = "/usr/bin/memcached";

/// Gives a network of its own, `$1` as /run and `$2` as memcached, and starts the wrapper `$3` with the configuration `$4` as
/// the unit does.
const UNIT: &str = "set -e
mount --make-rprivate /
ip link set lo up
mount --bind \"$1\" /run
mount --bind \"$2\" /usr/bin/memcached
exec setpriv --bounding-set=-all,+setgid,+setuid,+sys_resource --inh-caps=-all --no-new-privs \"$3\" \"$4\"";
/// CAP_SETGID (6), CAP_SETUID (7) and CAP_SYS_RESOURCE (24). Source: linux/capability.h.
const BOUNDING: u64 = 1 << 6 | 1 << 7 | 1 << 24;

/// The account of memcached, or the reason to skip the test.
fn user() -> Result<User, String> {
    if !geteuid().is_root() {
        return Err("only root can start a service".into());
    }
    for file in [WRAPPER, CONF, MEMCACHED] {
        if !Path::new(file).exists() {
            return Err(format!("there is no {file}; install Debian's package memcached"));
        }
    }
    let tried =
        Command::new("unshare").args(["-m", "-n", "setpriv", "--no-new-privs", "ip", "link"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return Err("unshare, setpriv and ip do not work here".into());
    }
    User::from_name("memcache").ok().flatten().ok_or_else(|| "there is no user memcache".into())
}

/// Starts the wrapper with that configuration in place of /etc/memcached.conf, where /run is `run`.
fn start(run: &Path, conf: &Path) -> Process {
    let words = [
        "-m",
        "-n",
        "sh",
        "-c",
        UNIT,
        "sh",
        run.to_str().unwrap(),
        env!("CARGO_BIN_EXE_sphinxd"),
        WRAPPER,
        conf.to_str().unwrap(),
    ];
    Process::spawn(Spec::new("wrapper", "unshare").args(words)).unwrap()
}

/// Runs `talk` with a client of the server in its network.
fn with_client(process: &Process, talk: impl FnOnce(Client) + Send) {
    let network = File::open(format!("/proc/{}/ns/net", process.pid())).unwrap();
    std::thread::scope(|scope| {
        let talker = scope.spawn(move || {
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&network), Some(LinkNameSpaceType::Network))
                .unwrap();
            talk(Client::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, 11211))));
        });
        talker.join().unwrap();
    });
}

fn end(mut process: Process) -> String {
    let killed = Command::new("kill").arg(process.pid().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(process.wait(PATIENCE).unwrap().code(), Some(0), "{:?}", process.stderr_tail());
    process.stderr_tail().join("\n")
}

#[test]
fn debians_service_starts_sphinxd_unchanged() {
    let user = match user() {
        Ok(user) => user,
        Err(why) => return println!("skipped: {why}"),
    };
    let run = tempfile::tempdir().unwrap();
    let folder = run.path().join("memcached");
    fs::create_dir(&folder).unwrap();
    let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
    chown(&folder, Some(uid), Some(gid)).unwrap();
    let pidfile = folder.join("memcached.pid");
    let mut process = start(run.path(), Path::new(CONF));
    let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    assert!(line.contains("127.0.0.1:11211"), "{line}");
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    assert_eq!(field("Uid:"), [uid.to_string().as_str(); 4].join("\t"));
    assert_eq!(field("Gid:"), [gid.to_string().as_str(); 4].join("\t"));
    assert_eq!(field("NoNewPrivs:"), "1");
    // In a container even root may lack some of them.
    assert_eq!(u64::from_str_radix(field("CapBnd:"), 16).unwrap() & !BOUNDING, 0);
    assert_eq!(field("CapEff:"), "0000000000000000");
    assert_eq!(fs::read_to_string(&pidfile).unwrap(), format!("{}\n", process.pid()));
    assert_eq!(fs::metadata(&pidfile).unwrap().uid(), uid);
    with_client(&process, |mut client| {
        client.set("k", "v");
        assert_eq!(client.get("k").as_deref(), Some(&b"v"[..]));
    });
    end(process);
    assert!(!pidfile.exists());

    // Where the folder is missing, the file is left out, as by memcached.
    fs::remove_dir(&folder).unwrap();
    let mut process = start(run.path(), Path::new(CONF));
    process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let said = end(process);
    assert!(said.contains("the pidfile cannot be written"), "{said}");
}

#[test]
fn a_unix_socket_needs_no_more_capabilities() {
    let user = match user() {
        Ok(user) => user,
        Err(why) => return println!("skipped: {why}"),
    };
    let (run, etc) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = run.path().join("memcached");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
    let conf = etc.path().join("memcached.conf");
    let text = "# A socket for the web server's group.\n-d\nlogfile /var/log/memcached.log\n-v\n\n-m 64\n-u memcache\n\
                -s /run/memcached/socket\n-a 770\n-P /run/memcached/memcached.pid\n";
    fs::write(&conf, text).unwrap();
    let mut process = start(run.path(), &conf);
    process.await_line("sphinxd ready on unix:/run/memcached/socket", PATIENCE).unwrap();
    let socket = fs::metadata(folder.join("socket")).unwrap();
    assert_eq!((socket.uid(), socket.gid()), (user.uid.as_raw(), user.gid.as_raw()));
    assert_eq!(socket.mode() & 0o777, 0o770);
    let said = end(process);
    assert!(!said.contains("stays behind"), "{said}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
