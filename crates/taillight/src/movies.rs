//! `taillight movies`: an application of many services, built from source, given data, started and stopped.

mod analytics;
pub(crate) mod build;
mod data;
mod doctor;
mod down;
mod fault;
mod status;
mod table;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use app::App;
use clap::{Args, Subcommand};

use crate::success;

const MOVIES: &str = "movies";

/// Build, start and stop the movie site: 33 services in eight languages, with their databases.
#[derive(Args, Debug)]
pub(crate) struct MoviesArgs {
    #[command(subcommand)]
    what: MoviesCommand,
}

#[derive(Subcommand, Debug)]
enum MoviesCommand {
    Doctor(doctor::DoctorArgs),
    Build(build::BuildArgs),
    Data(data::DataArgs),
    Up(Box<up::UpArgs>),
    Status(status::StatusArgs),
    Analytics(analytics::AnalyticsArgs),
    /// Kill a service by SIGKILL; `up` starts it again.
    Kill(fault::ServiceArgs),
    /// Stop a service by SIGSTOP, so that it no longer answers.
    Freeze(fault::ServiceArgs),
    /// Let a frozen service continue.
    Thaw(fault::ServiceArgs),
    /// End a service in good order, and wait until `up` has started it again.
    Restart(fault::ServiceArgs),
    Down(down::DownArgs),
}

/// Where the application comes from.
#[derive(Args, Clone, Debug, Default)]
struct Source {
    /// The site as services in eight languages (movies), as services in Java (movies-java), or as one program
    /// (movies-monolith) [default: movies].
    #[arg(long, value_name = "NAME", conflicts_with = "source")]
    target: Option<String>,
    /// The folder of its description and sources, such as apps/movies of a checkout [default: the compiled-in copy].
    #[arg(long, value_name = "FOLDER")]
    source: Option<PathBuf>,
}

impl Source {
    fn app(&self) -> Result<Arc<App>> {
        let name = self.target.as_deref().unwrap_or(MOVIES);
        let app = match &self.source {
            Some(folder) => app::of_folder(folder)?,
            None => app::of_name(name)?,
        };
        if self.target.is_some() && app.made_as() != MOVIES {
            let all: Vec<&str> = app::names().filter(|name| name.starts_with(MOVIES)).collect();
            bail!("--target {name}: it is not the movie site; there are {}", all.join(", "));
        }
        Ok(Arc::new(app))
    }

    /// A subcommand for the same application, as a user types it.
    fn command(&self, subcommand: &str) -> String {
        let which = match (&self.target, &self.source) {
            (Some(name), _) => format!(" --target {name}"),
            (None, Some(folder)) => format!(" --source {}", folder.display()),
            (None, None) => String::new(),
        };
        format!("taillight movies {subcommand}{which}")
    }
}

/// Builds and starts the site `name`, which may be the path of a folder, as `taillight movies up` does.
pub(crate) fn start(name: &str, port: Option<u16>, set: &[String]) -> Result<()> {
    let name = name.to_owned();
    let source = if name.contains('/') {
        Source { target: None, source: Some(name.into()) }
    } else {
        Source { target: Some(name), source: None }
    };
    up::run(&up::UpArgs::of(source, port, set.to_vec()))
}

pub(crate) fn run(args: &MoviesArgs) -> Result<ExitCode> {
    match &args.what {
        MoviesCommand::Doctor(args) => doctor::run(args),
        MoviesCommand::Build(args) => build::run(args),
        MoviesCommand::Data(args) => data::run(args).map(success),
        MoviesCommand::Up(args) => up::run(args).map(success),
        MoviesCommand::Status(args) => status::run(args),
        MoviesCommand::Analytics(args) => analytics::run(args).map(success),
        MoviesCommand::Kill(args) => fault::run(args, fault::KILL).map(success),
        MoviesCommand::Freeze(args) => fault::run(args, fault::FREEZE).map(success),
        MoviesCommand::Thaw(args) => fault::run(args, fault::THAW).map(success),
        MoviesCommand::Restart(args) => fault::run(args, fault::RESTART).map(success),
        MoviesCommand::Down(args) => down::run(args).map(success),
    }
}
