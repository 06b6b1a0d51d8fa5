//! The steps that fill a store with the data of its users.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use datasets::people::{People, Table};
use launch::Process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::context::Seat;
use crate::description::{Seeded, Step};
use crate::elsewhere::Address;
use crate::seed::{Making, Tell};
use crate::{Error, Running};

/// How long one step may take. The largest table of a million users has 230 million rows, which take an hour.
const STEP: Duration = Duration::from_secs(4 * 3600);
/// Interval at which a running step checks whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes that a pipe takes without blocking if it reports room. Source: `pipe(7)`, `PIPE_BUF`.
const PIPE: usize = 4096;

/// Description of a table for a step that reads tables.
#[derive(Clone, Serialize)]
pub(crate) struct TableFields {
    name: String,
    columns: &'static [&'static str],
}

/// The source of the rows: the users' data, if any.
pub(crate) struct Filling<'a> {
    people: Option<&'a People>,
    hash: &'static str,
}

impl<'a> Filling<'a> {
    pub(crate) fn new(people: Option<&'a People>, hash: &'static str) -> Filling<'a> {
        Filling { people, hash }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows_by_table().values().sum()
    }

    pub(crate) fn rows_by_table(&self) -> BTreeMap<String, u64> {
        let of = |people| Table::ALL.map(|table| (table.name().to_owned(), table.rows(people))).into();
        self.people.map(of).unwrap_or_default()
    }
}

/// Standard input of a program.
enum Input<'a> {
    Nothing,
    /// A file of the description.
    Beside(&'a str),
    Users(Table, &'a People),
    /// A file of the data set, and its name there.
    Data(String, PathBuf),
}

impl Input<'_> {
    /// The inputs of a step, which is run once for each.
    fn of<'a>(running: &Running, step: &'a Step, filling: &Filling<'a>) -> Result<Vec<Input<'a>>, Error> {
        Ok(match (&step.input, &step.data, filling.people) {
            (Some(file), ..) => vec![Input::Beside(file)],
            (None, Some(pattern), _) => {
                let files = running.plan.data_files(pattern)?;
                files.into_iter().map(|(name, path)| Input::Data(name, path)).collect()
            }
            (None, None, Some(people)) if step.tables => {
                Table::ALL.iter().map(|table| Input::Users(*table, people)).collect()
            }
            _ => vec![Input::Nothing],
        })
    }

    /// Its table; `None` if it is not a table.
    fn table(&self) -> Option<TableFields> {
        match self {
            Input::Users(table, _) => {
                Some(TableFields { name: table.name().to_owned(), columns: table.columns() })
            }
            Input::Data(name, _) => Some(TableFields { name: name.clone(), columns: &[] }),
            Input::Nothing | Input::Beside(_) => None,
        }
    }
}

/// Fills the only store of a running application; returns the output of its check.
pub(crate) fn fill(
    running: &Running,
    seeded: &Seeded,
    filling: &Filling<'_>,
    tell: Tell<'_>,
) -> Result<Vec<String>, Error> {
    let started = running.here().next().expect("its service runs");
    let (seat, addresses) = (running.seat(started, 0), &started.addresses[0]);
    let of = filling.rows() + data_rows(running, seeded)?;
    let mut rows = 0;
    for step in &seeded.steps {
        for input in Input::of(running, step, filling)? {
            let table = input.table();
            let mut context = running.context(&seat, addresses)?;
            context.table = table.clone();
            let mut spec = running.command(&seat, &step.command(), &context)?;
            spec.input = !matches!(input, Input::Nothing);
            let name = spec.name.clone();
            let table = table.map_or_else(String::new, |table| table.name);
            let mut process = Process::spawn(spec)?;
            let before = rows;
            let written = process.take_input().map_or(Ok(()), |pipe| {
                let told = |so_far: u64| {
                    if !matches!(input, Input::Beside(_)) {
                        rows = before + so_far;
                    }
                    tell(&Making::Filled { table: table.clone(), rows, of })
                };
                let counted = LineCounter { input: pipe, rows: 0, told };
                let mut out = BufWriter::with_capacity(1 << 16, counted);
                match &input {
                    Input::Nothing => Ok(()),
                    Input::Beside(file) => {
                        running.plan.app().read_file(file).and_then(|bytes| out.write_all(&bytes))
                    }
                    Input::Users(table, people) => table.write(people, filling.hash, &mut out),
                    Input::Data(_, path) => {
                        File::open(path).and_then(|mut file| io::copy(&mut file, &mut out)).map(drop)
                    }
                }
                .and_then(|()| out.flush())
            });
            let stopped = written.as_ref().is_err_and(is_stop);
            if stopped {
                return Err(Error::Stopped);
            }
            // The program's own message is more precise than the closed pipe.
            wait(&mut process, &mut || tell(&Making::Filled { table: table.clone(), rows, of }))?;
            written.map_err(launch::Error::os(name, "cannot write to its input"))?;
        }
    }
    checked(running, &seat, addresses, seeded)
}

/// Lines of the files of the data set that a seed is made of.
fn data_rows(running: &Running, seeded: &Seeded) -> Result<u64, Error> {
    let mut rows = 0;
    let mut piece = vec![0; 1 << 16];
    for pattern in seeded.steps.iter().filter_map(|step| step.data.as_ref()) {
        for (_, path) in running.plan.data_files(pattern)? {
            // Unreadable files are reported when they are written.
            let Ok(mut file) = File::open(path) else { continue };
            while let Ok(read @ 1..) = file.read(&mut piece) {
                rows += piece[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
            }
        }
    }
    Ok(rows)
}

pub(crate) fn checked(
    running: &Running,
    seat: &Seat<'_>,
    addresses: &[Address],
    seeded: &Seeded,
) -> Result<Vec<String>, Error> {
    let run = |command| running.run_command(seat, addresses, command, STEP);
    seeded.check.as_ref().map_or(Ok(Vec::new()), run)
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
struct LineCounter<W, F> {
    input: W,
    rows: u64,
    told: F,
}

impl<W: Write + std::os::fd::AsFd, F: FnMut(u64) -> bool> Write for LineCounter<W, F> {
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

#[derive(Debug, thiserror::Error)]
#[error("it was stopped")]
struct Stop;

fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stop>())
}
