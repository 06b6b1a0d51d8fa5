//! `taillight movies analytics`: learns the users' preferences from their reviews and rentals on the running site.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use app::{App, Learning};
use clap::Args;
use launch::Interrupt;
use units::clock;

use super::{Source, build};
use crate::shown::Shown;
use crate::terminal::say;

/// Learn the users' preferences with Spark from the reviews and rentals of the site that `up` has started; from then on
/// the site recommends films and selects advertisements by them.
#[derive(Args, Debug)]
pub(super) struct AnalyticsArgs {
    #[command(flatten)]
    source: Source,
    /// A folder of programs that were built before, with that of analytics, in place of building it.
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
}

pub(super) fn run(args: &AnalyticsArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let app = args.source.app()?;
    let learning = Learning::on(&app)?;
    let program = program(&app, args, &interrupt)?;
    let begun = Instant::now();
    let mut shown = Shown::new("learning from reviews and rentals", &interrupt);
    let learnt = learning.run(&program, &mut |line| shown.show(line));
    let (names, folder) = shown.outcome(learnt)?;
    say(&format!(
        "wrote {} to {}, in {}; the site uses them within 5 s\n",
        names.join(" and "),
        folder.display(),
        clock(begun.elapsed())
    ))
}

const NAME: &str = Learning::NAME;

/// The program; it is built if missing.
fn program(app: &App, args: &AnalyticsArgs, interrupt: &Interrupt) -> Result<PathBuf> {
    let out = args.built.clone().unwrap_or_else(|| app.built_folder());
    let program = out.join("bin").join(format!("{}-{NAME}", app.name));
    if args.built.is_none() {
        build::built(app, &out, &[NAME.to_owned()], interrupt)?;
    }
    if !program.is_file() {
        bail!(
            "there is no {}; `{} --only {NAME} --out {}` says what it takes",
            program.display(),
            args.source.command("build"),
            out.display()
        );
    }
    Ok(program)
}
