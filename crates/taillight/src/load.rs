//! `taillight load`: one offered load on one server.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Args;
use clap::error::ErrorKind;
use lab::TargetName;
use proto_http::Url;
use results::{Gate, Kind};
use units::Rate;

use crate::args::{WorkloadName, urls};
use crate::generate::{self, Task};
use crate::handed_on::{check_options, handed_on};
use crate::job::{self, Looking, Setting, Work};

/// What `--gate` alone stands for.
const QOS: &str = "qos";

/// What a gate asks.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    /// That the QoS is met.
    Qos,
    /// A condition of its own.
    Condition(Gate),
}

fn parse_gate(text: &str) -> Result<Asked, units::ParseError> {
    if text == QOS { Ok(Asked::Qos) } else { text.parse().map(Asked::Condition) }
}

/// Offer one load to one server and report its response times.
#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// What to send.
    #[arg(value_enum)]
    workload: WorkloadName,
    /// The server: sphinx (embedded), memcached or nginx (found on this machine), or HOST:PORT, URL or unix:PATH of
    /// one that runs, or several with commas between.
    #[arg(long, default_value = "sphinx", value_name = "TARGET")]
    target: TargetName,
    /// Offered load in requests per second: 150000, 150k, 1.5M.
    #[arg(long, value_name = "RATE", conflicts_with = "closed")]
    rate: Option<Rate>,
    /// How often the load is run. From 6 on differences can be judged.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// Exit with 99 if a trial is invalid or does not meet this: 'p99<1ms', 'get.p99.9<=2ms', 'max<10ms',
    /// 'within(1ms)>99%', 'rate>=99%', 'errors<0.1%', 'hit_ratio>99%'; alone: if the QoS is not met. May be given
    /// more than once.
    #[arg(long, value_name = "CONDITION", num_args = 0..=1, default_missing_value = QOS, value_parser = parse_gate)]
    gate: Vec<Asked>,
    /// Print one trial as JSON and write no result.
    #[arg(long, conflicts_with_all = ["repeats", "gate", "probe"])]
    json: bool,
    /// Print the resolved configuration as JSON and run nothing.
    #[arg(long)]
    resolve: bool,
    /// Whether the target is one URL, whatever commas it holds.
    #[arg(skip)]
    one_url: bool,
    #[command(flatten)]
    setting: Setting,
    #[command(flatten)]
    looking: Looking,
    /// Be the generator of one trial: write it to this file and its histograms beside it, and print nothing.
    #[arg(long, value_name = "FILE", hide = true)]
    trial: Option<PathBuf>,
    /// With --trial: number I of N generators that offer one load together.
    #[arg(long, value_name = "I/N", hide = true, value_parser = generate::parse_share)]
    share: Option<(u32, u32)>,
    /// With --trial: say `ready` once all connections stand, and wait on standard input for `start NS`, the moment on
    /// CLOCK_MONOTONIC.
    #[arg(long, hide = true)]
    start_on_stdin: bool,
    /// With --trial: write all that was measured to this file, for whoever merges.
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
}

pub(crate) fn run(args: LoadArgs) -> Result<ExitCode> {
    if args.resolve {
        args.setting.load.check()?;
        return resolve(&args);
    }
    args.check()?;
    let rate = args.rate;
    if rate.is_none() && args.setting.load.needs_rate() {
        let missing =
            "give the offered load with --rate, such as --rate 50k, or replay --arrivals trace:FILE";
        clap::Command::new("taillight load").error(ErrorKind::MissingRequiredArgument, missing).exit();
    }
    match (&args.trial, args.json) {
        (Some(file), _) => {
            let file = file.clone();
            let recording = args.recording.clone();
            let done = one(args, rate)?;
            generate::write(&done, &file)?;
            if let Some(to) = recording {
                generate::write_recording(&done.recording, &to)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        (None, true) => {
            check_options(&std::env::args().collect::<Vec<_>>(), job::words(args.workload))?;
            println!("{}", serde_json::to_string_pretty(&one(args, rate)?.trial)?);
            Ok(ExitCode::SUCCESS)
        }
        (None, false) => kept(args, rate),
    }
}

impl LoadArgs {
    /// The same on the server of one URL.
    pub(crate) fn on_url(self, url: &Url) -> LoadArgs {
        LoadArgs { target: TargetName::Foreign(url.to_string()), one_url: true, ..self }
    }

    /// Checks that the options go together.
    pub(crate) fn check(&self) -> Result<()> {
        self.setting.load.check()?;
        job::check_targets(std::slice::from_ref(&self.target), job::words(self.workload))
    }
}

fn resolve(args: &LoadArgs) -> Result<ExitCode> {
    check_options(&std::env::args().collect::<Vec<_>>(), job::words(args.workload))?;
    let Setting { load, workload, .. } = &args.setting;
    let sent = workload.sent(args.workload, load.seed, None, Vec::new())?;
    println!("{}", serde_json::to_string_pretty(&load.resolve(sent))?);
    Ok(ExitCode::SUCCESS)
}

/// One trial in this process, on a server that is started for it where it does not run already.
pub(crate) fn one(mut args: LoadArgs, rate: Option<Rate>) -> Result<generate::Done> {
    let mut server_pids = args.server_pid;
    let (target, server) = match &args.target {
        TargetName::Foreign(text) => (text.clone(), None),
        _ => {
            let placement = args.setting.server.placement(args.setting.load.cpus.as_ref());
            let connections = args.setting.load.connections as usize;
            let agents = Some(&args.setting.load.agents);
            let targets = [args.target.clone()];
            let mut words = handed_on::<LoadArgs>(&std::env::args().collect::<Vec<_>>());
            args.setting.server.serve(&targets, &mut words)?;
            if let Some(files) = args.setting.server.set() {
                args.setting.workload.web.files.get_or_insert_with(|| files.to_owned());
            }
            let mut started = args.setting.server.start(&targets, &placement, connections, agents)?;
            args.setting.load.cpus.get_or_insert(placement.generator.into_iter().collect());
            let server = started.pop().context("the server did not start")?;
            server_pids.extend(server.pids());
            // Wherever it is: started for this, it holds nobody else's items.
            args.setting.workload.shared.yes = true;
            (server.address().to_owned(), Some(server))
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let each = if args.one_url { vec![&target[..]] } else { TargetName::each(&target) };
    let task = Task {
        workload: args.workload,
        addresses: each.iter().copied().map(TargetName::address).collect::<Result<_, _>>()?,
        names: if args.workload == WorkloadName::Web { Vec::new() } else { names(&each)? },
        urls: if args.workload == WorkloadName::Web { urls(&each)? } else { Vec::new() },
        rate,
        load: args.setting.load,
        options: args.setting.workload,
        share: args.share.unwrap_or((0, 1)),
        start_on_stdin: args.start_on_stdin,
        live: args.live,
        stamps: args.stamps,
        server_pids,
    };
    let done = generate::run(&task, &stop);
    if let Some(server) = server {
        server.stop();
    }
    done
}

/// The servers as they are called, which decides where consistent hashing puts keys.
fn names(servers: &[&str]) -> Result<Vec<workloads::cache::Server>> {
    let name = |one: &str| one.strip_prefix("unix:").unwrap_or(one).parse();
    servers.iter().copied().map(name).collect::<Result<_, units::ParseError>>().map_err(Into::into)
}

/// The load as often as asked for, each trial by a generator of its own, kept as a result.
fn kept(args: LoadArgs, rate: Option<Rate>) -> Result<ExitCode> {
    let span = args.setting.span();
    let work = Work::Load { rate, repeats: args.repeats, span };
    let gates: Vec<&Gate> = args
        .gate
        .iter()
        .filter_map(|asked| if let Asked::Condition(gate) = asked { Some(gate) } else { None })
        .collect();
    let mut job = args.setting.job::<LoadArgs>(Kind::Load, "load", vec![args.target], args.workload, work);
    job.probes = args.looking.probe.unwrap_or_default();
    for target in gates.iter().filter_map(|gate| gate.within_target()) {
        job.options.extend(["--target-latency".into(), format!("{}ns", target.0)]);
    }
    let mut finished = job::run(&job)?;
    finished.judge(&gates)?;
    finished.tell()?;
    Ok(finished.code(args.gate.contains(&Asked::Qos)))
}
