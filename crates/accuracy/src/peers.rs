//! Figures that other load generators report for the same servers at the same load.
//!
//! Each is searched on the PATH and run with its own pacing, if it has one. The figures are parsed from its output;
//! figures that it does not report stay empty.

mod formats;
mod known_peers;
mod truth;
mod watch;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use launch::{Spec, find_program};
use results::{Noise, Trial};
use serde::Serialize;

use crate::known::Server;
use crate::table::Table;
use crate::{Setting, noise_words, us};
use known_peers::{CACHE_PEERS, Peer, WEB_PEERS, own_verdict};
use truth::Truth;
use watch::Watch;

/// Offered load: a fifth of the server's capacity, so that the server is idle most of the time under every pacing.
const RPS: u64 = 2_000;
/// Connections of each generator.
const CONNECTIONS: u64 = 16;
/// Mean service time; exponentially distributed.
const SERVICE: &str = "exponential:100us";
const STALL: &str = "1s:100ms";
/// Time limit of a generator, in addition to its measurement.
const PATIENCE: Duration = Duration::from_secs(60);
/// A generator that sends less than this share of the load measures the server under another load.
const ACHIEVED: f64 = 0.99;

/// Generators of one protocol, and their server.
pub(crate) struct Field {
    peers: &'static [Peer],
    /// Taillight's name of the load, with its options.
    workload: &'static str,
    /// The null server's arguments.
    server: &'static [&'static str],
    protocol: &'static str,
    /// The requests, in words.
    asked: &'static str,
    /// Title of the tables,
    title: &'static str,
    /// and title of the table of generators.
    generators: &'static str,
}

/// Generators for memcached.
pub(crate) const CACHES: Field = Field {
    peers: &CACHE_PEERS,
    workload: "cache --fill never",
    server: &["--dialect", "memcached"],
    protocol: "memcached's protocol",
    asked: "gets of 200 B",
    title: "Generators side by side",
    generators: "The generators",
};

/// Generators for HTTP.
pub(crate) const WEB: Field = Field {
    peers: &WEB_PEERS,
    workload: "web",
    server: &["--dialect", "http", "--value-size", "4096"],
    protocol: "HTTP",
    asked: "pages of 4 KiB",
    title: "Generators of HTTP side by side",
    generators: "The generators of HTTP",
};

/// Figures that a generator reports. Units: µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Reported {
    rps: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    p99_9_us: Option<f64>,
    max_us: Option<f64>,
}

/// The load for each generator.
pub(crate) struct Load {
    server: SocketAddr,
    rps: u64,
    connections: u64,
    seconds: u64,
    seed: u64,
    /// The server's process.
    pid: u32,
    /// Folder for its configuration files.
    folder: PathBuf,
}

impl Load {
    /// The words of a template, with this load's figures in place of their names.
    fn filled(&self, template: &str) -> Vec<String> {
        let each = self.rps / self.connections;
        let figures = [
            ("{server}", self.server.to_string()),
            ("{host}", self.server.ip().to_string()),
            ("{port}", self.server.port().to_string()),
            ("{rps}", self.rps.to_string()),
            ("{thousands}", (self.rps / 1_000).max(1).to_string()),
            ("{connections}", self.connections.to_string()),
            // The rate and the requests of each connection.
            ("{each}", each.to_string()),
            ("{calls}", (each * self.seconds).to_string()),
            ("{seconds}", self.seconds.to_string()),
            ("{seed}", self.seed.to_string()),
            // The first ten seconds of wrk2 are its own calibration, and do not count.
            ("{calibrated}", (self.seconds + 10).to_string()),
            ("{folder}", self.folder.display().to_string()),
        ];
        let fill = |word: &str| {
            figures.iter().fold(word.to_owned(), |word, (name, figure)| word.replace(name, figure))
        };
        template.split_whitespace().map(fill).collect()
    }
}

/// One generator on one server.
#[derive(Serialize)]
struct PeerRow {
    generator: &'static str,
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reported: Option<Reported>,
    verdict: String,
    noise: Noise,
}

/// One server and all reports about it.
#[derive(Serialize)]
struct Subject {
    server: String,
    stalls: bool,
    truth: Truth,
    rows: Vec<PeerRow>,
}

/// A known generator, installed or not.
#[derive(Serialize)]
struct Candidate {
    name: &'static str,
    program: Option<PathBuf>,
    version: Option<String>,
    pacing: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Comparison {
    #[serde(skip)]
    field: &'static Field,
    offered_rps: u64,
    connections: u64,
    generators: Vec<Candidate>,
    subjects: Vec<Subject>,
}

pub(crate) fn run(setting: &Setting, field: &'static Field) -> Result<Comparison> {
    let known = |peer: &Peer| {
        let program = find_program(peer.program);
        let version = program.as_ref().and_then(|program| version(program, peer));
        Candidate { name: peer.name, program, version, pacing: peer.pacing, source: peer.source }
    };
    let generators: Vec<Candidate> = field.peers.iter().map(known).collect();
    let mut subjects = Vec::new();
    for stalls in [false, true] {
        subjects.push(subject(stalls, setting, field, &generators)?);
    }
    Ok(Comparison { field, offered_rps: RPS, connections: CONNECTIONS, generators, subjects })
}

/// A program's version text: the first line with a digit in it.
fn version(program: &Path, peer: &Peer) -> Option<String> {
    let output = lines_of(both_outputs(peer.name, program, &[peer.version_option?.into()]), PATIENCE).ok()?;
    output
        .into_iter()
        .map(|line| line.trim().to_owned())
        .find(|line| line.contains(|c: char| c.is_ascii_digit()))
}

fn subject(stalls: bool, setting: &Setting, field: &Field, generators: &[Candidate]) -> Result<Subject> {
    let seed = (setting.seed + 1).to_string();
    let mut arguments = field.server.to_vec();
    arguments.extend(["--service", SERVICE, "--seed", &seed]);
    if stalls {
        arguments.extend(["--stall", STALL]);
    }
    let mut rows = Vec::new();
    // A new server for each run, so that no run sees leftovers of the previous one.
    let mut measure = |name, run: &dyn Fn(&Load) -> Result<PeerRun>| -> Result<()> {
        let server = Server::start(&arguments, &setting.cpus)?;
        let folder = tempfile::tempdir().context("no temporary folder can be made; set TMPDIR to one")?;
        let load = Load {
            server: server.address,
            rps: RPS,
            connections: CONNECTIONS,
            seconds: setting.window.0 / 1_000_000_000,
            seed: setting.seed,
            pid: server.pid(),
            folder: folder.path().into(),
        };
        let watch = Watch::start(server.pid());
        let told = run(&load);
        let noise = watch.finish();
        server.stop()?;
        let failed =
            |error: anyhow::Error| PeerRun { verdict: format!("failed: {error:#}"), ..PeerRun::default() };
        let PeerRun { command, reported, verdict, noise: own } = told.unwrap_or_else(failed);
        rows.push(PeerRow { generator: name, command, reported, verdict, noise: own.unwrap_or(noise) });
        Ok(())
    };
    let cpu = *setting.cpus.last().context("no processor may be used")?;
    measure("taillight", &|load| taillight(load, field, cpu))?;
    for (peer, found) in field.peers.iter().zip(generators) {
        if let Some(program) = &found.program {
            measure(peer.name, &|load| peer_says(peer, program, load, cpu))?;
        }
    }
    let stall =
        if stalls { format!(", standing still for 100 ms every second ({STALL})") } else { String::new() };
    let server = format!("null server, {}, {SERVICE}{stall}, spinning", field.protocol);
    Ok(Subject { server, stalls, truth: Truth::of(RPS as f64, stalls, setting.seed)?, rows })
}

/// Result of a run of a generator.
#[derive(Default)]
struct PeerRun {
    command: Vec<String>,
    reported: Option<Reported>,
    verdict: String,
    /// Noise, if the generator itself watched the machine.
    noise: Option<Noise>,
}

fn taillight(load: &Load, field: &Field, cpu: usize) -> Result<PeerRun> {
    let words = format!(
        "load {} --target {{server}} --rate {{rps}} --connections {{connections}} --window {{seconds}}s --seed {{seed}} \
         --cpus {cpu} --trial {{folder}}/trial.json",
        field.workload
    );
    let exe = std::env::current_exe().context("this program's own file is not known")?;
    let spec = Spec::new("taillight", exe).args(load.filled(&words));
    let command = shown(&spec, load);
    let spec = spec.args(["--server-pid", &load.pid.to_string()]);
    lines_of(spec, PATIENCE + Duration::from_secs(load.seconds))?;
    let text = fs::read_to_string(load.folder.join("trial.json")).context("it wrote no result")?;
    let trial: Trial = serde_json::from_str(&text).context("its result cannot be read")?;
    let times = &trial.all.response_time;
    let reported = Reported {
        rps: trial.achieved_rps,
        p50_us: times.p50_us,
        p99_us: times.p99_us,
        p99_9_us: times.p99_9_us,
        max_us: times.max_us,
    };
    let (verdict, noise) = (own_verdict(&trial, load.rps as f64), Some(trial.noise));
    Ok(PeerRun { command, reported: Some(reported), verdict, noise })
}

fn peer_says(peer: &Peer, program: &Path, load: &Load, cpu: usize) -> Result<PeerRun> {
    for (name, text) in (peer.files)(load) {
        fs::write(load.folder.join(name), text).context("its configuration cannot be written")?;
    }
    let arguments = load.filled(peer.arguments);
    let spec = both_outputs(peer.name, program, &arguments).cpus([cpu]);
    let command = shown(&Spec::new(peer.program, program).args(arguments), load);
    let mut output = lines_of(spec, PATIENCE + Duration::from_secs(load.seconds))?.join("\n");
    if let Some(report) = peer.report {
        output = lines_of(both_outputs(peer.name, program, &load.filled(report)), PATIENCE)?.join("\n");
    }
    let reported = (peer.parse)(&output);
    let verdict = match reported {
        None => "its output was not understood".into(),
        Some(reported) => peer.verdict(reported.rps, load.rps as f64),
    };
    Ok(PeerRun { command, reported, verdict, noise: None })
}

/// A program with its standard error in its standard output: some report there, and only the end of standard error
/// would be kept.
fn both_outputs(name: &str, program: &Path, arguments: &[String]) -> Spec {
    Spec::new(name, "sh")
        .args(["-c", "exec \"$0\" \"$@\" 2>&1"])
        .arg(program.display().to_string())
        .args(arguments.iter().cloned())
}

/// The command line in a form that a reader can repeat.
fn shown(spec: &Spec, load: &Load) -> Vec<String> {
    let folder = load.folder.display().to_string();
    let words = spec.command_line().into_iter().skip(1).map(|word| word.replace(&folder, "FOLDER"));
    std::iter::once(spec.name.clone()).chain(words).collect()
}

/// Runs a program to its end; returns its standard output.
fn lines_of(spec: Spec, within: Duration) -> Result<Vec<String>> {
    let mut process = launch::Process::spawn(spec)?;
    let status = process.wait(within)?;
    // All its output is in the pipe, so this time-out only marks the end.
    let lines: Vec<String> = std::iter::from_fn(|| process.next_line(Duration::from_millis(500))).collect();
    if !status.success() && lines.is_empty() {
        bail!("{status}, and it said nothing; its last errors: {}", process.stderr_tail().join(" / "));
    }
    Ok(lines)
}

impl Comparison {
    pub(crate) fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.subjects.iter().map(|subject| self.table(subject)).collect();
        tables.push(Table {
            title: self.field.generators.into(),
            about: Vec::new(),
            columns: vec!["generator", "version", "what makes its requests leave", "where it comes from"],
            rows: self
                .generators
                .iter()
                .map(|known| {
                    let version = match (&known.program, &known.version) {
                        (None, _) => "not installed".into(),
                        (Some(_), None) => "does not say".into(),
                        (Some(_), Some(version)) => version.clone(),
                    };
                    vec![known.name.into(), version, known.pacing.into(), known.source.into()]
                })
                .collect(),
            notes: self.commands(),
        });
        tables
    }

    fn commands(&self) -> Vec<String> {
        let rows = self.subjects.first().map_or(&[][..], |subject| &subject.rows);
        rows.iter().filter(|row| !row.command.is_empty()).map(|row| row.command.join(" ")).collect()
    }

    fn table(&self, subject: &Subject) -> Table {
        let what = if subject.stalls { "with a stall of 100 ms every second" } else { "without stalls" };
        let truth = &subject.truth;
        let mut rows = vec![vec![
            "truth".into(),
            self.offered_rps.to_string(),
            us(truth.p50_us),
            us(truth.p99_us),
            us(truth.p99_9_us),
            us(truth.max_us),
            String::new(),
            String::new(),
            String::new(),
        ]];
        rows.extend(subject.rows.iter().map(|row| {
            let told = row.reported.unwrap_or_default();
            let factor = |told: Option<f64>, truth: Option<f64>| match told.zip(truth) {
                Some((told, truth)) if truth > 0.0 => format!("{:.2}", told / truth),
                _ => "—".into(),
            };
            let factors = [
                factor(told.p50_us, truth.p50_us),
                factor(told.p99_us, truth.p99_us),
                factor(told.p99_9_us, truth.p99_9_us),
            ];
            vec![
                row.generator.into(),
                row.reported.map_or("—".into(), |told| format!("{:.0}", told.rps)),
                us(told.p50_us),
                us(told.p99_us),
                us(told.p99_9_us),
                us(told.max_us),
                factors.join(" / "),
                row.verdict.clone(),
                noise_words(&row.noise),
            ]
        }));
        Table {
            title: format!("{}, {what}", self.field.title),
            about: vec![
                format!(
                    "Server: {}. Offered: {} rps over {} connections, {}. In µs.",
                    subject.server, self.offered_rps, self.connections, self.field.asked
                ),
                truth.about.into(),
            ],
            columns: vec![
                "generator",
                "rps",
                "p50",
                "p99",
                "p99.9",
                "max",
                "reported / true",
                "verdict",
                "noise",
            ],
            rows,
            notes: vec!["A verdict names the share of the load that was sent, or that Taillight's Poisson schedule drew, where it is under 99 %.".into()],
        }
    }
}
