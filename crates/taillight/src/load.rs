//! `taillight load`: one offered load on one server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Args;
use clap::error::ErrorKind;
use lab::{CommandRun, Plan, ServerArgs, TargetName};
use results::{Gate, Kind};
use spec::Spec;
use spec::workload::ClientKnob;
use trial::{Task, parse_share};
use units::{Nanos, Rate};

use crate::args::{Typed, WorkloadCommand};
use crate::gate;
use crate::job::{self, ProbeArgs, Setting, TargetArg};
use crate::shown::make_data;
use crate::terminal::{say, say_json, tell};
use crate::trace;

/// The value of `--gate` without a condition.
const QOS: &str = "qos";

#[derive(Clone, Debug, PartialEq)]
enum GateCondition {
    Qos,
    Condition(Gate),
}

fn parse_gate(text: &str) -> Result<GateCondition, units::ParseError> {
    if text == QOS { Ok(GateCondition::Qos) } else { text.parse().map(GateCondition::Condition) }
}

/// Offer one load to one server and report its response times.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LoadArgs {
    #[command(subcommand)]
    on: Option<WorkloadCommand<Options>>,
    /// Run one trial of this specification, as --resolve prints it; - reads standard input. With --json the trial is
    /// printed as JSON; taillight run FILE keeps a result.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    #[command(flatten)]
    process: Process,
}

/// Options of one load, in addition to the shared options of all measuring commands.
#[derive(Args, Debug)]
struct Options {
    #[command(flatten)]
    target: TargetArg,
    /// Offered load in requests per second: 150000, 150k, 1.5M; of video, social and movies in sessions per second, of which
    /// each has many requests: 0.5, 2.
    #[arg(short, long, value_name = "RATE", conflicts_with = "closed")]
    rate: Option<Rate>,
    /// How often the load is run. From 6 on differences can be judged.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "json")]
    repeats: u32,
    /// Exit with 99 if a trial does not meet this: 'p99<1ms', 'get.p99.9<=2ms', 'max<10ms', 'within(1ms)>99%',
    /// 'rate>=99%', 'errors<0.1%', 'hit_ratio>99%', of sessions 'startup.p95<2s', 'rebuffer<1%', 'misses<1%',
    /// 'met>95%', of operations with limits 'within>=95%', 'within.home>=95%'; without a condition: the QoS target. If
    /// there are several, separated by commas or given more than once, all must be met. Exit with 75 if most trials
    /// give no evidence about the server.
    #[arg(long, value_name = "CONDITION,…", num_args = 0..=1, value_delimiter = ',', default_missing_value = QOS, value_parser = parse_gate, conflicts_with = "json")]
    gate: Vec<GateCondition>,
    #[command(flatten)]
    process: Process,
    #[command(flatten)]
    probe_args: ProbeArgs,
}

/// The part that this process has in the load, and the other processes that take part.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Process {
    /// Print one trial as JSON and write no result.
    #[arg(long)]
    json: bool,
    /// Print the whole specification as JSON and run nothing. taillight run and load --spec take it.
    #[arg(long)]
    resolve: bool,
    /// Be the generator of one trial: write it to this file, with its histograms next to it, and print nothing.
    #[arg(long, value_name = "FILE", hide = true)]
    trial: Option<PathBuf>,
    /// With --trial: number I of N generators that offer one load together.
    #[arg(long, value_name = "I/N", hide = true, value_parser = parse_share)]
    share: Option<(u32, u32)>,
    /// With --trial: say `ready` once all connections are established, and wait on standard input for `start NS`, the
    /// moment on CLOCK_MONOTONIC.
    #[arg(long, hide = true)]
    start_on_stdin: bool,
    /// With --trial: write all that was measured to this file, for the process that merges.
    #[arg(long, value_name = "FILE", hide = true)]
    recording: Option<PathBuf>,
    /// With --trial: print a line of JSON on standard output for each 100 ms.
    #[arg(long, hide = true)]
    live: bool,
    /// With --trial: have the kernel stamp some of the connections.
    #[arg(long, hide = true)]
    stamps: bool,
    /// The servers' processes, so that their processor time does not count as foreign.
    #[arg(long, value_name = "PID,…", value_delimiter = ',', hide = true)]
    server_pid: Vec<u32>,
    /// With --trial: the server has processes on other machines; request their activity in the window on standard
    /// output, by a line with the window's opening and length, and read it from standard input.
    #[arg(long, hide = true)]
    server_elsewhere: bool,
}

pub(crate) struct LocalTrial {
    pub spec: Spec,
    pub server: ServerArgs,
    /// Whether the target is one URL, even if it contains commas.
    pub one_url: bool,
    pub process: Process,
}

pub(crate) fn run(args: LoadArgs, command: Vec<String>) -> Result<ExitCode> {
    let (options, setting, workload, typed) = match (args.on, &args.spec) {
        (Some(WorkloadCommand { command, setting, workload, typed }), _) => {
            (command, setting, workload, typed)
        }
        (None, Some(file)) => {
            let spec = read(file)?;
            if args.process.json && !args.process.resolve {
                changes_nothing(&spec);
            }
            let server = ServerArgs::of(&spec);
            return of_spec(LocalTrial { spec, server, one_url: false, process: args.process });
        }
        (None, None) => {
            let missing = "name the workload, as in taillight load cache, or give --spec FILE";
            usage(ErrorKind::MissingSubcommand, missing)
        }
    };
    let target = options.target.chosen(&workload, &typed);
    let mut spec = setting.spec(&target, workload, options.rate, &typed)?;
    spec.probes = options.probe_args.probe.clone().unwrap_or_default();
    trace::last(&mut spec, options.rate, &typed)?;
    let process = options.process.clone();
    if !process.resolve && (process.json || process.trial.is_some()) {
        changes_nothing(&spec);
    }
    if process.resolve || process.json || process.trial.is_some() {
        return of_spec(LocalTrial { spec, server: setting.server, one_url: false, process });
    }
    check(&spec)?;
    kept(options, setting, spec, &typed, command)
}

/// Ends the process if a trial by itself would not apply the requested bandwidth: only the program that runs trials sets knobs.
fn changes_nothing(spec: &Spec) {
    if let Some(ClientKnob { option, instead, .. }) = spec.workload.client_knob() {
        let message = format!(
            "{option}: it changes this machine for the load, and one trial by itself (--json, --trial) changes nothing; leave \
             these out, or use {instead}"
        );
        usage(ErrorKind::ArgumentConflict, &message);
    }
}

/// Ends the process if one trial as JSON would ignore a requested option: such a trial is neither observed nor traced, and applies no
/// knobs of this machine. The agents apply the knobs of their own machines.
fn holds_nothing(spec: &Spec) {
    let refused = |option: &str, why: &str| {
        let message = format!("{option}: one trial as JSON {why}; leave out --json, or {option}");
        usage(ErrorKind::ArgumentConflict, &message);
    };
    if lab::is_traced(&spec.workload) {
        refused("--trace", "gathers no spans");
    }
    if !spec.probes.is_empty() {
        refused("--probe", "is not observed");
    }
    if !spec.knobs.is_empty() && spec.target.agent.is_none() {
        refused("--server-knob", "changes nothing on this machine");
    }
    if !spec.client_knobs.is_empty() && spec.generator.agents.agents.is_empty() {
        refused("--client-knob", "changes nothing on this machine");
    }
}

/// Ends the process as clap does.
fn usage(kind: ErrorKind, message: &str) -> ! {
    clap::Command::new("taillight load").error(kind, message).exit()
}

/// Reads a specification from a JSON file; `-` is standard input.
fn read(file: &Path) -> Result<Spec> {
    let name = file.display();
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("cannot read the specification {name}"))?;
    let whole =
        serde_json::from_str(&text).with_context(|| format!("the specification {name} is not JSON"))?;
    lab::read_spec(whole).with_context(|| format!("specification {name}"))
}

/// Runs one trial, or prints its resolved specification.
fn of_spec(one: LocalTrial) -> Result<ExitCode> {
    let process = one.process.clone();
    if process.resolve {
        return resolve(one.spec);
    }
    check(&one.spec)?;
    match &process.trial {
        Some(file) => {
            let done = trial(one)?;
            trial::write(&done, file)?;
            if let Some(to) = &process.recording {
                trial::write_recording(&done.recording, to)?;
            }
        }
        None if process.json => {
            holds_nothing(&one.spec);
            let trial = trial(one)?.trial;
            say_json(&trial)?;
            if trial.verdict.is_usable() && trial.arrivals.completed == 0 {
                return Ok(gate::judge(&[], &["no request was completed".to_owned()]));
            }
            if !trial.verdict.is_usable() {
                return Ok(gate::judge(&[], &[format!("no answer about the server: {}", trial.verdict)]));
            }
        }
        None => usage(
            ErrorKind::MissingRequiredArgument,
            "--spec: add --json to print one trial; taillight run FILE keeps a result",
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the parts of a load go together, and it has a rate.
pub(crate) fn check(spec: &Spec) -> Result<()> {
    trial::check(spec)?;
    lab::check_targets(std::slice::from_ref(&spec.target.server), spec.workload.name())?;
    if !matches!(spec.load, spec::Load::Rate(_) | spec::Load::Closed | spec::Load::Trace) {
        let missing =
            "give the offered load with --rate, such as --rate 50k, or replay --arrivals trace:FILE";
        usage(ErrorKind::MissingRequiredArgument, missing);
    }
    Ok(())
}

fn resolve(spec: Spec) -> Result<ExitCode> {
    trial::check(&spec)?;
    lab::check_targets(std::slice::from_ref(&spec.target.server), spec.workload.name())?;
    say(&format!("{:#}\n", trial::resolve(spec)?.to_json()))?;
    Ok(ExitCode::SUCCESS)
}

/// One trial in this process. Its server is started first, unless it already runs.
pub(crate) fn trial(one: LocalTrial) -> Result<trial::Done> {
    let LocalTrial { mut spec, mut server, one_url, process } = one;
    let mut server_pids = process.server_pid;
    let (target, started) = match &spec.target.server {
        TargetName::External(text) => (text.clone(), None),
        name => {
            let placement = server.placement(spec.generator.cpus.as_ref());
            let targets = [name.clone()];
            server.serve(&targets, &mut spec.workload)?;
            let connections = lab::connections(&spec);
            let agents = &spec.generator.agents;
            let mut started = server.start(&targets, &placement, connections, agents, make_data)?;
            spec.generator.cpus.get_or_insert(placement.generator.into_iter().collect());
            let started = started.pop().context("the server did not start")?;
            server_pids.extend(started.pids());
            // Wherever it is: started for this, it holds no other items.
            spec.workload.agree();
            if let Some(protocol) = started.protocol() {
                spec.workload.speak(protocol);
            }
            (started.address().to_owned(), Some(started))
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let each = if one_url { vec![&target[..]] } else { TargetName::each(&target) };
    let addresses: Vec<_> = each.iter().copied().map(lab::address).collect::<Result<_, _>>()?;
    // The process that started a generator of a trial has looked for them.
    let mut missing = None;
    if started.is_none() && server_pids.is_empty() && process.trial.is_none() {
        (server_pids, missing) = lab::processes_at(addresses.clone());
    }
    let cpus = spec.generator.cpus.as_ref().map(|list| list.as_slice());
    // The process that started a generator of a trial has chosen its pace.
    if spec.generator.pace.is_none() && lab::would_starve(&server_pids, cpus) {
        spec.generator.pace = Some(spec::Pace::Yield);
    }
    let task = Task {
        share: process.share.unwrap_or((0, 1)),
        start_on_stdin: process.start_on_stdin,
        live: process.live,
        stamps: process.stamps,
        server_pids,
        server_elsewhere: process.server_elsewhere,
        ..Task::of(spec, &each, addresses)?
    };
    let done = trial::run(&task, &stop);
    if let (Ok(_), Some(missing)) = (&done, missing) {
        tell(&missing);
    }
    if let Some(server) = started {
        server.stop();
    }
    done
}

/// The load as often as asked for, each trial by a generator of its own, kept as a result.
fn kept(
    options: Options,
    setting: Setting,
    mut spec: Spec,
    typed: &Typed,
    command: Vec<String>,
) -> Result<ExitCode> {
    let gates: Vec<&Gate> = options
        .gate
        .iter()
        .filter_map(|asked| if let GateCondition::Condition(gate) = asked { Some(gate) } else { None })
        .collect();
    let within: Vec<Nanos> = gates.iter().filter_map(|gate| gate.within_target()).collect();
    if !within.is_empty() && !typed.has("target-latency") {
        spec.generator.target_latency.clear();
    }
    spec.generator.target_latency.extend(within);
    let job = CommandRun {
        kind: Kind::Load,
        suffix: "load",
        targets: vec![spec.target.server.clone()],
        plan: Plan::of_load(&spec, 1, options.repeats),
        spec,
        command,
        server: setting.server,
        place: setting.result.place.clone(),
    };
    let mut finished = job::run(&job, &setting.result)?;
    finished.judge(&gates)?;
    finished.tell()?;
    Ok(finished.code(options.gate.contains(&GateCondition::Qos)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, Command};

    /// The gates of a command line, whose words may be between quotes.
    fn gates(line: &str) -> Result<Vec<GateCondition>, clap::Error> {
        let words = line.split_whitespace().map(|word| word.trim_matches('\''));
        let Command::Load(args) = Cli::try_parse_from(words)?.command else { panic!("{line}") };
        Ok(args.on.unwrap().command.gate)
    }

    fn condition(text: &str) -> GateCondition {
        GateCondition::Condition(text.parse().unwrap())
    }

    #[test]
    fn gates_may_have_commas_between_them() {
        let of = |gate: &str| gates(&format!("taillight load cache --rate 1k {gate}"));
        assert_eq!(of("").unwrap(), []);
        assert_eq!(of("--gate").unwrap(), [GateCondition::Qos]);
        assert_eq!(of("--gate --seed 1").unwrap(), [GateCondition::Qos]);
        let both = [condition("p99<1ms"), condition("within(1ms)>99%")];
        assert_eq!(of("--gate 'p99<1ms,within(1ms)>99%'").unwrap(), both);
        assert_eq!(of("--gate p99<1ms --gate within(1ms)>99%").unwrap(), both);
        assert_eq!(of("--gate=qos,get.errors<1%").unwrap(), [GateCondition::Qos, condition("get.errors<1%")]);
        assert!(of("--gate p99<1ms,").unwrap_err().to_string().contains("it has no '<'"));
    }

    #[test]
    fn the_gate_of_the_reference_is_read() {
        let page = include_str!("../../../docs/reference/video.md");
        let line =
            page.lines().find(|line| line.starts_with("taillight load video") && line.contains("--gate"));
        let all = ["misses<5%", "startup.p99<10s", "met>90%"].map(condition);
        assert_eq!(gates(line.unwrap()).unwrap(), all);
    }
}
