//! `taillight movies analytics`: learns the users' preferences from their reviews and rentals on the running site.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use app::{App, Member};
use clap::Args;
use launch::{Interrupt, Interrupted, Process, Spec};
use units::clock;

use super::shown::Shown;
use super::state::{Phase, State, StateFile};
use super::{Source, build};
use crate::terminal::say;

/// The member of the application, and the build that makes it.
const NAME: &str = "analytics";
/// The folder of the data set that models lie in, and what their names end with.
const FILES: &str = "files";
const ENDINGS: [&str; 2] = ["factors", "ads"];
/// The version of the models that a data set has.
const FIRST: u32 = 1;
/// The interval between two reads of its output.
const LOOK: Duration = Duration::from_millis(100);

/// Learn the users' preferences with Spark from the reviews and rentals of the site that `up` has started; from then on
/// the site recommends films and selects advertisements by them.
#[derive(Args, Debug)]
pub(super) struct AnalyticsArgs {
    #[command(flatten)]
    source: Source,
    /// A folder of programs that were built before, with that of analytics, in place of building it.
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
}

pub(super) fn run(args: &AnalyticsArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::on_signals()?;
    let app = args.source.app()?;
    let Some(member) = app.members.iter().find(|member| member.name == NAME) else {
        bail!("{} has no {NAME}", app.name)
    };
    let kept = StateFile::of(&app);
    let state = kept.read()?.filter(|state| kept.runs() && state.phase == Phase::Ready);
    let Some(state) = state else {
        bail!("{} does not run, or is not ready; start it by `taillight movies up`", app.name)
    };
    let files =
        state.data.clone().context("the process of `up` does not say where its data set is")?.join(FILES);
    let program = program(&app, args, &interrupt)?;
    let folder = tempfile::tempdir().context("cannot make a folder for its configuration")?;
    let file = folder.path().join("service.conf");
    fs::write(&file, configuration(&app, member, &state, &files)?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    let begun = Instant::now();
    let version = learnt(&program, &file, &interrupt)?;
    let names = ENDINGS.map(|ending| format!("{version:08}.{ending}")).join(" and ");
    say(&format!(
        "wrote {names} to {}, in {}; the site uses them within 5 s\n",
        files.display(),
        clock(begun.elapsed())
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The program; it is built if missing.
fn program(app: &App, args: &AnalyticsArgs, interrupt: &Interrupt) -> Result<PathBuf> {
    let out = args.built.clone().unwrap_or_else(|| app.built_folder());
    let program = out.join("bin").join(format!("{}-{NAME}", app.name));
    if args.built.is_none() {
        build::built(app, &out, &[NAME.to_owned()], interrupt)?;
    }
    if !program.is_file() {
        bail!(
            "there is no {}; `taillight movies build --only {NAME} --out {}` says what it takes",
            program.display(),
            out.display()
        );
    }
    Ok(program)
}

/// The program's configuration, in the format of apps/movies/service.conf.j2. The program listens on no port.
fn configuration(app: &App, member: &Member, state: &State, files: &Path) -> Result<String> {
    let mut text = format!(
        "service={NAME}\nid={}\ninstance=0\nlisten=127.0.0.1:1\nthreads=1\nqueue=1\nspans=\nsecret=\ndata={}\n",
        member.number,
        files.display()
    );
    for store in app.stores.iter().filter(|store| member.stores.contains(&store.name)) {
        let name = &store.name;
        let rows = state.services.iter().filter(|row| row.name == store.service);
        let shards: Vec<String> =
            rows.map(|row| format!("postgresql://{name}@{}/{name}", row.address)).collect();
        if shards.is_empty() {
            bail!("{}: there is no {} on this machine, whose rows it reads", app.name, store.service);
        }
        writeln!(text, "store.{name}={}", shards.join(","))?;
    }
    Ok(text)
}

/// Runs it to its end; returns the version that it wrote.
fn learnt(program: &Path, file: &Path, interrupt: &Interrupt) -> Result<u32> {
    let mut process = Process::spawn(Spec::new(NAME, program).arg(file.display().to_string()))?;
    let mut shown = Shown::new("learning from reviews and rentals", interrupt);
    let mut version = None;
    loop {
        let line = process.next_line(LOOK);
        version = line.as_ref().and_then(|line| line.strip_prefix("wrote ")?.parse().ok()).or(version);
        let is_over = line.is_none() && process.wait(Duration::ZERO).is_ok();
        if is_over {
            break;
        }
        let said = process.stderr_tail().pop().unwrap_or_default();
        if !shown.show(&said)
            && let Some(cause) = interrupt.cause()
        {
            shown.clear();
            return Err(Interrupted(cause).into());
        }
    }
    shown.clear();
    process.wait_success(Duration::ZERO)?;
    version.context("it ended well, and does not say which version it wrote")
}

/// Removes the models learnt from the data set `data`, except the first version, which belongs to the data set.
///
/// Errors: a file cannot be removed.
pub(super) fn forget(data: &Path) -> Result<()> {
    let folder = data.join(FILES);
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let is_model = path.extension().is_some_and(|end| ENDINGS.iter().any(|one| end == *one));
        let version = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        if is_model && version.is_some_and(|version| version > FIRST) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::movies::state::Row;

    #[test]
    fn it_is_told_of_all_shards_of_its_stores() {
        let app = app::of_name("movies").unwrap();
        let member = app.members.iter().find(|member| member.name == NAME).unwrap();
        let row = |name: &str, port: u16| Row {
            name: name.into(),
            address: format!("127.0.0.1:{port}"),
            ..Row::default()
        };
        let mut state = State {
            services: vec![row("movies-db", 1), row("reviews-db", 2), row("plot", 3)],
            ..State::default()
        };
        let error = configuration(&app, member, &state, Path::new("/d")).unwrap_err().to_string();
        assert!(error.contains("there is no users-db"), "{error}");
        state.services.extend([row("users-db", 4), row("users-db", 5)]);
        let text = configuration(&app, member, &state, Path::new("/d")).unwrap();
        for line in [
            "id=31",
            "data=/d",
            "store.reviews=postgresql://reviews@127.0.0.1:2/reviews",
            "store.users=postgresql://users@127.0.0.1:4/users,postgresql://users@127.0.0.1:5/users",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn what_was_learnt_is_forgotten_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FILES);
        fs::create_dir(&folder).unwrap();
        let names = [
            "00000001.ads",
            "00000001.factors",
            "00000002.ads",
            "00000012.factors",
            "catalogue.tsv",
            "2.txt",
        ];
        names.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        forget(root.path()).unwrap();
        let mut left: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|one| one.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["00000001.ads", "00000001.factors", "2.txt", "catalogue.tsv"]);
        assert!(forget(Path::new("/no/such")).is_err());
    }
}
