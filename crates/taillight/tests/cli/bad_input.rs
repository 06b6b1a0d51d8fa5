use std::fs;
use std::net::TcpListener;

use crate::run::{Served, finish, refuses, taillight, text};

/// `load cache` with these options on a target that does not matter.
fn load(options: &[&str]) -> std::process::Command {
    let mut command = taillight(&["load", "cache", "--json", "--target", "127.0.0.1:9"]);
    command.args(options);
    command
}

#[test]
fn rates_that_are_none() {
    let check = |rate: &str, says: &str| refuses(&mut load(&["--rate", rate]), 2, &[rate, says, "150k"]);
    check("0", "over 0");
    check("NaN", "number");
    check("inf", "number");
    check("1e12", "over the limit of 1e8 rps");
    check("10ms", "not a unit of rate");
    refuses(&mut taillight(&["load", "cache", "--target", "127.0.0.1:9", "--rate=-5"]), 2, &["over 0"]);
    refuses(&mut load(&[]), 2, &["--rate"]);
}

#[test]
fn units_that_are_wrong_or_missing() {
    let check = |options: &[&str], says: &[&str]| {
        let mut command = load(&["--rate", "1k"]);
        refuses(command.args(options), 2, says);
    };
    check(&["--window", "5"], &["no unit", "500us or 2s"]);
    check(&["--window", "5rps"], &["not a unit of time"]);
    check(&["--value-size", "5 seconds"], &["not a unit of size", "4KiB"]);
    check(&["--mix", "get:50"], &["add up to 50"]);
    check(&["--popularity", "zipf:NaN"], &["zipf:0.99"]);
    check(&["--connections", "0"], &["between 1 and 1000000"]);
    check(&["--arrivals", "regular"], &["poisson"]);
    check(&["--cpus", "3-1"], &["0,2-3"]);
}

#[test]
fn options_that_do_not_go_together() {
    let check = |options: &[&str], says: &[&str]| {
        let mut command = load(&["--rate", "1k"]);
        refuses(command.args(options), 1, says);
    };
    check(&["--connections", "2", "--threads", "4"], &["each thread needs at least one", "--connections 4"]);
    check(&["--window", "1ms"], &["window 1 ms", "--window 5s"]);
    check(&["--timeout", "0s"], &["every request would fail"]);
    check(&["--key-size", "5", "--resolve"], &["--key-size 15 or more"]);
    check(&["--keys", "0", "--resolve"], &["number of keys '0'"]);
}

#[test]
fn targets_that_are_not_there() {
    // No other test is given this port.
    let port_without_listener = "127.0.0.1:1";
    let check = |target: &str, code: i32, says: &[&str]| {
        refuses(&mut taillight(&["load", "cache", "--json", "--rate", "1k", "--target", target]), code, says);
    };
    check(port_without_listener, 1, &["cannot connect to", "refused", "start the server"]);
    check("127.0.0.1:http", 2, &["not a port", "HOST:PORT"]);
    check("dragonfly", 2, &["sphinx (embedded), memcached"]);
    check("no-such-host.invalid:11211", 1, &["no-such-host.invalid", "not known"]);
}

/// Options that one trial as JSON cannot report are refused before the start, on the command line and from a file.
#[test]
fn one_trial_as_json_leaves_nothing_out_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.json");
    let plain = ["load", "cache", "--rate", "1k", "--target", "127.0.0.1:9"];
    for (option, value, says) in [
        ("--server-knob", "aslr=off", "--server-knob: one trial as JSON changes nothing on this machine"),
        ("--client-knob", "aslr=off", "--client-knob: one trial as JSON changes nothing on this machine"),
        ("--probe", "sockets", "--probe: one trial as JSON is not observed"),
    ] {
        refuses(taillight(&plain).args([option, value, "--json"]), 2, &[says, "leave out --json"]);
        let resolved = finish(taillight(&plain).args([option, value, "--resolve"]));
        assert!(resolved.status.success(), "{}", text(&resolved));
        fs::write(&file, resolved.stdout).unwrap();
        refuses(taillight(&["load", "--json", "--spec"]).arg(&file), 2, &[says]);
    }
}

#[test]
fn more_connections_than_descriptors() {
    let server = Served::canned();
    let mut command = taillight(&[
        "load",
        "cache",
        "--json",
        "--rate",
        "1k",
        "--fill",
        "never",
        "--target",
        &server.address,
    ]);
    refuses(command.args(["--connections", "900000"]), 1, &["900000 connections need", "ulimit"]);
}

#[test]
fn a_processor_that_is_not_there() {
    let server = Served::canned();
    let mut command = taillight(&[
        "load",
        "cache",
        "--json",
        "--rate",
        "1k",
        "--fill",
        "never",
        "--target",
        &server.address,
    ]);
    refuses(command.args(["--cpus", "999"]), 1, &["cannot pin", "999"]);
}

#[test]
fn a_comparison_of_results_takes_no_load() {
    let mut command = taillight(&["compare", "one", "other", "--connections", "8"]);
    refuses(&mut command, 1, &["--connections", "--live"]);
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refuses(&mut taillight(&["serve", "null", "--listen", &address]), 1, &["cannot listen on", "in use"]);
}
