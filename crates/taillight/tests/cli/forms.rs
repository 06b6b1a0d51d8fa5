//! Servers in every form, as the command line starts, measures and stops them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use launch::testing::comes_true;
use launch::{User, find_program};
use results::ResultFolder;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::docker::Docker;
use crate::run::{finish, has_ended, refuses, taillight, text};

/// Nothing in these tests takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// What says that a form is unavailable here, so that its test is left out.
fn lacks(text: &str) -> Option<String> {
    let says = ["there is no program", "is unavailable here", "its daemon does not answer"];
    let line = text.lines().find(|line| says.iter().any(|words| line.contains(words)))?;
    Some(line.trim_start_matches("taillight: ").to_owned())
}

/// One short load on `target` in this form; the target as the result has it.
fn measured(target: &str, options: &[&str], docker: Option<&Docker>) -> Option<results::Target> {
    let out = TempDir::new().unwrap();
    let (workload, asked) = if target.ends_with("nginx") {
        ("web", ["--files", "50x1KiB"])
    } else {
        ("cache", ["--keys", "500"])
    };
    let mut program = taillight(&["load", workload, "--target", target, "--rate", "1k"]);
    program.envs(docker.map(|docker| ("DOCKER_HOST", docker.host())));
    program.args(["--warmup", "50ms", "--window", "300ms", "--pace", "sleep", "--connections", "8"]);
    program.args(asked).args(["--name", "x"]);
    program.args(["--server-memory", "64MiB"]).args(options).arg("--out").arg(out.path());
    let output = finish(&mut program);
    let text = text(&output);
    if !has_ended(&output)
        && let Some(why) = lacks(&text)
    {
        println!("skipped: {why}");
        return None;
    }
    assert!(has_ended(&output), "{text}");
    let experiment = ResultFolder::open(&out.path().join("x")).unwrap().load().unwrap();
    assert!(experiment.trials[0].arrivals.intended > 0);
    Some(experiment.targets[0].clone())
}

#[test]
fn instances_of_the_bare_form_share_the_load() {
    let target = measured("sphinx", &["--server-instances", "2", "--server-threads", "2"], None).unwrap();
    assert_eq!((target.form.as_str(), target.instances), ("bare", 2));
    assert_eq!(target.address.split(',').count(), 2);
    assert!(target.containers.is_empty() && target.image.is_none() && target.engine.is_none());
    // Half of the memory and one of the two threads.
    let line = target.command.join(" ");
    assert!(line.contains("-m 32") && line.contains("-t 1"), "{line}");
}

fn in_form(form: &str, docker: Option<&Docker>) {
    for name in ["sphinx", "memcached", "nginx"] {
        let options = ["--form", form, "--server-instances", "2", "--server-threads", "2"];
        let Some(target) = measured(name, &options, docker) else {
            return;
        };
        assert_eq!((target.form.as_str(), target.instances, target.name.as_str()), (form, 2, name));
        assert!(target.address.split(',').all(|one| one.starts_with("198.19.")), "{}", target.address);
        let container = form != "bridged";
        assert_eq!(
            (target.containers.len(), target.engine.is_some()),
            (if container { 2 } else { 0 }, container)
        );
        // podman runs a folder as it is; docker takes only images.
        assert_eq!(target.image.is_some(), form == "docker");
        let control = target.congestion_control.as_deref().unwrap_or_default();
        assert!(!control.is_empty(), "{target:?}");
        assert!(Path::new(&target.binary).exists() && !target.version.is_empty(), "{target:?}");
    }
}

#[test]
fn behind_a_bridge() {
    in_form("bridged", None);
}

#[test]
fn in_lxc() {
    in_form("lxc", None);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn in_podman() {
    in_form("podman", None);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn in_docker() {
    let Some(docker) = Docker::start() else { return };
    in_form("docker", Some(&docker));
}

#[test]
fn each_service_in_a_form_of_its_own() {
    if let Some(missing) = ["varnishd", "nginx"].into_iter().find(|program| find_program(program).is_none()) {
        return println!("skipped: there is no {missing} here");
    }
    let check = |set: &str, forms: [&str; 2]| {
        let Some(target) = measured("varnish-nginx", &["--server-set", set], None) else { return };
        let [nginx, varnish] = &target.services[..] else { panic!("{target:?}") };
        assert_eq!(([&*nginx.form, &*varnish.form], &*target.form), (forms, forms[1]), "{set}");
        let container = nginx.form == "lxc";
        assert_eq!((target.containers.len(), target.engine.is_some()), (usize::from(container), container));
        // The bare one is at the bridge's address, which went with the bridge.
        let bare = if varnish.form == "bare" { varnish } else { nginx };
        let (ip, _) = bare.addresses[0].rsplit_once(':').unwrap();
        assert!(ip.starts_with("198.19."), "{target:?}");
        let left = std::process::Command::new("ip").args(["-o", "-4", "addr", "show"]).output().unwrap();
        let left = String::from_utf8_lossy(&left.stdout).into_owned();
        assert!(!left.contains(&format!(" {ip}/")), "{left}");
    };
    check("nginx.form=lxc", ["lxc", "bare"]);
    check("nginx.form=bridged", ["bridged", "bare"]);
    check("varnish.form=bridged", ["bare", "bridged"]);
}

/// `taillight serve …`, and the address that it says.
fn serve(words: &[&str]) -> Option<(Child, String)> {
    let mut child = taillight(&["serve"])
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Some((_, rest)) = line.split_once(" ready on ") else {
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        println!("skipped: {}", lacks(&said).expect(&said));
        return None;
    };
    let address = rest.split(' ').next().unwrap().to_owned();
    Some((child, address))
}

fn answers(address: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(b"mn\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.starts_with("MN")
}

/// The bridge that leads to the server at `address`: the device of the route there.
fn bridge_of(address: &str) -> String {
    let (ip, _) = address.rsplit_once(':').unwrap();
    let output = std::process::Command::new("ip").args(["-o", "route", "get", ip]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let device = said.split_whitespace().skip_while(|word| *word != "dev").nth(1);
    let device = device.filter(|name| name.starts_with("tl"));
    device.unwrap_or_else(|| panic!("no bridge leads to {ip}: {said}")).to_owned()
}

#[test]
fn serves_until_it_is_told_to_stop() {
    for words in [
        &["memcached", "--form", "bridged", "--memory", "16MiB"][..],
        &["sphinx", "--form", "lxc", "-m", "16", "-t", "1", "--sharing", "read"],
        &["memcached", "--instances", "2", "--threads", "2"],
    ] {
        let Some((mut child, addresses)) = serve(words) else { continue };
        for address in addresses.split(',') {
            assert!(answers(address), "{words:?}: {address}");
        }
        let bridged = addresses.starts_with("198.19.");
        assert_eq!(bridged, words.contains(&"--form"));
        let bridge = if bridged { Some(bridge_of(&addresses)) } else { None };
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert!(child.wait().unwrap().success());
        for address in addresses.split(',') {
            // Behind a removed bridge a connection may stay unanswered for long; loopback refuses at once.
            assert!(bridged || !answers(address), "{words:?}: {address}");
        }
        // Its name is its own, while the next test may get the same address at once.
        let left = bridge.filter(|name| Path::new("/sys/class/net").join(name).exists());
        assert_eq!(left, None, "{words:?}: the bridge is left");
    }
}

#[test]
fn a_server_that_dies_ends_the_program() {
    let Some((mut child, _)) = serve(&["memcached"]) else { return };
    let children = format!("/proc/{0}/task", child.id());
    let server = fs::read_dir(children).unwrap().find_map(|task| {
        let text = fs::read_to_string(task.ok()?.path().join("children")).ok()?;
        text.split_whitespace().next()?.parse::<i32>().ok()
    });
    kill_process(Pid::from_raw(server.unwrap()).unwrap(), Signal::KILL).unwrap();
    let ended = comes_true(|| child.try_wait().unwrap().is_some());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(ended && said.contains("memcached ended while it was measured"), "{said}");
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn restarts_are_timed() {
    for form in ["bare", "bridged", "lxc", "podman"] {
        let mut program = taillight(&["serve", "memcached", "--form", form, "--restarts", "3", "--json"]);
        let output = finish(&mut program);
        let text = text(&output);
        if !has_ended(&output) {
            println!("skipped: {}", lacks(&text).expect(&text));
            continue;
        }
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let halves = told["restarts"].as_array().unwrap();
        assert_eq!((halves.len(), told["form"].as_str()), (3, Some(form)));
        let mut whole: Vec<f64> = halves
            .iter()
            .map(|one| one["stop_s"].as_f64().unwrap() + one["start_s"].as_f64().unwrap())
            .collect();
        whole.sort_by(f64::total_cmp);
        assert!(
            whole[0] > 0.0 && (told["median_restart_s"].as_f64().unwrap() - whole[1]).abs() < 1e-9,
            "{told}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let load = |options: &[&str]| {
        let mut program = taillight(&["load", "cache", "--rate", "1k", "--window", "100ms"]);
        program.args(options).current_dir(std::env::temp_dir()).args(["--out", "/nonexistent/never"]);
        program
    };
    refuses(&mut load(&["--form", "kvm"]), 2, &["kvm", "bare, bridged"]);
    refuses(&mut load(&["--server-image", "x", "--server-binary", "y"]), 2, &["cannot be used with"]);
    refuses(
        &mut taillight(&["serve", "sphinx", "--form", "bridged", "-p", "11299"]),
        1,
        &["--port", "leave it out"],
    );
    refuses(&mut taillight(&["serve", "memcached", "--instances", "3"]), 1, &["--threads 3"]);
    refuses(
        &mut taillight(&["serve", "memcached", "--binary", "/bin/echo"]),
        1,
        &["'-V'", "does not match '^memcached", "--server-binary"],
    );
    refuses(&mut taillight(&["serve", "memcached", "--json"]), 2, &["--restarts"]);
    refuses(&mut taillight(&["agent", "--allow", "/bin/x"]), 1, &["--role server"]);
    let listen = ["agent", "--role", "server", "--listen", "0.0.0.0:0"];
    refuses(&mut taillight(&listen), 1, &["--serve-on"]);
    refuses(
        &mut taillight(&["serve", "memcached", "--form", "bridged", "--image", "x"]),
        1,
        &["podman or docker"],
    );
    if !User::is_root() {
        refuses(&mut taillight(&["serve", "memcached", "--form", "lxc"]), 1, &["root", "--form bare"]);
    }
}

#[test]
fn what_a_foreign_server_is_not_asked_for() {
    let server = crate::run::Served::canned();
    let out = TempDir::new().unwrap();
    let mut program = taillight(&["load", "cache", "--rate", "100", "--window", "100ms", "--fill", "never"]);
    program.args(["--target", &server.address, "--form", "lxc"]).arg("--out").arg(out.path());
    refuses(&mut program, 1, &["already runs", "--form"]);
}
