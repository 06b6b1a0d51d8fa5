//! The generator's ceiling: what a request costs it, beside other generators, in one interleaved run.
//!
//! A canned-answer server on one core, the generator on the other, 64 connections, depth 1, `get` of 30 B
//! keys and 200 B values. CPU per request is the whole process's user and system time over the requests
//! that it completed, for every generator alike. mutilate and memtier_benchmark take part where they are
//! on the PATH; each is run as hard as it goes. Then the generator's lag is measured at a quarter of its
//! ceiling, against the same server spinning.
//!
//! Run it on a quiet machine of two cores or more: `cargo bench -p taillight --bench ceiling`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use reactor::{allowed_cpus, pin_to};
use results::Trial;

const ROUNDS: usize = 5;
const SECONDS: u32 = 3;
const CONNECTIONS: u32 = 64;
/// Source: `getconf CLK_TCK`, 100 on every Linux platform that this project supports.
const TICKS_PER_SECOND: f64 = 100.0;
/// At most this share of the better peer's CPU per request.
const BAR_CPU: f64 = 0.8;
/// The p99 of the generator's lag at a quarter of the ceiling, on a quiet machine.
const BAR_LAG_US: f64 = 15.0;

/// What one run of a generator showed.
struct Run {
    krps: f64,
    cpu_us: f64,
}

/// Runs a generator against an address as hard as it goes; `None` where it cannot.
type Generator = fn(&str) -> Option<Run>;

fn main() {
    let cpus = allowed_cpus().expect("the processors of this process are known");
    let (Some(&server_cpu), Some(&generator_cpu)) = (cpus.first(), cpus.last()) else { return };
    if server_cpu == generator_cpu {
        println!("skipped: the ceiling needs two processors, and this process may use one");
        return;
    }
    let mut server = Server::start(server_cpu, &[]);
    // Children inherit the processor.
    pin_to(generator_cpu).expect("the generator's processor can be used");
    let mut generators: Vec<(&str, Generator, Vec<Run>)> = vec![
        ("taillight", taillight, Vec::new()),
        ("mutilate", mutilate, Vec::new()),
        ("memtier", memtier, Vec::new()),
    ];
    for round in 1..=ROUNDS {
        for (name, run, runs) in &mut generators {
            if let Some(result) = run(&server.address) {
                println!(
                    "round {round}  {name:9}  {:6.1} krps  {:5.2} µs of CPU per request",
                    result.krps, result.cpu_us
                );
                runs.push(result);
            }
        }
    }
    println!();
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let medians: Vec<(&str, Option<f64>, Option<f64>)> = generators
        .iter()
        .map(|(name, _, runs)| {
            (
                *name,
                median(runs.iter().map(|r| r.krps).collect()),
                median(runs.iter().map(|r| r.cpu_us).collect()),
            )
        })
        .collect();
    let (_, ours_krps, ours_cpu) = medians[0];
    let (ours_krps, ours_cpu) = (ours_krps.expect("ours ran"), ours_cpu.expect("ours ran"));
    for (name, krps, cpu) in &medians {
        match (krps, cpu) {
            (Some(krps), Some(cpu)) => println!(
                "median   {name:9}  {krps:6.1} krps  {cpu:5.2} µs   ours / {name}: {:.2}",
                ours_cpu / cpu
            ),
            _ => println!("skipped: {name} is not on the PATH"),
        }
    }
    let best = medians[1..].iter().filter_map(|(_, _, cpu)| *cpu).fold(f64::INFINITY, f64::min);
    if best.is_finite() {
        let ratio = ours_cpu / best;
        println!(
            "CPU per request against the better peer: {ratio:.2} (bar {BAR_CPU}): {}",
            verdict(ratio <= BAR_CPU)
        );
    }
    server.stop();
    lag(server_cpu, generator_cpu, 0.25 * ours_krps * 1e3);
}

/// The generator's lag at this rate, against a canned-answer server that spins: waking a sleeping one makes each
/// send 3 µs longer on a virtual machine, and is not the generator's.
fn lag(server_cpu: usize, generator_cpu: usize, rps: f64) {
    pin_to(server_cpu).expect("the server's processor can be used");
    let server = Server::start(server_cpu, &["--spin"]);
    pin_to(generator_cpu).expect("the generator's processor can be used");
    let mut p99s = Vec::new();
    for round in 1..=ROUNDS {
        let trial = load(&server.address, rps, SECONDS);
        let lag = &trial.all.generator_lag;
        println!(
            "round {round}  lag at {:.0} krps: p50 {:.1} µs, p99 {:.1} µs; {} stalls of the host, longest {:.0} µs",
            rps / 1e3,
            lag.p50_us.unwrap_or(f64::NAN),
            lag.p99_us.unwrap_or(f64::NAN),
            trial.noise.stalls,
            trial.noise.longest_stall_us
        );
        p99s.extend(lag.p99_us);
    }
    p99s.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (p99s.first(), p99s.last()) else { return };
    let median = p99s[p99s.len() / 2];
    println!(
        "p99 lag at 25 % of the ceiling: median {median:.1} µs, {least:.1} to {most:.1} (bar {BAR_LAG_US}): {}",
        verdict(median <= BAR_LAG_US)
    );
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "NOT met" }
}

/// The canned-answer server.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(cpu: usize, options: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taillight"))
            .args(["serve", "null", "--dialect", "memcached", "--cpus", &cpu.to_string()])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the null server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit(' ').next().expect("the address is the last word").to_owned();
        Server { child, address }
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// User and system time of the children that were waited for. Units: seconds.
fn children_cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    // Fields 16 and 17, counted behind the command's name in parentheses.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("it is a number");
    (ticks(13) + ticks(14)) / TICKS_PER_SECOND
}

/// Runs a command to its end. Returns its output and the processor time that it took.
fn timed(command: &mut Command) -> Option<(String, f64)> {
    let before = children_cpu();
    let output = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| (String::from_utf8_lossy(&output.stdout).into_owned(), children_cpu() - before))
}

fn trial(address: &str, rps: f64, seconds: u32) -> Option<(Trial, f64)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taillight"));
    command
        .args(["load", "cache", "--target", address, "--fill", "never", "--warmup", "0s", "--drain", "20ms"]);
    command.args(["--connections", &CONNECTIONS.to_string(), "--window", &format!("{seconds}s"), "--json"]);
    let (text, cpu) = timed(command.args(["--rate", &rps.to_string()]))?;
    Some((serde_json::from_str(&text).expect("it prints a trial"), cpu))
}

fn load(address: &str, rps: f64, seconds: u32) -> Trial {
    trial(address, rps, seconds).expect("the load runs").0
}

fn taillight(address: &str) -> Option<Run> {
    // Three times what any generator here has reached.
    let (trial, cpu) = trial(address, 600_000.0, SECONDS)?;
    let requests = trial.achieved_rps * trial.window_s;
    Some(Run { krps: trial.achieved_rps / 1e3, cpu_us: 1e6 * cpu / requests })
}

fn mutilate(address: &str) -> Option<Run> {
    let mut command = Command::new("mutilate");
    command.args(["-s", address, "--noload", "-K", "30", "-V", "200", "-r", "100000", "-T", "1", "-d", "1"]);
    command.args(["-c", &CONNECTIONS.to_string(), "-t", &SECONDS.to_string()]);
    let (text, cpu) = timed(&mut command)?;
    // `Total QPS = 126000.0 (378000 / 3.0s)`
    let line = text.lines().find(|line| line.starts_with("Total QPS"))?;
    let krps = line.split_whitespace().nth(3)?.parse::<f64>().ok()? / 1e3;
    let requests: f64 = line.split('(').nth(1)?.split_whitespace().next()?.parse().ok()?;
    Some(Run { krps, cpu_us: 1e6 * cpu / requests })
}

fn memtier(address: &str) -> Option<Run> {
    let (host, port) = address.rsplit_once(':')?;
    let mut command = Command::new("memtier_benchmark");
    command.args(["-s", host, "-p", port, "-P", "memcache_text", "--ratio", "0:1", "-t", "1", "-d", "200"]);
    command.args(["-c", &CONNECTIONS.to_string(), "--test-time", &SECONDS.to_string(), "--hide-histogram"]);
    let (text, cpu) = timed(&mut command)?;
    let line = text.lines().find(|line| line.starts_with("Totals"))?;
    let rps: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(Run { krps: rps / 1e3, cpu_us: 1e6 * cpu / (rps * f64::from(SECONDS)) })
}
