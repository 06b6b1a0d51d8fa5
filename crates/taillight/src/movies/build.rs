//! `taillight movies build`: the programs of all services, by the toolchains that are there.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use app::{App, BuildOutcome};
use clap::Args;
use launch::Interrupt;
use units::clock;

use super::Source;
use crate::shown::Shown;
use crate::terminal::{say, tell};

/// Lines of a script that failed that are shown.
const LAST: usize = 20;

/// Build the programs of all services from source with the toolchains that are installed; missing ones are named.
#[derive(Args, Debug)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    source: Source,
    /// The folder for the programs, which are kept for the next time [default: taillight's cache].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Only these: native (C and C++), java (and Scala), go, node, php, python; analytics, which is built only if it is
    /// named. May be given more than once.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

pub(super) fn run(args: &BuildArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::on_signals()?;
    let app = args.source.app()?;
    let out = args.out.clone().unwrap_or_else(|| app.built_folder());
    if let Some(unknown) = args.only.iter().find(|name| app.builds.iter().all(|build| build.name != **name)) {
        let all: Vec<&str> = app.builds.iter().map(|build| build.name.as_str()).collect();
        bail!("--only {unknown}: there is no such build; there are {}", all.join(", "));
    }
    let whole = built(&app, &out, &args.only, &interrupt)?;
    let missing = app.not_built(std::slice::from_ref(&out));
    let names: Vec<&str> = missing.values().flatten().copied().collect();
    if names.is_empty() {
        say(&format!("all programs are in {}\n", out.join("bin").display()))?;
    } else {
        say(&format!("{} has no programs of {}\n", out.join("bin").display(), names.join(", ")))?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the programs whose sources have changed since their last build; returns whether all requested programs exist.
///
/// Errors: a script cannot be started, or it was interrupted.
pub(crate) fn built(app: &App, out: &Path, only: &[String], interrupt: &Interrupt) -> Result<bool> {
    let mut whole = true;
    for build in &app.builds {
        let is_wanted = if only.is_empty() { !build.apart } else { only.contains(&build.name) };
        if !is_wanted {
            continue;
        }
        let name = format!("building {} ({})", build.name, build.languages.join(", "));
        let mut shown = Shown::new(&name, interrupt);
        let outcome = app.build(build, out, &mut |line| shown.show(line));
        match shown.outcome(outcome)? {
            BuildOutcome::There => {}
            BuildOutcome::Made(took) => shown.end(&format!("{name}: done in {}", clock(took))),
            BuildOutcome::Missing(said) => {
                whole = false;
                shown.end(&format!("{name}: left out, as programs are missing"));
                said.iter().for_each(|line| tell(&format!("  {line}")));
            }
            BuildOutcome::Failed { last, log } => {
                whole = false;
                shown.end(&format!("{name}: failed; all that it printed is in {}", log.display()));
                last.iter().rev().take(LAST).rev().for_each(|line| tell(&format!("  {line}")));
            }
        }
    }
    Ok(whole)
}
