//! Spans of a trial's traced requests: awaited, joined with the generator's records of the same requests, and kept in
//! the trial.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use app::{App, Running};
use results::{Coverage, Invalid, Reason, RequestOutcome, ServiceUsage, TracedRequests, Traces, Trial};
use traces::{Names, Observed, SpanFile};
use units::Nanos;

use super::kept::identity;
use super::{Server, calls, spans};

/// How long spans are waited for once a load has ended. Source: a call under way ends within the 2 s of its deadline, and spans are
/// written 100 ms later at most (docs/reference/movies.md); the rest is for a machine that is busy.
const WITHIN: Duration = Duration::from_secs(10);
/// Interval between checks whether all spans are written.
const LOOK: Duration = Duration::from_millis(50);

/// Note on a load from other machines.
const FROM_AGENTS: &str = "The load came from other machines, whose clocks are not this machine's: all time between \
    them and the entrance counts as front, and the drawing of a request has half of it before and half behind.";

/// Spans that are being written during a trial.
pub(crate) struct Tracing {
    /// Spans that each service had written before.
    before: BTreeMap<u16, u64>,
}

impl Server {
    /// Begins to gather the spans of a trial, and deletes the previous trial's; `None` if its services write no spans.
    pub(crate) fn begin_tracing(&self) -> Option<Tracing> {
        let own = self.managed()?;
        // Spans that cannot be deleted show up as more than expected, and are reported.
        let _ = spans::clear(own.spans()?);
        Some(Tracing { before: written(&own.running) })
    }
}

impl Tracing {
    /// Waits for the spans of `requests`, and writes their evaluation into the trial, which missing spans make invalid.
    /// `used` holds the services' counters during the trial.
    pub(crate) fn finish(
        self,
        server: &Server,
        requests: &TracedRequests,
        used: &[ServiceUsage],
        trial: &mut Trial,
    ) {
        let Some(own) = server.managed() else { return };
        let Some(folder) = own.spans() else { return };
        let plan = own.running.plan();
        let app = plan.app();
        let Some(entrance) = entrance(app) else { return };
        let (names, numbers) = (names(app, |name| plan.starts(name)), numbers(app));
        let calls = calls::counted(used, &numbers);
        let mut gathering = Gathering {
            before: &self.before,
            counters: &mut || written(&own.running),
            entrance,
            names: &names,
            requests,
            sampled: sampled(requests),
            calls: &calls.by_edge,
        };
        let (reason, traces) = gathered(folder, &mut gathering, WITHIN);
        let mut traces = traces.unwrap_or_default();
        traces.notes.extend(calls.notes);
        traces.notes.extend((!trial.agents.is_empty()).then(|| FROM_AGENTS.to_owned()));
        trial.traces = Some(traces);
        if let Some(reason) = reason {
            trial.verdict = std::mem::take(&mut trial.verdict).against(reason);
        }
    }
}

/// The evaluation of the spans in `folder`, and the reason if it makes the trial invalid.
fn gathered(
    folder: &Path,
    gathering: &mut Gathering<'_>,
    within: Duration,
) -> (Option<Invalid>, Option<Traces>) {
    let invalid = |detail: String| Some(Invalid { reason: Reason::SpansLost, detail });
    match gathering.await_all(folder, within) {
        Ok(traces) => {
            let words = loss(&traces).map(|lost| match spans::full(folder) {
                Some(full) => format!("{lost}; {full}"),
                None => lost,
            });
            (words.and_then(invalid), Some(traces))
        }
        Err(error) => (invalid(format!("the spans in {} cannot be read: {error}", folder.display())), None),
    }
}

struct Gathering<'a> {
    before: &'a BTreeMap<u16, u64>,
    counters: &'a mut dyn FnMut() -> BTreeMap<u16, u64>,
    entrance: u16,
    names: &'a Names,
    requests: &'a TracedRequests,
    sampled: Vec<traces::Sampled>,
    calls: &'a BTreeMap<traces::Edge, traces::CallCount>,
}

impl Gathering<'_> {
    /// Waits until all spans are in the files of `folder`, at most `within`, and evaluates them.
    ///
    /// Errors: a file cannot be read.
    fn await_all(&mut self, folder: &Path, within: Duration) -> io::Result<Traces> {
        let begun = Instant::now();
        let mut seen = None;
        loop {
            let is_late = begun.elapsed() >= within;
            let written = self.written();
            let now = (spans::files(folder)?, written);
            if is_late || seen.as_ref() != Some(&now) {
                let traces = self.found(&spans::read(&now.0)?, &now.1);
                if is_late || loss(&traces).is_none() {
                    return Ok(traces);
                }
            }
            seen = Some(now);
            sleep(LOOK);
        }
    }

    /// The number of spans that each service reports as written since the trial began, by service number.
    fn written(&mut self) -> BTreeMap<u16, u64> {
        // Services that were not counted before, or do not answer, are left out.
        let since =
            |(service, now): (u16, u64)| Some((service, now.checked_sub(*self.before.get(&service)?)?));
        (self.counters)().into_iter().filter_map(since).collect()
    }

    fn found(&self, files: &[SpanFile], written: &BTreeMap<u16, u64>) -> Traces {
        traces::summary(&Observed {
            one_in: self.requests.one_in,
            entrance: self.entrance,
            names: self.names,
            requests: &self.sampled,
            files,
            written,
            by_lot: &self.requests.by_lot,
            calls: self.calls,
        })
    }
}

/// The missing spans, in words; `None` if complete.
fn loss(traces: &Traces) -> Option<String> {
    let Coverage { sampled, joined, whole, spans_broken, ref lost, .. } = traces.coverage;
    let mut words: Vec<String> = lost
        .iter()
        .map(|one| format!("{}: {} spans were expected and {} found", one.service, one.expected, one.found))
        .collect();
    if spans_broken > 0 {
        words.push(format!("{spans_broken} records are no whole spans"));
    }
    if joined < sampled {
        let none = sampled - joined;
        words.push(format!("of {none} of {sampled} answered requests the span at the entrance is missing"));
    }
    if whole < joined {
        words.push(format!("of {} of {joined} requests a call lacks its other end", joined - whole));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// The number of spans that each service reports as written, by service number; services without the counter are left
/// out.
fn written(running: &Running) -> BTreeMap<u16, u64> {
    let of = |one: app::RunningService<'_>| {
        let number = one.service.number.filter(|_| one.service.written)?;
        let counters = running.counters(&one.service.name).ok().flatten()?;
        Some((number, *counters.get("spans")? as u64))
    };
    running.services().filter_map(of).collect()
}

/// The service at which requests come in that writes spans: the first behind the entrance.
pub(super) fn entrance(app: &App) -> Option<u16> {
    let mut names = vec![app.entrance(None)?.service.as_str()];
    let mut at = 0;
    while let Some(name) = names.get(at) {
        let service = app.service(name)?;
        if service.written && !service.methods.is_empty() {
            return service.number;
        }
        let further: Vec<&str> =
            service.calls.iter().map(String::as_str).filter(|one| !names.contains(one)).collect();
        names.extend(further);
        at += 1;
    }
    None
}

fn names(app: &App, is_started: impl Fn(&str) -> bool) -> Names {
    let started = app.services.iter().filter(|service| is_started(&service.name));
    Names::new(started.filter_map(|one| Some((one.number?, one.name.clone(), one.methods.clone()))))
}

fn numbers(app: &App) -> BTreeMap<&str, (u16, &[String])> {
    app.services.iter().filter_map(|one| Some((one.name.as_str(), (one.number?, &one.methods[..])))).collect()
}

fn sampled(requests: &TracedRequests) -> Vec<traces::Sampled> {
    let one = |request: &results::TracedRequest| {
        let since = |earlier: u64| Nanos(request.done_ns.saturating_sub(earlier));
        Some(traces::Sampled {
            trace: identity(request)?,
            operation: request.operation.clone(),
            response_time: since(request.intended_ns),
            service_time: request.sent_ns.map_or(Nanos::ZERO, since),
            is_completed: request.outcome == RequestOutcome::Completed,
        })
    };
    requests.requests.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests;
