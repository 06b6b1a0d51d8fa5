//! The steps that fill a store with the data of its users.

use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use launch::{Process, Spec};
use people::{People, Table};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::context::Seat;
use crate::description::{Command, Seeded};
use crate::elsewhere::Address;
use crate::seed::{Making, Tell};
use crate::{Error, Running};

/// How long one step may take. The largest table of a million users has 230 million rows, which take an hour.
const STEP: Duration = Duration::from_secs(4 * 3600);
/// How often it is looked meanwhile whether it is to go on.
const LOOK: Duration = Duration::from_millis(100);
/// What fits into a pipe that says that it has room. Source: `pipe(7)`, `PIPE_BUF`.
const PIPE: usize = 4096;

/// What a step that reads tables is told of one.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct TableFields {
    name: &'static str,
    columns: &'static [&'static str],
}

/// The users whose data are written.
pub(crate) struct Filling<'a> {
    people: &'a People,
    hash: &'static str,
}

impl<'a> Filling<'a> {
    pub(crate) fn new(people: &'a People, hash: &'static str) -> Filling<'a> {
        Filling { people, hash }
    }

    /// Rows of all tables.
    pub(crate) fn rows(&self) -> u64 {
        Table::ALL.iter().map(|table| table.rows(self.people)).sum()
    }
}

/// Fills the only store of what runs; returns what its check prints then.
pub(crate) fn fill(
    running: &Running,
    seeded: &Seeded,
    filling: &Filling<'_>,
    tell: Tell<'_>,
) -> Result<Vec<String>, Error> {
    let (seat, addresses) = running.first_seat().expect("its service runs");
    let (mut rows, of) = (0, filling.rows());
    for step in &seeded.steps {
        let tables: Vec<Option<Table>> = if step.tables { Table::ALL.map(Some).to_vec() } else { vec![None] };
        for table in tables {
            let mut spec = program(running, &seat, addresses, &step.command(), table)?;
            spec.input = table.is_some() || step.input.is_some();
            let name = spec.name.clone();
            let mut process = Process::spawn(spec)?;
            let before = rows;
            let written = match (process.take_input(), table, &step.input) {
                (Some(input), Some(table), _) => {
                    let told = |so_far: u64| {
                        rows = before + so_far;
                        tell(&Making::Filled { table: table.name(), rows, of })
                    };
                    let mut out = BufWriter::with_capacity(1 << 16, Counted { input, rows: 0, told });
                    table.write(filling.people, filling.hash, &mut out).and_then(|()| out.flush())
                }
                (Some(mut input), None, Some(file)) => {
                    running.plan.app().read_file(file).and_then(|bytes| input.write_all(&bytes))
                }
                _ => Ok(()),
            };
            let stopped = written.as_ref().is_err_and(is_stop);
            if stopped {
                return Err(Error::Stopped);
            }
            let table = table.map_or("", Table::name);
            // What the program says is more than that it closed its input.
            wait(&mut process, &mut || tell(&Making::Filled { table, rows, of }))?;
            written.map_err(|source| launch::Error::Os {
                name,
                doing: "cannot write to its input",
                source,
            })?;
        }
    }
    checked(running, &seat, addresses, seeded)
}

/// What the check of a store prints.
pub(crate) fn checked(
    running: &Running,
    seat: &Seat<'_>,
    addresses: &[Address],
    seeded: &Seeded,
) -> Result<Vec<String>, Error> {
    let Some(command) = &seeded.check else { return Ok(Vec::new()) };
    let mut process = Process::spawn(program(running, seat, addresses, command, None)?)?;
    process.wait_success(STEP)?;
    Ok(std::iter::from_fn(|| process.next_line(LOOK)).collect())
}

fn program(
    running: &Running,
    seat: &Seat<'_>,
    addresses: &[Address],
    command: &Command,
    table: Option<Table>,
) -> Result<Spec, Error> {
    let mut context = running.context(seat, addresses)?;
    context.table = table.map(|table| TableFields { name: table.name(), columns: table.columns() });
    running.command(seat, command, &context)
}

/// Waits for a step to end, as long as `goes_on`.
fn wait(process: &mut Process, goes_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        match process.wait_success(LOOK) {
            Err(launch::Error::StillRunning { .. }) if begun.elapsed() < STEP => {}
            other => return Ok(other?),
        }
        if !goes_on() {
            return Err(Error::Stopped);
        }
    }
}

/// The input of a program that is written in lines, which are counted. A program that reads no more does not keep it from
/// looking whether it is to go on.
struct Counted<W, F> {
    input: W,
    rows: u64,
    told: F,
}

impl<W: Write + std::os::fd::AsFd, F: FnMut(u64) -> bool> Write for Counted<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let limit = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        loop {
            let ready = poll(&mut [PollFd::new(&self.input, PollFlags::OUT)], Some(&limit))?;
            if !(self.told)(self.rows) {
                return Err(io::Error::other(Stop));
            }
            if ready > 0 {
                break;
            }
        }
        let written = self.input.write(&bytes[..bytes.len().min(PIPE)])?;
        self.rows += bytes[..written].iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        (self.told)(self.rows);
        self.input.flush()
    }
}

/// That it is not to go on.
#[derive(Debug, thiserror::Error)]
#[error("it was stopped")]
struct Stop;

fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stop>())
}
