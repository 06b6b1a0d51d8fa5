//! The folders of a set, shared out among threads.

use std::io::{self, IsTerminal, Write};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use lab::Interrupt;
use workloads::web::FileSet;

/// How often progress and requests to stop are checked for: at first and later, so that a small set
/// does not wait.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

/// As many as were asked for, else one for each processor.
pub(super) fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| thread::available_parallelism().map_or(1, NonZero::get), usize::from)
}

/// Does `work` for each folder of `set`, by its number; says meanwhile how far it is, if `doing` is seen on a terminal.
///
/// A folder is one thread's, so that no two wait for its lock.
/// Errors: the first of `work`; the run was interrupted. What was begun is ended, and nothing more is begun.
pub(super) fn over_folders(
    set: &FileSet,
    threads: usize,
    doing: &str,
    interrupt: &Interrupt,
    work: impl Fn(u64) -> Result<()> + Sync,
) -> Result<()> {
    let (next, done, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let first = Mutex::new(None);
    let folders = set.folders();
    let run = || {
        while !stop.load(Ordering::Relaxed) {
            let folder = next.fetch_add(1, Ordering::Relaxed);
            if folder >= folders {
                return;
            }
            if let Err(error) = work(folder) {
                stop.store(true, Ordering::Relaxed);
                first.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                return;
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let count = threads.min(usize::try_from(folders).unwrap_or(usize::MAX));
        let all: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        let shows = io::stderr().is_terminal();
        let mut wait = LOOK.0;
        while !all.iter().all(|thread| thread.is_finished()) {
            thread::park_timeout(wait);
            wait = (2 * wait).min(LOOK.1);
            if interrupt.cause().is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            if shows {
                let share = 100 * done.load(Ordering::Relaxed) / folders;
                let _ = write!(io::stderr(), "\r{doing} {set}: {share:3} %");
            }
        }
        if shows {
            // The next message starts on an empty line.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        for thread in all {
            thread.join().map_err(|_| anyhow!("a thread ended unexpectedly"))?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    if let Some(error) = first.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    match interrupt.cause() {
        Some(cause) => Err(lab::Error::Interrupted(cause).into()),
        None => Ok(()),
    }
}
