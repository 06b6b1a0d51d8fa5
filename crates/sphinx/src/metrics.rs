//! Figures for Prometheus, on a port of their own, in its text format or in that of OpenMetrics 1.0.
//!
//! A scrape leaves a note for each thread and wakes it; the thread later answers with a copy of its counters, and
//! continues. So a scrape stops no thread and costs each a copy of some KiB; without scrapes there is no cost.

mod http;
mod text;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reactor::Waker as _;

use crate::core::Common;
use crate::service::ServiceTimes;
use crate::stats::CoreStats;
use crate::thread::Waker;

pub use http::Exporter;

/// The request for a thread's figures.
#[derive(Default)]
pub(crate) struct Scrape {
    is_asked: AtomicBool,
    to: Mutex<Option<Sender<Snapshot>>>,
}

impl Scrape {
    fn ask(&self, to: Sender<Snapshot>) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
        self.is_asked.store(true, Ordering::Release);
    }

    /// Where to send the figures, if a scrape has asked since the last time.
    pub(crate) fn take(&self) -> Option<Sender<Snapshot>> {
        if !self.is_asked.load(Ordering::Acquire) {
            return None;
        }
        self.is_asked.store(false, Ordering::Relaxed);
        self.to.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A text format of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Of Prometheus, version 0.0.4, which every collector reads.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The figures of a thread.
pub(crate) struct Snapshot {
    pub(crate) number: usize,
    pub(crate) stats: CoreStats,
    /// Asks to each other thread that are not answered.
    pub(crate) unanswered: Vec<usize>,
    /// How long its requests took.
    pub(crate) service: ServiceTimes,
    /// Its part of the hottest keys, if the metrics have them.
    pub(crate) hot_keys: Vec<u8>,
}

/// How long a scrape waits for the threads; they answer within a turn of their loops.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks all threads of a server.
pub(crate) struct Scraper {
    pub(crate) common: Arc<Common>,
    pub(crate) wakers: Vec<Waker>,
}

impl Scraper {
    /// The figures of all threads that answered, in their order.
    fn snapshots(&self) -> Vec<Snapshot> {
        let (to, answers) = channel();
        for (scrape, waker) in self.common.scrapes.iter().zip(&self.wakers) {
            scrape.ask(to.clone());
            waker.wake();
        }
        drop(to);
        let until = Instant::now() + PATIENCE;
        let mut snapshots = Vec::new();
        while snapshots.len() < self.wakers.len()
            && let Ok(snapshot) = answers.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            snapshots.push(snapshot);
        }
        snapshots.sort_by_key(|snapshot| snapshot.number);
        snapshots
    }

    /// The answer to a scrape.
    pub(crate) fn text(&self, format: Format) -> String {
        let snapshots = self.snapshots();
        let Common { config, memory, .. } = &*self.common;
        text::write(&snapshots, config, memory.bytes(), self.common.curve().as_ref(), format)
    }
}
