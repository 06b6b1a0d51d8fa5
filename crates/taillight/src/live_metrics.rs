//! `--listen`, `--remote-write` and `--push-otlp`: the figures of a run for monitoring systems while it lasts.

mod push;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use export::{Live, LiveStep};
use hist::LivePoint;
use lab::{Event, Where};
use sphinx::{Exporter, Format};

use crate::terminal::tell;

pub(crate) use push::PushArgs;

/// The figures so far, shared with the threads that answer scrapes and send them.
///
/// The generator is another process, so a scrape does not delay it. Scrapes and the points of a trial take turns for as long as
/// the text is written, which is well under a millisecond.
#[derive(Default)]
pub(crate) struct LiveMetrics {
    live: Arc<Mutex<Live>>,
    _at_end: Option<push::AtEnd>,
}

/// Serves metrics on `address`, if there is one, to the end of the process.
///
/// Errors: the address is taken, or does not belong to this machine.
pub(crate) fn start(address: Option<SocketAddr>) -> Result<Option<LiveMetrics>> {
    let Some(address) = address else { return Ok(None) };
    let metrics = LiveMetrics::default();
    let live = Arc::clone(&metrics.live);
    let served = Exporter::bind(address)?.start(move |format| {
        let metrics = lock(&live).metrics();
        match format {
            Format::Prometheus => metrics.prometheus(),
            Format::OpenMetrics => metrics.openmetrics(),
        }
    })?;
    tell(&format!("metrics on http://{served}/metrics"));
    Ok(Some(metrics))
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveMetrics {
    pub(crate) fn add(&self, point: &LivePoint) {
        lock(&self.live).add(point);
    }

    pub(crate) fn event(&self, event: &Event<'_>, about: &Where) {
        let mut live = lock(&self.live);
        match event {
            Event::Started(step) => live.at(LiveStep {
                of: [step.target.to_owned(), step.workload.to_owned()],
                rate: step.request.rate_rps,
                ..LiveStep::default()
            }),
            Event::Ended(trial) => live.ended(trial),
            Event::Phase(_) | Event::Note(_) | Event::Tick(_) => {}
        }
        live.progress(about.number.min(about.about), about.about, about.left.as_secs_f64());
    }

    /// Requests without an answer, and arrivals due and not sent.
    pub(crate) fn outstanding(&self, in_flight: u64, backlog: u64) {
        lock(&self.live).outstanding(in_flight, backlog);
    }
}
