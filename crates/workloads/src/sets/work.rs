//! The folders of a set, shared out among threads, and how far they are.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use launch::Interrupt;
use units::{Bytes, clock};

/// How often progress and requests to stop are checked for: at first and later, so that a small set
/// does not wait.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));
/// How long something must have gone on before it says how long it will: a rate of less is chance.
const TELLS_AFTER: Duration = Duration::from_secs(1);

/// How work on a set is done, and who hears how far it is.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// How many threads share it.
    pub threads: usize,
    /// What stops it.
    pub interrupt: &'a Interrupt,
    /// Shows a line about the progress in place of the one before.
    pub show: fn(&str),
}

impl<'a> Work<'a> {
    /// Work by `threads`, or else by one for each processor.
    pub fn new(threads: Option<u16>, interrupt: &'a Interrupt, show: fn(&str)) -> Work<'a> {
        let each = || thread::available_parallelism().map_or(1, NonZero::get);
        Work { threads: threads.map_or_else(each, usize::from), interrupt, show }
    }
}

/// How far work on a set is, and whether it is to go on.
pub(super) struct Meter<'a> {
    /// The current work: `making 1000x1/8 videos`.
    doing: String,
    /// The bytes of the whole.
    whole: u64,
    work: Work<'a>,
    begun: Instant,
    done: AtomicU64,
    /// Of those, the bytes that were there already.
    found: AtomicU64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(doing: String, whole: u64, work: &Work<'a>) -> Meter<'a> {
        let none = || AtomicU64::new(0);
        Meter { doing, whole, work: *work, begun: Instant::now(), done: none(), found: none() }
    }

    /// Adds `bytes` to the finished work. Errors: the run was interrupted.
    pub(super) fn advance(&self, bytes: u64) -> Result<()> {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.goes_on()
    }

    /// Adds `bytes` that need no work. Errors: as [`Meter::advance`].
    pub(super) fn skip(&self, bytes: u64) -> Result<()> {
        self.found.fetch_add(bytes, Ordering::Relaxed);
        self.advance(bytes)
    }

    /// Errors: the run was interrupted.
    pub(super) fn goes_on(&self) -> Result<()> {
        Ok(self.work.interrupt.check()?)
    }

    fn line(&self) -> String {
        let (done, found) = (self.done.load(Ordering::Relaxed), self.found.load(Ordering::Relaxed));
        line(&self.doing, self.whole, done, found, self.begun.elapsed())
    }
}

/// `0:42 left · making 1000x1/8 videos · 12 %, 2.30 GiB of 19.85 GiB · 340.20 MiB/s`.
fn line(doing: &str, whole: u64, done: u64, found: u64, elapsed: Duration) -> String {
    if whole == 0 {
        return doing.to_owned();
    }
    let done = done.min(whole);
    let far = format!("{} %, {} of {}", 100 * done / whole, Bytes(done), Bytes(whole));
    let made = done.saturating_sub(found) as f64;
    if elapsed < TELLS_AFTER || made == 0.0 {
        return format!("{doing} · {far}");
    }
    let rate = made / elapsed.as_secs_f64();
    let left = Duration::from_secs_f64((whole - done) as f64 / rate);
    format!("{} left · {doing} · {far} · {}/s", clock(left), Bytes(rate as u64))
}

/// Calls `work` for each folder of a set, by its number; shows the progress.
///
/// One thread handles all of a folder, so that no two threads wait for its lock. Errors: the first error of `work`; the run was
/// interrupted. Calls in progress are finished, and no further call begins.
pub(super) fn over_folders(
    folders: u64,
    meter: &Meter<'_>,
    work: impl Fn(u64) -> Result<()> + Sync,
) -> Result<()> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let first = Mutex::new(None);
    let run = || {
        while !stop.load(Ordering::Relaxed) && meter.work.interrupt.cause().is_none() {
            let folder = next.fetch_add(1, Ordering::Relaxed);
            if folder >= folders {
                return;
            }
            if let Err(error) = work(folder) {
                stop.store(true, Ordering::Relaxed);
                first.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                return;
            }
        }
    };
    thread::scope(|scope| {
        let count = meter.work.threads.min(usize::try_from(folders).unwrap_or(usize::MAX));
        let all: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        let mut wait = LOOK.0;
        while !all.iter().all(|thread| thread.is_finished()) {
            thread::park_timeout(wait);
            wait = (2 * wait).min(LOOK.1);
            (meter.work.show)(&meter.line());
        }
        // The next message starts on an empty line.
        (meter.work.show)("");
        for thread in all {
            thread.join().map_err(|_| anyhow!("a thread ended unexpectedly"))?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    match first.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(error) => Err(error),
        None => meter.goes_on(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_how_long_it_takes() {
        let check = |whole: u64, done: u64, found: u64, seconds: u64, expect: &str| {
            let elapsed = Duration::from_secs(seconds);
            assert_eq!(line("making 5x1 videos", whole, done, found, elapsed), expect);
        };
        const MIB: u64 = 1 << 20;
        check(0, 0, 0, 5, "making 5x1 videos");
        check(100 * MIB, 0, 0, 5, "making 5x1 videos · 0 %, 0 B of 100 MiB");
        check(100 * MIB, 50 * MIB, 0, 0, "making 5x1 videos · 50 %, 50 MiB of 100 MiB");
        let half = "0:05 left · making 5x1 videos · 50 %, 50 MiB of 100 MiB · 10 MiB/s";
        check(100 * MIB, 50 * MIB, 0, 5, half);
        // Files that already existed do not count towards the speed.
        let resumed = "0:10 left · making 5x1 videos · 90 %, 90 MiB of 100 MiB · 1 MiB/s";
        check(100 * MIB, 90 * MIB, 85 * MIB, 5, resumed);
        // Playlists are not counted before.
        check(MIB, MIB + 5, 0, 1, "0:00 left · making 5x1 videos · 100 %, 1 MiB of 1 MiB · 1 MiB/s");
    }

    #[test]
    fn the_first_error_ends_the_work_and_so_does_an_interrupt() {
        let interrupt = Interrupt::new();
        let meter = Meter::new("testing".into(), 1000, &Work::new(Some(2), &interrupt, |_| ()));
        let seen = AtomicU64::new(0);
        let error = over_folders(1000, &meter, |folder| {
            seen.fetch_add(1, Ordering::Relaxed);
            if folder == 3 { Err(anyhow!("no more")) } else { meter.advance(1) }
        });
        assert_eq!(error.unwrap_err().to_string(), "no more");
        assert!(seen.load(Ordering::Relaxed) >= 4);
        interrupt.raise();
        let error = over_folders(1000, &meter, |_| panic!("it was to stop")).unwrap_err();
        assert!(error.is::<launch::Interrupted>(), "{error}");
        assert!(meter.skip(1).is_err());
    }
}
