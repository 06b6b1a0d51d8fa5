//! `taillight data-set social`: the users of a social network, as tables or in the store of its site.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use datasets::people::{Degrees, People, Table, community_size, hash, mean_degree};
use lab::{Seed, Server, ServerOptions, TargetName};
use launch::Interrupt;
use spec::workload::Users;
use units::Bytes;

use crate::shown::{Interruptible, make_data, or_interrupted};
use crate::terminal::say;

/// The cost of the hash of each password in tables that are written. Source: the default of apps/social, which is PHP's.
const COST: u32 = 10;

#[derive(Args, Debug)]
#[group(id = "where", required = true, multiple = true, args = ["out", "load"])]
pub(super) struct SocialArgs {
    /// How many users: 1k, 10k, 100k.
    #[arg(long, default_value_t = Users::default(), value_name = "N")]
    users: Users,
    /// The seed of their friendships and texts.
    #[arg(long, default_value_t = 1, value_name = "N")]
    users_seed: u64,
    /// Write the tables to a new folder, as text with a tab between fields, as LOAD DATA of MariaDB reads it.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Fill the store of the site, unless it is there; keep it for all runs, and say how long a reset takes.
    #[arg(long)]
    load: bool,
    /// The site, an application of apps/ or the path of a folder with an app.toml.
    #[arg(long, default_value = "social", value_name = "TARGET", value_parser = lab::target_name)]
    target: TargetName,
    /// A setting of the site that its data depend on, such as hash_cost=4. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE", requires = "load")]
    set: Vec<String>,
}

pub(super) fn run(args: &SocialArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let people = People::new(args.users.0, args.users_seed)?;
    say(&described(&people))?;
    if let Some(folder) = &args.out {
        write(&people, folder, &interrupt)?;
    }
    if args.load { load(args) } else { Ok(()) }
}

/// Numbers and degrees.
fn described(people: &People) -> String {
    let chats = people.chats();
    let Degrees { mean, min, median, p90, p99, max, within } = people.degrees();
    format!(
        "{} users of seed {}: {} friendships, {} posts, {} chats, {} messages\n\
         friends of a user: mean {mean:.1} (LDBC's for so many: {:.1}), least {min}, median {median}, 90 % at most {p90}, \
         99 % at most {p99}, most {max}\n\
         {:.0} % of friendships are within communities of {} users\n",
        people.users(),
        people.seed(),
        people.friendships(),
        people.post_count(),
        chats.len(),
        chats.message_count(),
        mean_degree(people.users()),
        100.0 * within,
        community_size(people.users()),
    )
}

/// Writes the tables to `folder`, which is there once all of them are.
fn write(people: &People, folder: &Path, interrupt: &Interrupt) -> Result<()> {
    if folder.exists() {
        bail!("--out {}: it exists; name a new folder", folder.display());
    }
    let mut name = folder.as_os_str().to_owned();
    name.push(".partial");
    let partial = PathBuf::from(name);
    let written = (|| {
        fs::create_dir(&partial)?;
        for table in Table::ALL {
            let file = File::create(partial.join(format!("{}.tsv", table.name())))?;
            let mut out = BufWriter::with_capacity(1 << 20, Interruptible { file, interrupt });
            table.write(people, hash(COST).expect("it is one of those that there are"), &mut out)?;
            out.flush()?;
        }
        fs::rename(&partial, folder)
    })();
    if written.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    let written = written.with_context(|| format!("cannot write the tables to {}", folder.display()));
    or_interrupted(written, interrupt)?;
    let mut text = String::new();
    for table in Table::ALL {
        let path = folder.join(format!("{}.tsv", table.name()));
        text += &format!("{}: {}\n", path.display(), table.columns().join(", "));
    }
    say(&text)
}

/// Makes the data of the site's stores, and restores them once.
fn load(args: &SocialArgs) -> Result<()> {
    let Some(app) = lab::application(&args.target)? else {
        bail!("{} already runs; name an application whose store is to be filled, such as social", args.target)
    };
    let services = app.stores.iter().filter(|store| store.seed.is_some());
    let services: Vec<String> = services.map(|store| store.service.clone()).collect();
    if services.is_empty() {
        bail!(
            "{} has no store that begins with users; name another by --target, such as social",
            args.target
        );
    }
    let options = ServerOptions {
        target: spec::Target { set: args.set.clone(), ..spec::Target::default() },
        people: Some(app::PeopleSet { users: args.users.0, seed: args.users_seed }),
        only: services,
        ..ServerOptions::new(&lab::this_program()?)
    };
    let seeds = make_data(&args.target, &options)?;
    for seed in &seeds {
        say(&kept(seed))?;
    }
    let begun = Instant::now();
    let mut server = Server::start(&args.target, &options)?;
    let first = begun.elapsed().as_secs_f64();
    let restart = server.restart()?;
    server.stop();
    say(&format!(
        "reset: {:.2} s (stop {:.2} s, copy, start and check {:.2} s); first start {first:.2} s\n",
        restart.whole().as_secs_f64(),
        restart.stop.as_secs_f64(),
        restart.start.as_secs_f64()
    ))
}

fn kept(seed: &Seed) -> String {
    let rows: u64 = seed.record.rows.values().sum();
    let mut text = format!(
        "{rows} rows, {}, made in {:.1} s, kept in {}\n",
        Bytes(seed.record.bytes),
        seed.record.made_s,
        seed.folder.display()
    );
    for line in &seed.record.check {
        text += &format!("  {}\n", line.replace('\t', " "));
    }
    text
}
