//! Stalls of generator or server, planted at random moments.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;
use launch::Process;
use rustix::process::{Signal, setpriority_process};
use serde::Serialize;
use units::Nanos;

use crate::Setting;
use crate::faults::chance::Chance;
use crate::faults::here::processors::hog;
use crate::faults::here::send;

/// Length of a stall.
pub(crate) const LENGTH: Nanos = Nanos::from_millis(3);
/// Mean time between the starts of two stalls, in measurements of accuracy.
pub(crate) const EVERY: Nanos = Nanos::from_millis(50);
/// Nice value of the busy loop, which preempts the generator at once. Without permission to set it (CAP_SYS_NICE) both
/// share the processor.
const BUSY: i64 = -10;
/// Nice value of the thread that ends stalls: it preempts the busy loop, even if both processors are busy.
const THREAD: i32 = -20;

/// The side that stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stalled {
    /// Neither: no stalls are planted.
    None,
    /// The generator: a busy loop takes its processor.
    Generator,
    /// The server: its process is stopped and continued.
    Server,
    /// The server: a busy loop shares its processor.
    Neighbour,
}

impl Stalled {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Stalled::None => "none",
            Stalled::Generator => "generator",
            Stalled::Server => "server",
            Stalled::Neighbour => "neighbour",
        }
    }

    /// The description for the table.
    pub(crate) fn about() -> String {
        format!(
            "Planted stalls: {LENGTH} long, every {EVERY} on average, at random. Generator: a busy loop takes its processor. Server: its process is stopped and continued."
        )
    }
}

/// A thread that stalls one side.
pub(crate) struct Stalls {
    finish: Sender<()>,
    thread: JoinHandle<Result<()>>,
    /// The busy loop; dropping it ends it.
    _busy: Option<Process>,
}

impl Stalls {
    /// Starts the thread, which stalls once in `every` on average; `None` for [`Stalled::None`].
    pub(crate) fn start(
        stalled: Stalled,
        every: Nanos,
        server: u32,
        setting: &Setting,
    ) -> Result<Option<Stalls>> {
        let (process, busy, begin, end) = match stalled {
            Stalled::None => return Ok(None),
            Stalled::Server => (server, None, Signal::STOP, Signal::CONT),
            Stalled::Generator => {
                let busy = hog(setting.generator(), BUSY)?;
                (busy.pid(), Some(busy), Signal::CONT, Signal::STOP)
            }
            Stalled::Neighbour => {
                let busy = hog(setting.server(), 0)?;
                (busy.pid(), Some(busy), Signal::CONT, Signal::STOP)
            }
        };
        send(process, end)?;
        let (finish, finished) = channel();
        let mut chance = Chance::of(setting.seed, stalled.words(), 0);
        let thread = thread::spawn(move || {
            // For this thread only. Without permission, stalls may be longer.
            let _ = setpriority_process(None, THREAD);
            loop {
                let pause = chance.between(0.0, 2.0 * (every - LENGTH).as_secs_f64());
                if finished.recv_timeout(Duration::from_secs_f64(pause)) != Err(RecvTimeoutError::Timeout) {
                    return Ok(());
                }
                send(process, begin)?;
                thread::sleep(LENGTH.into());
                send(process, end)?;
            }
        });
        Ok(Some(Stalls { finish, thread, _busy: busy }))
    }

    /// Ends the thread. Errors: a signal could not be sent.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.finish);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
