//! `taillight serve nginx`: the web server that the laboratory measures, over a set of files.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::{Files, FilesPlace, ServerOptions, TargetName, allowed_cpus};
use units::CpuList;

use super::around::{self, Around};

/// NGINX, what it serves, and what stands around it.
#[derive(Args, Debug)]
pub(super) struct NginxArgs {
    /// Folder to serve, such as one of `taillight fileset make`.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "files_seed", "files_in"])]
    file_set: Option<PathBuf>,
    /// Files to make, serve, and remove at the end [default: 100000x4KiB].
    #[arg(long, value_name = "FILES")]
    files: Option<String>,
    /// Seed of these files.
    #[arg(long, default_value_t = 1, value_name = "N")]
    files_seed: u64,
    /// Where they are made: memory (tmpfs), disk, or the path of a folder.
    #[arg(long, default_value_t = FilesPlace::Memory, value_name = "PLACE")]
    files_in: FilesPlace,
    /// Worker processes, of all instances together.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Connections at once, to each worker.
    #[arg(short, long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Processors to run on [default: all that this process may use].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// A setting: open_file_cache=off or =1000, gzip=6, access_log=on, reuseport=on, sendfile=off. May be given more than
    /// once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    around: Around,
}

pub(super) fn run(args: &NginxArgs) -> Result<ExitCode> {
    let mut words = Vec::new();
    let mut say = |option: &str, value: String| words.extend([option.to_owned(), value]);
    if let Some(folder) = &args.file_set {
        say("--file-set", folder.display().to_string());
    }
    if let Some(files) = &args.files {
        say("--files", files.clone());
    }
    say("--files-seed", args.files_seed.to_string());
    let options = ServerOptions {
        threads: usize::from(args.threads),
        connections: args.connections as usize,
        cpus: args.cpus.as_ref().map_or_else(allowed_cpus, |cpus| cpus.as_slice().to_vec()),
        extra: args.set.clone(),
        files: Some(Files::asked_for(&mut words, &args.files_in)?),
        ..args.around.options()?
    };
    around::run(&TargetName::Nginx, &options, &args.around)
}
