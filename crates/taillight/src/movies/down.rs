//! `taillight movies down`: ends what `up` has started.

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

pub(super) fn run(args: &DownArgs) -> Result<()> {
    let app = args.source.app()?;
    match StateFile::of(&app).stop()? {
        None => say(&format!("{} does not run\n", app.name)),
        Some(took) => say(&format!("{} was stopped, in {:.1} s\n", app.name, took.as_secs_f64())),
    }
}
