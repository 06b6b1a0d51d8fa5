//! `taillight fileset`: the files that a web server serves, made, checked and removed.

mod check;
mod lock;
mod make;
mod remove;
mod room;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use workloads::web::FileSet;

/// Make, check and remove sets of files for a web server.
///
/// A set follows from a few words and a seed, so that a generator knows its files without a list. A marker in the
/// folder says which set it is; without it nothing is overwritten or removed.
#[derive(Args, Debug)]
pub(crate) struct FilesetArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Make a set. One that was interrupted is made anew; one that is there already is left as it is.
    Make {
        /// The folder; it is made where it is not there.
        folder: PathBuf,
        /// How many files, x, and how large: 100000x4KiB, 20000xweb (half under 1 KiB, 95 % under 64 KiB, none over
        /// 16 MiB), or any distribution of sizes that taillight explain cache names, such as 1000xuniform:1KiB..64KiB.
        #[arg(long, default_value = "100000x4KiB", value_name = "FILES")]
        files: String,
        /// Seed of sizes and contents; the same seed gives the same files.
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
        /// Threads that write [default: one for each processor].
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Option<u16>,
    },
    /// Check that all files of a set are there, that they hold what they should, and that there are no others.
    Check {
        /// The folder.
        folder: PathBuf,
    },
    /// Remove a set, whole or not. What does not belong to it stays.
    Remove {
        /// The folder; it goes as well, unless something else is in it.
        folder: PathBuf,
    },
}

pub(crate) fn run(args: &FilesetArgs) -> Result<ExitCode> {
    match &args.what {
        What::Make { folder, files, seed, threads } => {
            make::make(folder, &FileSet::read(files, *seed)?, work::threads(*threads))?;
        }
        What::Check { folder } => check::check(folder)?,
        What::Remove { folder } => remove::remove(folder)?,
    }
    Ok(ExitCode::SUCCESS)
}
