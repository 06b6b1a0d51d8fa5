//! `taillight study`: published figures measured again, and `taillight run`: one experiment from its file.

mod check;
mod compare;
mod list;
mod run;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

pub(crate) use run::{RunArgs, run_experiment};

use crate::progress::ProgressArgs;
use crate::success;

/// Measure published figures again and judge their claims.
///
/// A study is a grid of experiments with claims and published values. NAME is one of those that come with the program
/// (taillight study list), its number, or a folder with study.toml and claims.toml.
#[derive(Args, Debug)]
pub(crate) struct StudyArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// List the studies, the figures that they reproduce, and how long each takes here.
    List,
    Show(list::ShowArgs),
    Run(Box<run::StudyRunArgs>),
    /// Judge the claims of a result again, and print them with its figures; change nothing without --write.
    Check(check::CheckArgs),
    /// Compare two runs of a study: how many ratios of the second lie in the intervals of the first.
    Compare(compare::CompareArgs),
}

/// How thorough a run of a study is.
#[derive(Args, Clone, Copy, Debug, Default)]
#[group(multiple = false)]
pub(crate) struct EffortArgs {
    /// Minutes: few points and repeats; the default.
    #[arg(long)]
    quick: bool,
    /// Seconds: only checks that the study runs; its figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Unlimited time: 8 blocks or more, so that several claims can be judged at once (one from 6 on).
    #[arg(long)]
    full: bool,
}

impl EffortArgs {
    fn effort(self) -> results::study::Effort {
        use results::study::Effort;
        match self {
            EffortArgs { full: true, .. } => Effort::Full,
            EffortArgs { smoke: true, .. } => Effort::Smoke,
            _ => Effort::Quick,
        }
    }
}

/// Values that are set in a study by hand.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SetArgs {
    /// Set a parameter of the study by hand, such as threads=4, or a part of every specification, such as
    /// target.memory=4GiB. Recorded in the result. May be given more than once.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    set: Vec<(String, String)>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().into(), value.trim().into()))
        }
        _ => Err("write NAME=VALUE, such as threads=4 or target.memory=4GiB".into()),
    }
}

pub(crate) fn run(args: StudyArgs, command: Vec<String>) -> Result<ExitCode> {
    match args.command {
        Command::List => list::list().map(success),
        Command::Show(args) => list::show(&args).map(success),
        Command::Run(args) => run::run_study(&args, command),
        Command::Check(args) => check::check(&args),
        Command::Compare(args) => compare::compare(&args),
    }
}

/// Where results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutArgs {
    /// Folder in which the result gets a folder of its own.
    #[arg(long, default_value = "results", value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    progress: ProgressArgs,
}
