//! `taillight movies doctor`: the packages that the site lacks, before anything is built.

use std::process::ExitCode;

use anyhow::Result;
use app::Plan;
use clap::Args;

use super::Source;
use crate::terminal::say;

/// Print one apt-get line with all Debian packages that builds, data set and services lack. Exit code 1 if any is missing.
#[derive(Args, Debug)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    source: Source,
    /// A setting that changes what is started, such as cache=sphinx. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

pub(super) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let app = args.source.app()?;
    let mut plan = Plan::new(app, &lab::this_program()?);
    plan.set(&args.set)?;
    match missing(&plan) {
        None => {
            say(&format!("no package of {} is missing\n", plan.app().name))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(command) => {
            say(&format!("{command}\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The command that installs all missing packages; `None` if there are none.
pub(super) fn missing(plan: &Plan) -> Option<String> {
    let packages = plan.missing_packages();
    (!packages.is_empty()).then(|| format!("apt-get install {}", packages.join(" ")))
}
