//! The command line: each subcommand is one step of the pipeline from load to report, or all of it.
//!
//! Try it: `cargo run --release -- demo`.

mod accuracy;
mod agent;
mod args;
mod audit;
mod compare;
mod data_set;
mod demo;
mod deployment;
mod explain;
mod fileset;
mod gate;
mod history;
mod host;
mod job;
mod live_metrics;
mod load;
mod manual;
mod movies;
mod outputs;
mod pack;
mod peak;
mod percent;
mod progress;
mod report;
mod selftest;
mod serve;
mod shown;
mod study;
mod sweep;
mod terminal;
mod trace;
mod traces;
mod tune;
mod up;
mod wrk;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

/// A laboratory for the tail latency of interactive cloud services.
///
/// Exit codes: 0 answered, 1 failed, 2 wrong usage, 75 nothing can be said, 99 a gate was missed, 130 interrupted.
#[derive(Parser, Debug)]
#[command(
    name = "taillight",
    version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILT_FROM"), ")"),
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Demo(Box<demo::DemoArgs>),
    Sweep(Box<sweep::SweepArgs>),
    Peak(Box<peak::PeakArgs>),
    Compare(Box<compare::CompareArgs>),
    Report(report::ReportArgs),
    Audit(audit::AuditArgs),
    History(history::HistoryArgs),
    Run(study::RunArgs),
    Study(study::StudyArgs),
    Pack(pack::PackArgs),
    Unpack(pack::UnpackArgs),
    Trace(trace::TraceArgs),
    Traces(traces::TracesArgs),
    Load(Box<load::LoadArgs>),
    Wrk(Box<wrk::WrkArgs>),
    Agent(agent::AgentArgs),
    Serve(Box<serve::ServeArgs>),
    Up(up::UpArgs),
    Movies(Box<movies::MoviesArgs>),
    #[command(name = "app")]
    Deployment(Box<deployment::DeploymentArgs>),
    Selftest(selftest::SelftestArgs),
    Accuracy(accuracy::AccuracyArgs),
    Explain(explain::ExplainArgs),
    DataSet(data_set::DataSetArgs),
    Fileset(fileset::FilesetArgs),
    Host(host::HostArgs),
    Tune(Box<tune::TuneArgs>),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

impl Command {
    /// Whether it starts servers or generators, which other programs are to wait for.
    fn measures(&self) -> bool {
        use Command::{Agent, Compare, Demo, Load, Peak, Run, Study, Sweep, Wrk};
        matches!(
            self,
            Agent(_) | Compare(_) | Demo(_) | Load(_) | Peak(_) | Run(_) | Study(_) | Sweep(_) | Wrk(_)
        )
    }
}

/// The exit code of a run that Ctrl-C or SIGTERM ended, as shells report it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let command: Vec<String> = std::env::args().collect();
    let cli = Cli::try_parse_from(&command).unwrap_or_else(|error| with_tip(error, &command).exit()).command;
    if cli.measures() {
        lab::raise_priority();
    }
    let result = match cli {
        Command::Demo(args) => demo::run(*args, command),
        Command::Sweep(args) => sweep::run(*args, command),
        Command::Peak(args) => peak::run(*args, command),
        Command::Compare(args) => compare::run(*args, command),
        Command::Report(args) => report::run(&args).map(success),
        Command::Audit(args) => audit::run(&args),
        Command::History(args) => history::run(&args),
        Command::Run(args) => study::run_experiment(&args, command),
        Command::Study(args) => study::run(args, command),
        Command::Pack(args) => pack::pack(&args).map(success),
        Command::Unpack(args) => pack::unpack(&args).map(success),
        Command::Trace(args) => trace::run(&args).map(success),
        Command::Traces(args) => traces::run(&args).map(success),
        Command::Load(args) => load::run(*args, command),
        Command::Wrk(args) => wrk::run(&args),
        Command::Agent(args) => agent::run(args).map(success),
        Command::Serve(args) => serve::run(&args).map(success),
        Command::Up(args) => up::run(&args).map(success),
        Command::Movies(args) => movies::run(&args),
        Command::Deployment(args) => deployment::run(&args).map(success),
        Command::Selftest(args) => selftest::run(&args, command),
        Command::Accuracy(args) => accuracy::run(&args, command),
        Command::Explain(args) => explain::run(&args).map(success),
        Command::DataSet(args) => data_set::run(&args).map(success),
        Command::Fileset(args) => fileset::run(&args).map(success),
        Command::Host(args) => host::run(&args),
        Command::Tune(args) => tune::run(*args),
        Command::Completions(args) => manual::print_completions(&args).map(success),
        Command::Man(args) => manual::write_pages(&args).map(success),
    };
    result.unwrap_or_else(|error| {
        anstream::eprintln!("taillight: {}", in_full(&error));
        if error.is::<trial::Interrupted>() {
            return ExitCode::from(INTERRUPTED);
        }
        job::code_of(&error).or_else(|| tune::code_of(&error)).unwrap_or(ExitCode::FAILURE)
    })
}

/// The exit code of a command that has done all that it should.
fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// An error and its causes on one line, each said once.
fn in_full(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// Adds the option to an error about a server that was given without one, as other generators take it.
fn with_tip(mut error: clap::Error, command: &[String]) -> clap::Error {
    let takes_target =
        command.get(1).is_some_and(|name| ["load", "sweep", "peak", "tune"].contains(&name.as_str()));
    let is_server = |given: &str| {
        let has_port = given.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        !given.starts_with('-') && (has_port || given.contains("://"))
    };
    if takes_target
        && error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg)
        && is_server(given)
    {
        let tip = format!("a server is named by an option: --target {given}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_its_option_gets_a_tip() {
        let check = |words: &[&str], expect: Option<&str>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let error = with_tip(Cli::try_parse_from(&words).unwrap_err(), &words).to_string();
            assert_eq!(error.contains("--target"), expect.is_some(), "{error}");
            assert!(expect.is_none_or(|tip| error.contains(tip)), "{error}");
        };
        check(&["taillight", "load", "cache", "127.0.0.1:11211"], Some("--target 127.0.0.1:11211"));
        check(&["taillight", "load", "web", "http://localhost/"], Some("--target http://localhost/"));
        check(&["taillight", "load", "web", "fast"], None);
        check(&["taillight", "load", "cache", "--of:1"], None);
        check(&["taillight", "demo", "127.0.0.1:11211"], None);
    }
}
