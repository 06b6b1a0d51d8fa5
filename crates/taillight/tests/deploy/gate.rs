//! `deploy/ci/gate.sh`, which a job of CI runs: two servers are started, compared and stopped.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Two ports that were free just now.
fn ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/ci/gate.sh")
}

/// The command of a server that takes this long for each request.
fn server(service: &str) -> String {
    let program = env!("CARGO_BIN_EXE_taillight");
    format!(
        "exec '{program}' serve null --dialect memcached --listen 127.0.0.1:$PORT --service constant:{service}"
    )
}

/// Runs the script in `folder`, and checks that it leaves no server.
fn gate(folder: &Path, servers: [&str; 2], env: &[(&str, &str)], options: &[&str]) -> Output {
    let ports = ports();
    let mut command = Command::new(script());
    command.args(servers).args(options).current_dir(folder).env("TAILLIGHT", env!("CARGO_BIN_EXE_taillight"));
    command.env("BASE_PORT", ports[0].to_string()).env("HEAD_PORT", ports[1].to_string());
    let output = command.envs(env.iter().copied()).output().unwrap();
    for port in ports {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "a server is left on port {port}");
    }
    output
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_job_ends_as_the_comparison_does() {
    let folder = TempDir::new().unwrap();
    // A stand-in for the comparison, which takes minutes: it prints its arguments and ends with a chosen code.
    let program = folder.path().join("compares");
    fs::write(&program, "#!/bin/sh\necho \"asked for: $*\"\nexit \"$ENDS\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.display().to_string();
    let server = server("1us");
    let check = |ends: &str, open: &str, expect: i32| {
        let env = [("TAILLIGHT", &*program), ("ENDS", ends), ("OPEN", open), ("GATE", "3")];
        let output = gate(folder.path(), [&server, &server], &env, &["--loads", "50"]);
        assert_eq!(output.status.code(), Some(expect), "{}", said(&output));
        let options = "--gate 3 --markdown taillight-gate.md --out taillight-gate --no-live --loads 50";
        assert!(said(&output).contains("asked for: compare --live 127.0.0.1:"), "{}", said(&output));
        assert!(said(&output).contains(options), "{}", said(&output));
    };
    check("0", "pass", 0);
    check("99", "pass", 99);
    check("75", "pass", 0);
    check("75", "fail", 75);
    check("1", "pass", 1);
}

#[test]
fn a_server_that_does_not_start_is_named_with_what_it_said() {
    let folder = TempDir::new().unwrap();
    let output = gate(folder.path(), [&server("1us"), "echo no such option; exit 2"], &[], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the head server does not answer on port"), "{}", said(&output));
    assert!(said(&output).contains("no such option"), "{}", said(&output));
    assert_eq!(Command::new(script()).output().unwrap().status.code(), Some(2));
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_build_that_takes_half_as_long_again_is_found_and_a_like_one_is_not() {
    let options = ["--keys", "1000", "--connections", "4", "--budget", "90s"];
    for (service, expect) in [("400us", Some("**127.0.0.1:")), ("250us", None)] {
        let folder = TempDir::new().unwrap();
        let output = gate(folder.path(), [&server("250us"), &server(service)], &[("GATE", "20")], &options);
        let comment = fs::read_to_string(folder.path().join("taillight-gate.md")).unwrap();
        println!("{}{comment}", said(&output));
        // A machine that is too restless says nothing, and the job passes.
        assert!(matches!(output.status.code(), Some(0 | 99)), "{}", said(&output));
        match expect {
            Some(words) if output.status.code() == Some(99) => {
                assert!(
                    comment.starts_with(words) && comment.contains("is more than 20 % worse than"),
                    "{comment}"
                );
            }
            Some(_) => assert!(comment.starts_with("**It is open whether"), "{comment}"),
            None => assert_eq!(output.status.code(), Some(0), "{comment}"),
        }
    }
}
