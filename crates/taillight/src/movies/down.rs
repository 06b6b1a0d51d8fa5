//! `taillight movies down`: ends what `up` has started.

use std::process::ExitCode;

use anyhow::Result;
use app::StateFile;
use clap::Args;

use super::Source;
use crate::terminal::say;

/// Stop what `up` has started, in good order.
#[derive(Args, Debug)]
pub(super) struct DownArgs {
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(args: &DownArgs) -> Result<ExitCode> {
    let app = args.source.app()?;
    say(&match StateFile::of(&app).stop()? {
        None => format!(
            "{} does not run
",
            app.name
        ),
        Some(took) => format!(
            "{} was stopped, in {:.1} s
",
            app.name,
            took.as_secs_f64()
        ),
    })?;
    Ok(ExitCode::SUCCESS)
}
