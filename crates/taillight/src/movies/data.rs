//! `taillight movies data`: the data set, made once for its settings.

use std::path::PathBuf;

use anyhow::{Result, bail};
use app::{Making, Plan};
use clap::Args;
use launch::Interrupt;

use super::Source;
use crate::shown::Shown;
use crate::terminal::say;

/// Make the data set: films, users, reviews, pictures and videos from one seed; it is kept.
#[derive(Args, Debug)]
pub(super) struct DataArgs {
    #[command(flatten)]
    source: Source,
    /// A setting that the data depend on: users=1000, movies=100, seed=2, clips=2. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

pub(super) fn run(args: &DataArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let app = args.source.app()?;
    let mut plan = Plan::new(app, &lab::this_program()?);
    plan.set(&args.set)?;
    let Some(folder) = made(&plan, &interrupt)? else { bail!("{} has no data set", plan.app().name) };
    say(&format!("the data set is {}\n", folder.display()))
}

/// The folder of the data set, which is made unless it is there.
pub(super) fn made(plan: &Plan, interrupt: &Interrupt) -> Result<Option<PathBuf>> {
    let mut shown = Shown::new("making the data set, which is kept", interrupt);
    let made = plan.make_data_set(&mut |making| {
        shown.show(match making {
            Making::DataSet { line } => line,
            _ => "another process makes the same",
        })
    });
    shown.outcome(made)
}
