//! Sends trials' kept traces, batch by batch, and then counts the spans that the sink holds.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::file::Lines;
use crate::receiver::Receiver;
use crate::trace::{Telling, Trace, hex};
use crate::{Destination, Error, Kept, Patience};

/// The number of spans that completes a batch. Source: OpenTelemetry's own exporters send 512 at once; here whole
/// requests.
const BATCH: u64 = 512;
/// Traces per query to a sink.
const ASKED: usize = 256;
/// Pause before a sink that does not yet hold all spans is queried again.
const LOOK: Duration = Duration::from_millis(50);

/// What takes traces.
pub(crate) trait Sink {
    /// Takes these; sending them again changes nothing.
    fn send(&mut self, traces: &[Trace]) -> Result<(), Error>;

    /// Ends the export: no more traces follow.
    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The number of spans that it holds of each of these traces, each identity once; `None` if it cannot be queried.
    fn held(&mut self, traces: &[[u8; 16]]) -> Result<Option<Vec<u64>>, Error>;
}

/// The progress of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests that were sent.
    pub sent: usize,
    /// Requests counted at the sink since.
    pub counted: usize,
    /// All of them.
    pub of: usize,
}

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Requests that were sent.
    pub traces: u64,
    /// Their spans, with one of the generator's for each.
    pub spans: u64,
    /// Requests that were not sent to the sink: they never left the generator, or no span has a moment to place them
    /// by.
    pub without_moments: u64,
    /// Whether the sink was queried and holds all spans.
    pub is_counted: bool,
}

/// Sends the traces that trials kept to `to`, then counts the spans that it holds. `tell` receives the progress and
/// returns whether to go on.
///
/// Bounds: memory for the largest request and a batch of 512 spans, and 24 bytes for each trace.
/// Errors: a kept file is damaged; the sink does not answer, refuses, or holds a different number of spans than was
/// sent; `tell` stopped it.
pub fn export(
    kept: &[Kept],
    to: &Destination,
    patience: &Patience,
    tell: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Exported, Error> {
    let mut sink: Box<dyn Sink> = match to {
        Destination::File(path) => Box::new(Lines::new(path)?),
        Destination::Otlp(host) => Box::new(Receiver::new(to, host, None, *patience)),
        Destination::Jaeger { otlp, query } => Box::new(Receiver::new(to, otlp, Some(*query), *patience)),
    };
    let of = kept.iter().map(|trial| trial.requests().0).sum();
    let mut way = Way { progress: Progress { sent: 0, counted: 0, of }, tell };
    let (sent, without_moments) = send(kept, &mut *sink, &mut way)?;
    sink.finish()?;
    let counted = count(&to.to_string(), &sent, &mut *sink, patience, &mut way)?;
    Ok(Exported {
        traces: sent.len() as u64,
        spans: sent.iter().map(|one| one.spans).sum(),
        without_moments,
        is_counted: counted,
    })
}

/// A trace that was sent.
struct Sent {
    id: [u8; 16],
    spans: u64,
}

struct Way<'a> {
    progress: Progress,
    tell: &'a mut dyn FnMut(&Progress) -> bool,
}

impl Way<'_> {
    fn goes_on(&mut self) -> Result<(), Error> {
        if (self.tell)(&self.progress) { Ok(()) } else { Err(Error::Stopped) }
    }
}

/// The traces sent, and the number of requests without moments.
fn send(kept: &[Kept], sink: &mut dyn Sink, way: &mut Way<'_>) -> Result<(Vec<Sent>, u64), Error> {
    let (mut sent, mut without_moments) = (Vec::new(), 0);
    let (mut batch, mut spans) = (Vec::new(), 0);
    for trial in kept {
        let telling = Telling::new(trial);
        for read in trial.read()? {
            let (request, found) = read?;
            let Some(trace) = telling.trace(request, found) else {
                without_moments += 1;
                continue;
            };
            sent.push(Sent { id: trace.id, spans: trace.spans() });
            spans += trace.ends.len() as u64;
            batch.push(trace);
            if spans >= BATCH {
                sink.send(&batch)?;
                (batch, spans) = (Vec::new(), 0);
                way.progress.sent = sent.len();
                way.goes_on()?;
            }
        }
    }
    if !batch.is_empty() {
        sink.send(&batch)?;
    }
    way.progress.sent = sent.len();
    way.goes_on()?;
    Ok((sent, without_moments))
}

/// Whether the sink answers queries.
///
/// Errors: it holds a different number of spans than was sent.
fn count(
    name: &str,
    sent: &[Sent],
    sink: &mut dyn Sink,
    patience: &Patience,
    way: &mut Way<'_>,
) -> Result<bool, Error> {
    let until = Instant::now() + patience.settle;
    let (mut held, mut differ, mut first) = (0, 0, None);
    for asked in sent.chunks(ASKED) {
        let ids: Vec<[u8; 16]> = asked.iter().map(|one| one.id).collect();
        // A sink may answer before it has stored the spans.
        let found = loop {
            let Some(found) = sink.held(&ids)? else { return Ok(false) };
            let is_all = asked.iter().zip(&found).all(|(one, found)| one.spans == *found);
            way.goes_on()?;
            if is_all || Instant::now() >= until {
                break found;
            }
            sleep(LOOK);
        };
        for (one, found) in asked.iter().zip(&found) {
            held += found;
            if one.spans != *found {
                differ += 1;
                let told = || format!("{}, {found} of {} spans", hex(&one.id), one.spans);
                first.get_or_insert_with(told);
            }
        }
        way.progress.counted += asked.len();
    }
    way.goes_on()?;
    match first {
        None => Ok(true),
        Some(first) => {
            let sent = sent.iter().map(|one| one.spans).sum();
            Err(Error::Differs { sink: name.into(), sent, held, traces: differ, first })
        }
    }
}
