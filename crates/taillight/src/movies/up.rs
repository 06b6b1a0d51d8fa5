//! `taillight movies up`: builds missing programs, makes the data, starts all services and watches them.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, IsTerminal, Stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use app::{App, Plan, State, StateFile};
use clap::Args;
use lab::allowed_cpus;
use launch::{Interrupt, Interrupted};
use report::view::{Screen, restore_on_panic};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use units::clock;

use super::{Source, build, data, doctor, table};
use crate::INTERRUPTED;
use crate::shown::Shown;
use crate::terminal::{USUAL_WIDTH, say, size, tell};
use crate::up::for_people;

/// Start all services, in the order in which they call each other, and watch them until Ctrl-C.
#[derive(Args, Clone, Debug)]
pub(super) struct UpArgs {
    #[command(flatten)]
    source: Source,
    /// Start the databases with the original data set; later writes are lost. Without it they start with their data at
    /// the end of the last run, which must fit the settings.
    #[arg(long)]
    fresh: bool,
    /// The port of the site on loopback [default: a free one].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Go on in the background, once all services are ready: `taillight movies status`, `taillight movies down`.
    #[arg(long)]
    detach: bool,
    /// A setting: NAME=VALUE, or SERVICE.NAME=VALUE, such as cache=sphinx, plot.instances=2, plot.form=lxc. May be given more than
    /// once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A folder of programs that were built before, in place of building them; it holds bin. May be given more than once.
    #[arg(long, value_name = "FOLDER")]
    built: Vec<PathBuf>,
    /// The folder of a data set that was made before, in place of making one.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The folder that services write the times of traced requests to [default: they write none].
    #[arg(long, value_name = "FOLDER")]
    spans: Option<PathBuf>,
}

impl UpArgs {
    /// With these options and no others.
    pub(super) fn of(source: Source, port: Option<u16>, set: Vec<String>) -> UpArgs {
        UpArgs { source, fresh: false, port, detach: false, set, built: Vec::new(), data: None, spans: None }
    }
}

pub(super) fn run(args: &UpArgs) -> Result<()> {
    let app = args.source.app()?;
    let kept = StateFile::of(&app);
    if args.detach {
        return detached(&args.source, &app, &kept);
    }
    let interrupt = Interrupt::on_signals()?;
    end_at_the_second_signal()?;
    let Some(_lock) = kept.lock()? else { return Err(runs_already(&args.source, &app)) };
    let mut state = State::begun(&app);
    kept.write(&state)?;
    let outcome = planned(args, &app, &kept, &interrupt)
        .and_then(|plan| watched(&args.source, plan, &kept, &mut state, &interrupt));
    let failure = outcome.as_ref().err().filter(|error| !error.is::<Interrupted>());
    state.end(failure.map(|error| format!("{error:#}")).as_deref());
    // The user has seen the output; a failure to store the state has no further effect.
    let _ = kept.write(&state);
    outcome
}

fn runs_already(source: &Source, app: &App) -> anyhow::Error {
    let (name, status, down) = (&app.name, source.command("status"), source.command("down"));
    anyhow!("{name} runs already; look by `{status}`, or stop it by `{down}`")
}

/// Prints the link and the login of the site at `address`, where its data are, and how long they last.
fn say_link(source: &Source, app: &App, kept: &StateFile, address: &str) -> Result<()> {
    let folder = kept.folder().join("databases");
    let lasts = format!("changes stay in {} until `{} --fresh`", folder.display(), source.command("up"));
    for_people(app, address, &lasts).map_or(Ok(()), |link| say(&format!("{link}\n")))
}

/// Starts this program once more in the background, and returns once the application is ready.
fn detached(source: &Source, app: &App, kept: &StateFile) -> Result<()> {
    if kept.runs() {
        return Err(runs_already(source, app));
    }
    let args = std::env::args().skip(1).filter(|arg| arg != "--detach");
    let state = app::start_in_background(kept, &lab::this_program()?, args)?;
    say(&format!(
        "{} is ready at {}, by process {}; stop it by `{}`\n",
        app.name,
        state.address,
        state.pid,
        source.command("down")
    ))?;
    say_link(source, app, kept, &state.address)
}

/// Starts `plan` and watches it until it is interrupted.
fn watched(
    source: &Source,
    plan: Plan,
    kept: &StateFile,
    state: &mut State,
    interrupt: &Interrupt,
) -> Result<()> {
    let begun = Instant::now();
    let mut shown = Shown::new(format!("starting {} processes", plan.processes()), interrupt);
    let running = app::start(plan, kept, state, &mut |line| shown.show(line));
    let mut running = shown.outcome(running)?;
    say(&format!(
        "{} is ready at {}, after {:.1} s\n",
        running.plan().app().name,
        state.address,
        begun.elapsed().as_secs_f64()
    ))?;
    say_link(source, running.plan().app(), kept, &state.address)?;
    let mut screen = io::stdout().is_terminal().then(|| Screen::new(io::stdout()));
    if let Some(screen) = &screen {
        restore_on_panic(screen, io::stdout);
    }
    let outcome = app::watch(&mut running, kept, state, interrupt, &mut |state, age| {
        if let Some(screen) = &mut screen {
            show(screen, &source.command("status"), state, age);
        }
    });
    drop(screen);
    running.stop();
    Ok(outcome?)
}

fn show(screen: &mut Screen<Stdout>, status: &str, state: &State, age: Duration) {
    let (columns, rows) = size(io::stdout()).unwrap_or((USUAL_WIDTH, 24));
    let head = format!("{} · {} · {} · Ctrl-C stops all", state.address, clock(age), table::memory(state));
    screen.show(table::picture(&head, status, state, columns, rows));
}

/// A second Ctrl-C ends this process at once, and with it all that it started.
fn end_at_the_second_signal() -> Result<()> {
    let first = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), Arc::clone(&first))?;
    flag::register(SIGINT, first)?;
    Ok(())
}

/// The folder of an option as an absolute path.
fn absolute(option: &str, folder: &Path) -> Result<PathBuf> {
    fs::canonicalize(folder)
        .with_context(|| format!("{option} {}: there is no such folder", folder.display()))
}

/// A folder that services of any account may write files to, as an absolute path.
fn open_to_all(folder: &Path) -> Result<PathBuf> {
    let mode = Permissions::from_mode(0o1777);
    fs::create_dir_all(folder)
        .and_then(|()| fs::set_permissions(folder, mode))
        .and_then(|()| fs::canonicalize(folder))
        .with_context(|| format!("--spans {}: it cannot be made", folder.display()))
}

/// The plan of services to start; their programs and data are made first.
fn planned(args: &UpArgs, app: &Arc<App>, kept: &StateFile, interrupt: &Interrupt) -> Result<Plan> {
    let mut plan = Plan::new(Arc::clone(app), &lab::this_program()?);
    for service in &app.services {
        if let Some(placement) = plan.placement_mut(&service.name) {
            placement.cpus = allowed_cpus();
        }
    }
    plan.set(&args.set)?;
    if let (Some(port), Some(front)) = (args.port, app.front()) {
        plan.set(&[format!("{}.port={port}", front.name)])?;
    }
    // Services run in folders of their own.
    plan.data = args.data.as_deref().map(|folder| absolute("--data", folder)).transpose()?;
    plan.spans = args.spans.as_deref().map(open_to_all).transpose()?;
    let state = kept.folder().join("databases");
    if args.fresh && state.exists() {
        fs::remove_dir_all(&state).with_context(|| format!("cannot remove {}", state.display()))?;
    }
    plan.kept = Some(state);
    plan.check_kept()?;
    if args.built.is_empty() {
        if let Some(command) = doctor::missing(&plan) {
            tell(&format!("packages are missing, all of which `{command}` installs"));
        }
        build::built(app, &app.built_folder(), &[], interrupt)?;
    } else {
        plan.built = args.built.iter().map(|folder| absolute("--built", folder)).collect::<Result<_>>()?;
    }
    let missing = app.not_built(&plan.built);
    let names: BTreeSet<&str> =
        missing.values().flatten().copied().filter(|name| plan.starts(name)).collect();
    if !names.is_empty() {
        let builds: Vec<&str> = missing.keys().copied().filter(|build| !build.is_empty()).collect();
        bail!(
            "the programs of {} are not built ({}); `{}` says what it takes",
            names.into_iter().collect::<Vec<_>>().join(", "),
            builds.join(", "),
            args.source.command("build")
        );
    }
    let data = data::made(&plan, interrupt)?;
    if let (true, Some(data)) = (args.fresh, data) {
        app::forget_learnt(&data)?;
    }
    Ok(plan)
}
