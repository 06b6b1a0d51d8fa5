//! How the server starts, refuses to start, and stops.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::time::Duration;

use crate::support::client::Client;
use crate::support::{PATIENCE, spawn, sphinxd};
use launch::Error;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Starts the server with arguments that it must refuse; checks exit code and message.
fn check_refused(args: &str, code: i32, expect: &str) {
    match spawn(args).wait_success(PATIENCE) {
        Err(Error::Died { status, stderr, .. }) => {
            let said = stderr.join("\n");
            assert_eq!(status.code(), Some(code), "{args}: {said}");
            assert!(said.contains(expect), "{args}: {said}");
        }
        other => panic!("{args}: {other:?}"),
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    check_refused("-p 70000", 2, "70000 is not in 0..=65535");
    check_refused("-l somewhere!", 2, "invalid value 'somewhere!'");
    check_refused("-t none", 2, "invalid digit");
    check_refused("--cpus 1,x", 2, "'x' is not a number");
    check_refused("-m some", 2, "invalid value 'some'");
    check_refused("--no-such-option", 2, "unexpected argument");
}

#[test]
fn what_the_machine_cannot_do_ends_with_1() {
    check_refused("-p 0 -l 192.0.2.1", 1, "this machine has no such address; choose one of its own with -l");
    check_refused("-p 0 --cpus 8000", 1, "there is no cpu 8000 to use; choose from");
    check_refused(
        "-p 0 -t 4 -m 1",
        1,
        "1 thread needs at least 2 MiB, twice the largest item each; give more with -m, or a smaller -I",
    );
    check_refused("-p 0 -c 2000000000", 1, "ask for fewer with -c");
    check_refused("-p 0 -t 1 -m 4000000GiB", 1, "does not fit: the machine allows");
    check_refused("-p 0 -t 1 -m 4000000GiB --lazy-memory", 1, "give less memory with -m");
}

#[test]
fn a_port_that_is_taken_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    check_refused(&format!("-p {port}"), 1, "the port is taken; choose another with -p");
    // The threads of one server share a port, but two servers must not.
    let first = sphinxd("-t 1");
    check_refused(&format!("-p {}", first.address.port()), 1, "the port is taken");
    assert!(Client::connect(first.address).ask("version").starts_with("VERSION "));
}

#[test]
fn a_server_that_cannot_start_takes_no_other_pidfile_and_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let pidfile = file("pid");
    let first = sphinxd(&format!("-t 1 -P {}", pidfile.display()));
    let number = format!("{}\n", first.process.pid());
    check_refused(&format!("-p {} -P {}", first.address.port(), pidfile.display()), 1, "the port is taken");
    assert_eq!(fs::read_to_string(&pidfile).unwrap(), number);
    first.process.stop(PATIENCE).unwrap();
    assert!(!pidfile.exists());
    // Here some threads have started already, or could have.
    for io in ["epoll", "auto"] {
        let args = format!(
            "-s {} -P {} -t 3 --io {io} -u missing-user",
            file("socket").display(),
            file("other").display()
        );
        check_refused(&args, 1, "there is no user 'missing-user'");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn the_port_is_free_again_at_once() {
    let first = sphinxd("-t 2");
    let port = first.address.port();
    let mut client = Client::connect(first.address);
    client.set("k", "v");
    first.process.stop(PATIENCE).unwrap();
    let mut process = spawn(&format!("-p {port} -t 2"));
    let address = launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
    assert_eq!(address.port(), port);
    assert_eq!(Client::connect(address).get("k"), None, "memory is empty after a start");
}

#[test]
fn it_listens_where_it_is_told() {
    let mut process = spawn("-p 0 -l ::1 -t 1");
    match launch::sphinx::await_ready(&mut process, PATIENCE) {
        Ok(address) => {
            assert!(address.is_ipv6());
            assert!(Client::connect(address).ask("version").starts_with("VERSION "));
        }
        // A machine without IPv6 reports that.
        Err(error) => assert!(error.to_string().contains("this machine has no such address"), "{error}"),
    }
}

#[test]
fn signals_stop_it_cleanly_with_clients_connected() {
    for signal in ["TERM", "INT"] {
        let mut server = sphinxd("-t 2");
        let mut client = Client::connect(server.address);
        client.set("k", "v");
        let pid = server.process.pid().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
        let status = server.process.wait(PATIENCE).unwrap();
        assert_eq!(status.code(), Some(0), "{signal}: {:?}", server.process.stderr_tail());
        assert_eq!(client.line(), None);
    }
}

#[test]
fn help_explains_each_flag() {
    let mut process = spawn("--help");
    assert!(process.wait(PATIENCE).unwrap().success());
    let lines: Vec<String> = std::iter::from_fn(|| process.next_line(Duration::from_secs(5))).collect();
    let help = lines.join("\n");
    for flag in [
        "-p, --port",
        "-U, --udp-port",
        "-s, --unix-socket",
        "-a, --unix-mask",
        "-l, --listen",
        "-t, --threads",
        "--cpus",
        "-m, --memory-limit",
        "-c, --conn-limit",
        "-I, --max-item-size",
        "-b, --listen-backlog",
        "-R, --max-reqs-per-event",
        "-Y, --auth-file",
        "-u, --user",
        "-v, --verbose",
        "-A, --enable-shutdown",
        "-d, --daemon",
        "-Z, --enable-ssl",
        "-o, --extended",
        "--tls-port",
        "--metrics",
        "--drain",
        "--config",
        "-h, --help",
        "-V, --version",
    ] {
        assert!(help.contains(flag), "{flag} in {help}");
    }
    for hidden in ["--queue", "--slab-growth-factor"] {
        assert!(!help.contains(hidden), "{hidden} is of no use to a reader");
    }
}

/// A link in `/tmp` must not have root overwrite a file.
#[test]
fn no_file_is_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("own"), "precious").unwrap();
    let check = |expect: &str| {
        let mut server = sphinxd(&format!("-t 1 --lazy-memory -P {}", file("pid").display()));
        server.process.terminate();
        server.process.wait(PATIENCE).unwrap();
        let said = server.process.stderr_tail().join("\n");
        assert!(said.contains("the pidfile cannot be written") && said.contains(expect), "{said}");
    };
    symlink(file("own"), file("pid")).unwrap();
    check("it is a symbolic link, which is not followed");
    assert!(fs::symlink_metadata(file("pid")).unwrap().is_symlink(), "it is left alone");
    fs::remove_file(file("pid")).unwrap();
    fs::hard_link(file("own"), file("pid")).unwrap();
    check("it has a second name");
    fs::remove_file(file("pid")).unwrap();
    mknodat(CWD, file("pid"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    check("it is not a regular file");
    assert_eq!(fs::read_to_string(file("own")).unwrap(), "precious");
    // The state file of a killed server.
    fs::remove_file(file("pid")).unwrap();
    fs::write(file("pid"), "1234567890\n").unwrap();
    let server = sphinxd(&format!("-t 1 --lazy-memory -P {}", file("pid").display()));
    assert_eq!(fs::read_to_string(file("pid")).unwrap(), format!("{}\n", server.process.pid()));
}
