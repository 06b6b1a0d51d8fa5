//! Services that start and run, as `up` watches them.

use std::fs;
use std::io::{self, IsTerminal, Stdout};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, anyhow};
use app::{App, EndedPart, Making, Plan, Running, Starting};
use launch::{Interrupt, Interrupted};
use rustix::termios::tcgetwinsize;
use units::clock;

use crate::movies::shown::Shown;
use crate::movies::state::{Phase, Row, State, StateFile};
use crate::movies::table;
use crate::terminal::say;
use report::view::{Screen, restore_on_panic};

/// How often it is looked whether all run and whether they are still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// The interval between two updates of the table and the state: an update reads some 80 files of the kernel.
const EVERY: Duration = Duration::from_secs(2);

/// The state of one that begins now.
pub(super) fn begun(app: &App) -> State {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let row = |service: &app::Service| Row {
        number: service.number,
        name: service.name.clone(),
        language: service.language.clone(),
        instances: 1,
        ..Row::default()
    };
    State {
        pid: std::process::id(),
        begun_s: since.as_secs(),
        services: app.services.iter().map(row).collect(),
        ..State::default()
    }
}

/// Writes how it ended.
pub(super) fn ended(kept: &StateFile, state: &mut State, outcome: &Result<ExitCode>) {
    state.phase = Phase::Stopped;
    if let Err(error) = outcome
        && !error.is::<Interrupted>()
    {
        state.phase = Phase::Failed;
        state.said = format!("{error:#}").lines().map(str::to_owned).collect();
    }
    state.services.clear();
    // The user has seen the output; a failure to store the state has no further effect.
    let _ = kept.write(state);
}

/// Starts `plan` and watches it until it is interrupted.
///
/// Errors: a service did not become ready or ended, with its last lines; it was interrupted before all were ready.
pub(super) fn run(
    plan: Plan,
    kept: &StateFile,
    state: &mut State,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    state.services = rows(&plan);
    state.data = plan.data_folder();
    let begun = Instant::now();
    let mut running = started(plan, kept, state, interrupt)?;
    let front = running.plan().app().front().map(|service| service.name.clone()).unwrap_or_default();
    let address = state.services.iter().find(|row| row.name == front).map(|row| row.address.clone());
    state.address = format!("http://{}/", address.unwrap_or_default());
    state.phase = Phase::Ready;
    update(&running, state);
    kept.write(state)?;
    say(&format!(
        "{} is ready at {}, after {:.1} s\n",
        running.plan().app().name,
        state.address,
        begun.elapsed().as_secs_f64()
    ))?;
    let outcome = watch(&mut running, kept, state, interrupt);
    running.stop();
    outcome.map(|()| ExitCode::SUCCESS)
}

/// A row for each instance, in the order of their numbers.
fn rows(plan: &Plan) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for service in plan.app().services.iter().filter(|service| plan.starts(&service.name)) {
        let instances = plan.placement(&service.name).map_or(1, |placement| placement.instances.max(1));
        rows.extend((0..instances).map(|instance| Row {
            number: service.number,
            name: service.name.clone(),
            language: service.language.clone(),
            instance,
            instances,
            ..Row::default()
        }));
    }
    rows.sort_by_key(|row| (row.number.unwrap_or(u16::MAX), row.instance));
    rows
}

fn started(plan: Plan, kept: &StateFile, state: &mut State, interrupt: &Interrupt) -> Result<Running> {
    let of = state.services.len();
    let mut shown = Shown::new(format!("starting {of} processes"), interrupt);
    let (mut ready, mut written) = (0, Instant::now());
    let running = plan.start_telling(&mut |starting| {
        let line = match starting {
            Starting::Making(Making::Filled { table, rows, of }) => {
                format!("data of databases: {:.0} %, {table}", 100.0 * *rows as f64 / (*of).max(1) as f64)
            }
            Starting::Making(_) => "data of databases".to_owned(),
            Starting::Begun { service, instance: _ } => format!("{ready} ready · {service}"),
            Starting::Ready { service, instance, took, pid, addresses } => {
                ready += 1;
                let mut rows = state.services.iter_mut();
                if let Some(row) = rows.find(|row| row.name == *service && row.instance == *instance) {
                    row.pid = *pid;
                    row.ready_ms = Some(took.as_millis() as u64);
                    row.address = addresses.first().map(ToString::to_string).unwrap_or_default();
                }
                format!("{ready} ready · {service}")
            }
        };
        if written.elapsed() >= EVERY {
            let _ = kept.write(state);
            written = Instant::now();
        }
        shown.show(&line)
    });
    let running = shown.outcome(running)?;
    shown.clear();
    Ok(running)
}

fn watch(running: &mut Running, kept: &StateFile, state: &mut State, interrupt: &Interrupt) -> Result<()> {
    let mut screen = io::stdout().is_terminal().then(|| Screen::new(io::stdout()));
    if let Some(screen) = &screen {
        restore_on_panic(screen, io::stdout);
    }
    let (begun, mut last) = (Instant::now(), None::<Instant>);
    while interrupt.cause().is_none() {
        if let Some(gone) = running.gone() {
            drop(screen);
            return Err(said(gone));
        }
        if last.is_none_or(|last| last.elapsed() >= EVERY) {
            last = Some(Instant::now());
            update(running, state);
            kept.write(state)?;
            if let Some(screen) = &mut screen {
                show(screen, state, begun.elapsed());
            }
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn said(gone: EndedPart) -> anyhow::Error {
    match gone {
        EndedPart::Service { name, how, last } if last.is_empty() => {
            anyhow!("{name} ended without being told to ({how}), and had written nothing")
        }
        EndedPart::Service { name, how, last } => {
            anyhow!("{name} ended without being told to ({how}); its last lines:\n{}", last.join("\n"))
        }
        EndedPart::Elsewhere { name, why } => anyhow!("{name}: {why}"),
    }
}

fn show(screen: &mut Screen<Stdout>, state: &State, age: Duration) {
    let size = tcgetwinsize(io::stdout()).map_or((0, 0), |size| (size.ws_col, size.ws_row));
    let (columns, rows) = if size.0 == 0 || size.1 == 0 { (80, 24) } else { size };
    let head = format!("{} · {} · {} · Ctrl-C stops all", state.address, clock(age), table::memory(state));
    screen.show(table::picture(&head, state, columns, rows));
}

/// Reads the memory of all processes.
fn update(running: &Running, state: &mut State) {
    for service in running.services() {
        for (number, instance) in service.instances.iter().enumerate() {
            let pids = instance.pids();
            let mut rows = state.services.iter_mut();
            if let Some(row) = rows.find(|row| row.name == service.service.name && row.instance == number) {
                row.pid = instance.pid();
                row.processes = pids.len();
                row.memory_bytes = pids.into_iter().map(memory).sum();
            }
        }
    }
}

/// Memory of a process that it does not share. Source: `proc_pid_status(5)`, `RssAnon`.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_of_its_own() {
        assert!(memory(std::process::id()) > 100_000);
        assert_eq!(memory(u32::MAX), 0);
    }
}
