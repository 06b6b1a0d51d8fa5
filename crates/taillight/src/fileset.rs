//! `taillight fileset`: the files that a web server serves and videos, made, checked, evicted and removed.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use datasets::videos::Catalog;
use launch::Interrupt;
use spec::workload::VideoSet;
use workloads::sets::{self, Set, Videos, Work};
use workloads::web::FileSet;

use crate::percent::parse_percent;
use crate::shown::overwrite_on_terminal;
use crate::terminal::say;

/// Make, check, evict and remove sets of files for a web server, and of videos.
///
/// A set follows from a few words and a seed, so that a generator knows its files without a list. A marker in the
/// folder says which set it is; without it nothing is overwritten or removed.
#[derive(Args, Debug)]
pub(crate) struct FilesetArgs {
    #[command(subcommand)]
    what: FilesetCommand,
}

#[derive(Subcommand, Debug)]
enum FilesetCommand {
    /// Make a set. An existing set stays as it is; of an interrupted one, complete videos stay and other files are made
    /// again.
    Make {
        /// The folder; it is made if it does not exist.
        folder: PathBuf,
        /// How many files, x, and how large: 100000x4KiB, 20000xweb (half under 1 KiB, 95 % under 64 KiB, none over
        /// 16 MiB), or any distribution of sizes that taillight explain cache names, such as 1000xuniform:1KiB..64KiB.
        #[arg(long, default_value = "100000x4KiB", value_name = "FILES")]
        files: String,
        /// Videos in place of files: how many, x, and the share of their bytes that is made: 8000x1 (1.33 TB, as in
        /// ISPASS'16 §VI-B), 1000x1/8 (21 GB), 1000x1/160 (1 GB). Each is there in 240p, 360p and 480p, one in five in 720p,
        /// and takes 5 to 1000 s, 258 s on average.
        #[arg(long, value_name = "VIDEOS", conflicts_with = "files")]
        video: Option<VideoSet>,
        /// With --video: videos that a player shows, made by ffmpeg; at least 1/8 of their bytes.
        #[arg(long, requires = "video")]
        real: bool,
        /// Seed of sizes and contents; the same seed gives the same files.
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
        /// Threads that write [default: one for each processor].
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Option<u16>,
    },
    /// Check that all files of a set exist and have the right contents, and that there are no other files.
    Check {
        /// The folder.
        folder: PathBuf,
        /// Read about this share of the files' ranges of 1 MiB, drawn at random each time, and the first and last range
        /// of each file; of videos made with --real, read this share of the files [default: all]. Units: per cent.
        #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
        sample: Option<f64>,
    },
    /// Have the kernel drop a set from its memory, so that it is read from the disk again.
    Evict {
        /// The folder.
        folder: PathBuf,
    },
    /// Remove a set, complete or not. Files that do not belong to it stay.
    Remove {
        /// The folder; it is removed as well, unless it contains other files.
        folder: PathBuf,
    },
}

pub(crate) fn run(args: &FilesetArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let work = |threads| Work::new(threads, &interrupt, overwrite_on_terminal);
    let done = match &args.what {
        FilesetCommand::Make { folder, files, video, real, seed, threads } => {
            let set = match video {
                None => Set::Files(FileSet::read(files, *seed)?),
                Some(video) => Set::Videos(Videos { catalog: Catalog::new(video, *seed)?, is_real: *real }),
            };
            sets::make(folder, &set, &work(*threads))?
        }
        FilesetCommand::Check { folder, sample } => sets::check(folder, *sample, &work(None))?,
        FilesetCommand::Evict { folder } => sets::evict(folder, &work(None))?,
        FilesetCommand::Remove { folder } => sets::remove(folder, &work(None))?,
    };
    say(&done)
}
