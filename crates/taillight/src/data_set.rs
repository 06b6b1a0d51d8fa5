//! `taillight data-set`: makes, converts and checks data set files, and makes the users of a social network.

mod social;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use dist::{DataSet, Population, Scaling, twitter_like};

use crate::terminal::say;

/// Make, convert and check data set files, for --data-set; make the users of a social network.
#[derive(Args, Debug)]
pub(crate) struct DataSetArgs {
    #[command(subcommand)]
    what: DataSetCommand,
}

#[derive(Subcommand, Debug)]
enum DataSetCommand {
    /// Write the Twitter-like data set, made from published figures, to standard output.
    Twitter,
    /// Convert a file of CloudSuite's data caching (lines of a cumulative probability and a size) to standard output.
    FromCloudsuite {
        /// The file.
        file: PathBuf,
        /// Length of every key, which CloudSuite's file does not contain. Units: bytes.
        #[arg(long, default_value_t = 40, value_name = "BYTES", value_parser = clap::value_parser!(u8).range(1..=250))]
        key_size: u8,
    },
    /// Make the users of a social network: their friendships, posts and messages.
    Social(social::SocialArgs),
    /// Check a file and describe its contents.
    Check {
        /// The file, or twitter.
        file: String,
        /// Copies, as for --scale of taillight load.
        #[arg(long, default_value = "1x", value_name = "COPIES")]
        scale: Scaling,
    },
}

pub(crate) fn run(args: &DataSetArgs) -> Result<()> {
    match &args.what {
        DataSetCommand::Social(args) => social::run(args),
        DataSetCommand::Twitter => write(&twitter_like()),
        DataSetCommand::FromCloudsuite { file, key_size } => {
            let open = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
            let set = DataSet::from_cloudsuite(BufReader::new(open), *key_size)
                .with_context(|| file.display().to_string())?;
            write(&set)
        }
        DataSetCommand::Check { file, scale } => {
            let set = if file == "twitter" { twitter_like() } else { trial::read_data_set(file)? };
            check(&set, *scale)
        }
    }
}

fn write(set: &DataSet) -> Result<()> {
    let mut text = Vec::new();
    set.write(&mut text)?;
    say(&String::from_utf8(text)?).context("cannot write the data set")
}

fn check(set: &DataSet, scale: Scaling) -> Result<()> {
    let population = Population::new(set, scale)?;
    let total: f64 = set.lines().iter().map(|line| line.popularity).sum();
    let most = set.lines().iter().map(|line| line.popularity).fold(0.0, f64::max);
    let bytes: f64 = set.lines().iter().map(|l| f64::from(l.value_size) + f64::from(l.key_size)).sum();
    let copies = population.items() as f64 / set.lines().len() as f64;
    say(&format!(
        "{} lines, {} items at {scale}, {:.2} GB of keys and values; mean value {:.2} B; the first copy's most popular \
         line draws {:.3} % of that copy's requests\n",
        set.lines().len(),
        population.items(),
        bytes * copies / 1e9,
        set.mean_value_size(),
        100.0 * most / total
    ))
}
