use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use launch::{Process, Spec};
use tempfile::TempDir;
use tokio::sync::mpsc as channel;

use crate::message::{Event, Order};

/// Polling interval for orders until the load has begun: the start is announced at least 15 times as long ahead.
const LOOK: Duration = Duration::from_millis(20);
/// Polling interval afterwards, when the generator measures and should not be disturbed.
const LOOK_SELDOM: Duration = Duration::from_millis(100);
/// Time for a stopped generator to write its recording, before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// Limit of a recording's size. Source: a window of an hour takes about 100 MiB.
pub(crate) const LARGEST_RECORDING: u64 = 256 << 20;
/// Lines of the generator queued for the session; further lines are dropped, since they are only for display.
const LINES: usize = 64;

/// A generator or a server that runs as a child of the agent. Dropping it kills it; [`Child::gone`] waits for
/// that.
pub(super) struct Child {
    orders: mpsc::Sender<Order>,
    told: channel::Receiver<ChildEvent>,
}

pub(super) enum ChildEvent {
    /// For the coordinator.
    Told(Event),
    /// It ended and was reaped: its recording, or why it is missing.
    Ended(Result<Vec<u8>, String>),
}

impl Child {
    /// Starts the process that `spec` returns for the path of the recording. Cost: a thread that sleeps.
    pub(super) fn start(spec: impl FnOnce(&Path) -> Result<Spec, String>) -> Result<Child, String> {
        let folder = tempfile::Builder::new()
            .prefix("taillight-agent-")
            .tempdir()
            .map_err(|e| format!("cannot make a folder for its recording: {e}"))?;
        let file = folder.path().join("recording.json");
        let process = Process::spawn(spec(&file)?.input()).map_err(|e| e.to_string())?;
        Child::work("generator", |to_do, tell| {
            Worker { process, to_do, tell, file, _folder: folder, stop_by: None, started: false }.run();
        })
    }

    /// Runs `work` in a thread of this name, which receives the orders and sends the events, its end last.
    pub(super) fn work(
        name: &str,
        work: impl FnOnce(mpsc::Receiver<Order>, channel::Sender<ChildEvent>) + Send + 'static,
    ) -> Result<Child, String> {
        let (orders, to_do) = mpsc::channel();
        let (tell, told) = channel::channel(LINES);
        thread::Builder::new()
            .name(name.into())
            .spawn(|| work(to_do, tell))
            .map_err(|e| format!("cannot start a thread to watch it: {e}"))?;
        Ok(Child { orders, told })
    }

    /// Sends an order, with times by `CLOCK_MONOTONIC`.
    pub(super) fn order(&self, order: Order) {
        // A worker that has ended has reported it, or `next` will.
        let _ = self.orders.send(order);
    }

    /// The next event; `None` after the end.
    pub(super) async fn next(&mut self) -> Option<ChildEvent> {
        self.told.recv().await
    }

    /// Kills it if it still runs, and waits until it has ended.
    pub(super) async fn gone(mut self) {
        drop(self.orders);
        while self.told.recv().await.is_some() {}
    }
}

/// The thread that controls the process.
struct Worker {
    process: Process,
    to_do: mpsc::Receiver<Order>,
    tell: channel::Sender<ChildEvent>,
    file: PathBuf,
    _folder: TempDir,
    stop_by: Option<Instant>,
    started: bool,
}

impl Worker {
    fn run(mut self) {
        let end = self.watch();
        let Worker { process, tell, _folder: folder, .. } = self;
        // Killed if it still runs, and its files removed, before the end is reported.
        drop((process, folder));
        if let Some(end) = end {
            let _ = tell.blocking_send(ChildEvent::Ended(end));
        }
    }

    /// Runs until the process has ended (its recording) or the session no longer needs it (`None`).
    fn watch(&mut self) -> Option<Result<Vec<u8>, String>> {
        loop {
            loop {
                match self.to_do.try_recv() {
                    Ok(order) => self.order(order),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return None,
                }
            }
            if self.stop_by.is_some_and(|by| Instant::now() > by) {
                return Some(Err(format!("it did not stop within {GRACE:?} and was killed")));
            }
            let look = if self.started && self.stop_by.is_none() { LOOK_SELDOM } else { LOOK };
            match self.process.next_line(look) {
                Some(line) => self.line(line),
                // No line, or a closed output: this wait prevents a busy loop.
                None => match self.process.wait(Duration::from_millis(1)) {
                    Ok(_) => return Some(self.recording()),
                    Err(launch::Error::StillRunning { .. }) => {}
                    Err(error) => return Some(Err(error.to_string())),
                },
            }
        }
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Start(at_ns) => {
                self.started = true;
                // If it has ended, its exit reports so.
                let _ = self.process.write_line(&format!("start {at_ns}"));
            }
            Order::Stop(()) => {
                self.stop_by.get_or_insert_with(|| Instant::now() + GRACE);
                // Before the start it waits for a line, afterwards only a signal reaches it.
                let _ = self.process.write_line("stop");
                self.process.terminate();
            }
            // A generator has no server.
            _ => {}
        }
    }

    fn line(&mut self, line: String) {
        if line == "ready" {
            let _ = self.tell.blocking_send(ChildEvent::Told(Event::Ready(())));
        } else if line.starts_with("{\"live\"") {
            let _ = self.tell.try_send(ChildEvent::Told(Event::Live(line)));
        }
    }

    fn recording(&mut self) -> Result<Vec<u8>, String> {
        self.process.wait_success(Duration::ZERO).map_err(|e| e.to_string())?;
        let mut bytes = Vec::new();
        let file = File::open(&self.file).map_err(|e| format!("the generator left no recording: {e}"))?;
        let read = file.take(LARGEST_RECORDING + 1).read_to_end(&mut bytes);
        read.map_err(|e| format!("cannot read the generator's recording: {e}"))?;
        if bytes.len() as u64 > LARGEST_RECORDING {
            return Err(format!(
                "the recording is larger than {} MiB; use a shorter --window",
                LARGEST_RECORDING >> 20
            ));
        }
        Ok(bytes)
    }
}
