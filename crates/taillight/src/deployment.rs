//! `taillight app`: an application as pods, as a chart and as container images.

mod chart;
mod images;
mod pods;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use app::{Deployment, Layout, PeopleSet, Plan, Rendered, Videos};
use clap::{Args, Subcommand};
use spec::workload::{Users, VideoSet};

/// Run an application in containers: a pod for podman, a chart for Kubernetes, and their images, from its description.
#[derive(Args, Debug)]
pub(crate) struct DeploymentArgs {
    #[command(subcommand)]
    what: DeploymentCommand,
}

#[derive(Subcommand, Debug)]
enum DeploymentCommand {
    Pods(pods::PodsArgs),
    Chart(chart::ChartArgs),
    Images(images::ImagesArgs),
}

/// The application, its settings and its data.
#[derive(Args, Clone, Debug)]
struct Which {
    /// The application: the name of one that comes with this program, or the path of a folder with an app.toml.
    #[arg(value_name = "NAME")]
    name: String,
    /// A setting: NAME=VALUE, or SERVICE.NAME=VALUE, such as cache=sphinx, plot.instances=2, plot.memory=32MiB. May be given more
    /// than once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The users of a social network, whose data are in its store at the start: 1k.
    #[arg(long, default_value_t = Users::default(), value_name = "N")]
    users: Users,
    /// The seed of their friendships and texts.
    #[arg(long, default_value_t = 1, value_name = "N")]
    users_seed: u64,
    /// The videos that a server computes: 1000x1/160.
    #[arg(long, default_value_t = VideoSet::default(), value_name = "VIDEOS")]
    videos: VideoSet,
    /// The seed of their lengths and contents.
    #[arg(long, default_value_t = 1, value_name = "N")]
    videos_seed: u64,
}

impl Which {
    fn plan(&self) -> Result<Plan> {
        let folder = self.name.contains('/').then(|| Path::new(&self.name));
        let app = folder.map_or_else(|| app::of_name(&self.name), app::of_folder)?;
        let mut plan = Plan::new(Arc::new(app), &lab::this_program()?);
        plan.set(&self.set)?;
        if plan.app().needs(app::Need::People) {
            plan.people = Some(PeopleSet { users: self.users.0, seed: self.users_seed });
        }
        if plan.app().needs(app::Need::Videos) {
            plan.videos = Some(Videos { set: self.videos.to_string(), seed: self.videos_seed });
        }
        Ok(plan)
    }

    fn deployment(&self, layout: Layout) -> Result<Deployment> {
        Ok(Deployment::new(self.plan()?, layout)?)
    }
}

pub(crate) fn run(args: &DeploymentArgs) -> Result<()> {
    match &args.what {
        DeploymentCommand::Pods(args) => pods::run(args),
        DeploymentCommand::Chart(args) => chart::run(args),
        DeploymentCommand::Images(args) => images::run(args),
    }
}

/// Writes files below `folder`; only their owner may read those that are `private`.
fn write(folder: &Path, files: &Rendered, private: bool) -> Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        let written = fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| {
            let mode = if private { 0o600 } else { 0o644 };
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&path)?;
            file.write_all(text.as_bytes())
        });
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The output folder: `named`, or the `usual` one in the current folder.
fn out(named: Option<&PathBuf>, usual: &str) -> Result<PathBuf> {
    let folder = named.map_or_else(|| PathBuf::from(usual), Clone::clone);
    if folder.is_file() {
        bail!("--out {}: it is a file; name a folder", folder.display());
    }
    Ok(folder)
}
