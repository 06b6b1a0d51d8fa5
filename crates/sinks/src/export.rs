//! Sends what trials kept, batch by batch, and then counts what the sink holds.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cassandra::Cassandra;
use crate::file::Lines;
use crate::receiver::Receiver;
use crate::trace::{Telling, Trace, hex};
use crate::{Destination, Error, Kept, Patience};

/// Spans from which on a batch is sent. Source: OpenTelemetry's own exporters send 512 at once; here whole requests.
const BATCH: u64 = 512;
/// Traces that a sink is asked for at once.
const ASKED: usize = 256;
/// How often a sink is asked again that does not hold all yet.
const LOOK: Duration = Duration::from_millis(50);

/// What takes traces.
pub(crate) trait Sink {
    /// Takes these; taken once more, they are the same.
    fn send(&mut self, traces: &[Trace]) -> Result<(), Error>;

    /// Is told that there are no more.
    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// How many spans it holds of each of these traces, each identity once; `None`: it does not tell.
    fn held(&mut self, traces: &[[u8; 16]]) -> Result<Option<Vec<u64>>, Error>;
}

/// How far an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests that were sent.
    pub sent: usize,
    /// Those that were counted at the sink since.
    pub counted: usize,
    /// All of them.
    pub of: usize,
}

/// What came of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Requests that were sent.
    pub traces: u64,
    /// Their spans, with one of the generator's for each.
    pub spans: u64,
    /// Requests that never left the generator, or of which no span has a moment to place them by: they were not sent.
    pub without_moments: u64,
    /// Whether the sink was asked what it holds, and holds as many.
    pub is_counted: bool,
}

/// Sends what trials kept to `to`, and counts what it holds then; `tell` is told how far it is, and what it returns is whether to
/// go on.
///
/// Bounds: memory for the largest request and a batch of 512 spans, and 24 bytes for each trace.
/// Errors: what was kept is damaged; the sink does not answer, refuses or holds another number than was sent; it was stopped.
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
        Destination::Cassandra { node, keyspace } => {
            Box::new(Cassandra::new(to.to_string(), node.clone(), keyspace, *patience))
        }
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

/// What was sent, and how many requests have no moments.
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

/// Whether the sink tells what it holds.
///
/// Errors: it holds another number of spans than was sent.
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
        // What was taken may be on its way to where it is kept.
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
