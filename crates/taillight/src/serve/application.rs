//! `taillight serve NAME`: an application of `apps/`, or of a folder of the user's.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Command, FromArgMatches};
use lab::{Files, FilesPlace, ServerOptions, TargetName, allowed_cpus};
use spec::workload::{Users, VideoSet, Web};
use units::{Bytes, CpuList};

use super::around::{self, Around};

/// An application, its data and its environment.
#[derive(Args, Debug)]
pub(super) struct ApplicationArgs {
    /// Folder that a web server serves, such as one of `taillight fileset make`.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "files_seed", "files_in"])]
    file_set: Option<PathBuf>,
    /// Files that are made for a web server, and removed at the end [default: 100000x4KiB].
    #[arg(long, value_name = "FILES")]
    files: Option<spec::workload::Files>,
    /// Videos that are made for a video server, and removed at the end [default: 1000x1/160].
    #[arg(long, value_name = "VIDEOS", conflicts_with_all = ["files", "file_set"])]
    videos: Option<VideoSet>,
    /// Seed of these files.
    #[arg(long, default_value_t = 1, value_name = "N")]
    files_seed: u64,
    /// The place of these files: memory (tmpfs), disk, or the path of a folder.
    #[arg(long, default_value_t = FilesPlace::Memory, value_name = "PLACE")]
    files_in: FilesPlace,
    /// The users whose data the database of a social network begins with [default: 1k].
    #[arg(long, value_name = "N")]
    users: Option<Users>,
    /// Seed of these users.
    #[arg(long, default_value_t = 1, value_name = "N")]
    users_seed: u64,
    /// Threads or worker processes of each service, of all its instances together.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Memory for items of each service that keeps any, of all its instances together.
    #[arg(short, long, default_value = "64MiB", value_name = "SIZE")]
    memory: Bytes,
    /// Connections at once, to each worker.
    #[arg(short, long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Processors to run on [default: all that this process may use].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// A setting: NAME=VALUE, or SERVICE.NAME=VALUE. For an unknown one, the error lists all settings. May be given
    /// more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A further argument, such as --arg=-o --arg=no_lru_maintainer.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    arg: Vec<String>,
    #[command(flatten)]
    around: Around,
}

/// Serves what `words` name: an application or a folder, and its options.
pub(crate) fn other(words: &[String]) -> Result<()> {
    let name = words.first().map_or("", String::as_str);
    let target = lab::target_name(name).map_err(lab::Error::Target)?;
    if target.is_external() {
        bail!(
            "{name} already runs; name an application, such as lighttpd, or the path of a folder with an app.toml"
        );
    }
    let matches = command(name).try_get_matches_from(words);
    let args = matches.and_then(|matches| ApplicationArgs::from_arg_matches(&matches));
    run(&target, &args.unwrap_or_else(|error| error.exit()))
}

/// The command that serves the application `name`.
fn command(name: &str) -> Command {
    ApplicationArgs::augment_args(Command::new("application"))
        // Without it, the comment of the options would be the description.
        .about(format!("Serve {name}"))
        .bin_name(format!("taillight serve {name}"))
}

/// The files that `target` serves; `None` unless it serves files.
///
/// Errors: files of a kind that it does not serve.
fn files(target: &TargetName, args: &ApplicationArgs) -> Result<Option<Files>> {
    if !lab::needs_files(target) {
        return Ok(None);
    }
    let is_video = lab::workloads(target)?.first() == Some(&"video");
    match (is_video, &args.files, &args.videos, &args.file_set) {
        (true, Some(files), ..) => bail!("--files {files}: {target} serves videos; give --videos 1000x1/160"),
        (false, _, Some(videos), _) => {
            bail!("--videos {videos}: {target} serves other files; give --files 100000x4KiB")
        }
        (true, _, _, Some(folder)) => Ok(Some(Files::Folder(folder.clone()))),
        (true, _, videos, None) => {
            let videos = videos.unwrap_or_default();
            Ok(Some(Files::of_videos(videos, args.files_seed, &args.files_in)))
        }
        (false, ..) => {
            let mut asked = Web {
                file_set: args.file_set.clone(),
                files: args.files.clone(),
                files_seed: args.files_seed,
                ..Web::default()
            };
            Ok(Some(Files::asked_for(&mut asked, &args.files_in)?))
        }
    }
}

/// The users whose data `target` begins with.
///
/// Errors: it has none, and some were named.
fn people(target: &TargetName, args: &ApplicationArgs) -> Result<Option<app::PeopleSet>> {
    let has_users = lab::application(target)?.is_some_and(|app| app.needs(app::Need::People));
    match (has_users, args.users) {
        (false, Some(users)) => bail!("--users {users}: {target} has no users; leave it out"),
        (false, None) => Ok(None),
        (true, users) => {
            Ok(Some(app::PeopleSet { users: users.unwrap_or_default().0, seed: args.users_seed }))
        }
    }
}

pub(super) fn run(target: &TargetName, args: &ApplicationArgs) -> Result<()> {
    let mut options = ServerOptions {
        connections: args.connections as usize,
        cpus: args.cpus.as_ref().map_or_else(allowed_cpus, |cpus| cpus.as_slice().to_vec()),
        files: files(target, args)?,
        people: people(target, args)?,
        ..args.around.options()?
    };
    (options.target.threads, options.target.memory) = (args.threads.into(), args.memory);
    (options.target.set, options.target.args) = (args.set.clone(), args.arg.clone());
    around::run(target, &options, &args.around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_help_says_what_is_served() {
        let help = command("lighttpd").render_long_help().to_string();
        assert!(help.starts_with("Serve lighttpd\n\nUsage: taillight serve lighttpd"), "{help}");
    }
}
