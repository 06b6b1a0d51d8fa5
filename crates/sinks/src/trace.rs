//! A request in the form for sinks: names instead of numbers, the wall clock, and an identity unique among results.

use std::collections::{BTreeMap, HashMap};

use results::{KeptProcess, KeptRequest, KeptTraces, Part, RequestOutcome, TracedRequest};
use traces::{Names, Span, SpanKind, SpanOutcome, join, store_method};
use units::Nanos;
use xxhash_rust::xxh3::xxh3_128;

use crate::kept::Kept;

/// The generator's name among the services.
const GENERATOR: &str = "generator";
/// Names of the six moments of a server's span, and of a client's.
const SERVER: [&str; 6] = ["received", "dequeued", "decoded", "handled", "encoded", "written"];
const CLIENT: [&str; 6] = ["called", "connected", "encoded", "written", "readable", "decoded"];
/// The latest moment that every sink can represent. Units: ns of Unix time.
const LATEST: i128 = i64::MAX as i128;

/// A traced request. Units: moments in ns of Unix time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trace {
    /// Unique in each result: the same seed draws the same identities in every run.
    pub(crate) id: [u8; 16],
    /// The identity in the record of the trial.
    pub(crate) recorded: String,
    pub(crate) result: String,
    pub(crate) trial: String,
    pub(crate) outcome: &'static str,
    pub(crate) intended: u64,
    pub(crate) done: u64,
    pub(crate) bytes: u64,
    /// The parts of the time from sent to done, in ns that sum to it; empty if unknown.
    pub(crate) parts: BTreeMap<&'static str, u64>,
    /// The generator's own span, and all others.
    pub(crate) ends: Vec<End>,
}

/// One end of a call. Units: moments in ns of Unix time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) role: Role,
    pub(crate) service: String,
    pub(crate) instance: u16,
    /// The called service; empty in a server's span.
    pub(crate) peer: String,
    pub(crate) method: String,
    pub(crate) outcome: &'static str,
    pub(crate) is_retried: bool,
    pub(crate) span: u64,
    /// 0 for the root.
    pub(crate) parent: u64,
    /// In order; the first and the last are its beginning and its end.
    pub(crate) moments: Vec<(&'static str, u64)>,
    pub(crate) cpu_ns: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Whether the request waited for it.
    pub(crate) is_critical: bool,
}

/// The party whose end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Generator,
    Server,
    Client,
    Store,
}

impl End {
    pub(crate) fn start(&self) -> u64 {
        self.moments.first().map_or(0, |(_, at)| *at)
    }

    pub(crate) fn end(&self) -> u64 {
        self.moments.last().map_or(0, |(_, at)| *at)
    }

    /// Whether it ended with an answer.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.outcome, "ok" | "refused" | "completed")
    }
}

impl Trace {
    /// The identities of its ends, each once.
    pub(crate) fn spans(&self) -> u64 {
        let mut all: Vec<u64> = self.ends.iter().map(|end| end.span).collect();
        all.sort_unstable();
        all.dedup();
        all.len() as u64
    }

    /// Its identity as text.
    pub(crate) fn hex(&self) -> String {
        hex(&self.id)
    }
}

pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes traces of one trial's requests.
pub(crate) struct Telling<'a> {
    kept: &'a Kept,
    names: Names,
    /// Offsets from each process's clock to Unix time, by service and instance.
    offsets: HashMap<(u16, u16), i64>,
    /// The same for the entrance; for any process if the entrance reported none.
    usual: Option<i64>,
}

impl<'a> Telling<'a> {
    pub(crate) fn new(kept: &'a Kept) -> Telling<'a> {
        let KeptTraces { services, processes, entrance, .. } = &kept.traces;
        let named = services.iter().map(|one| (one.number, one.name.clone(), one.methods.clone()));
        // Processes of one boot share a monotonic clock. One offset keeps their order: the wall clock may have been set
        // between two starts.
        let mut ordered: Vec<&KeptProcess> = processes.iter().collect();
        ordered.sort_by_key(|process| process.service != *entrance);
        let mut by_boot: HashMap<&str, i64> = HashMap::new();
        for process in &ordered {
            by_boot.entry(&process.boot).or_insert(process.wall_offset_ns);
        }
        let offset = |process: &&KeptProcess| by_boot[process.boot.as_str()];
        Telling {
            kept,
            names: Names::new(named),
            usual: ordered.first().map(offset),
            offsets: ordered.iter().map(|one| ((one.service, one.instance), offset(one))).collect(),
        }
    }

    /// The request with its spans; `None` if it was never sent, or no clock of a service places its moments.
    pub(crate) fn trace(&self, request: &KeptRequest, spans: Vec<Span>) -> Option<Trace> {
        let KeptTraces { entrance, from_elsewhere, .. } = self.kept.traces;
        let TracedRequest { span, intended_ns, sent_ns, first_byte_ns, done_ns, .. } = request.request;
        let sent = sent_ns?;
        let service_time = done_ns.saturating_sub(sent);
        let joined = join(spans.iter().copied(), entrance).into_iter().next();
        let shift = if from_elsewhere {
            // The generator's clock is unsynchronized: half of the time outside the entrance's span is placed before
            // it.
            let root = joined.as_ref().map(|request| request.root.span)?;
            let front = service_time.saturating_sub(root.length().0) / 2;
            let first = i128::from(root.stamps[0]) + i128::from(self.offset(&root));
            first - i128::from(front) - i128::from(sent)
        } else {
            i128::from(self.usual?)
        };
        let is_completed = request.request.outcome == RequestOutcome::Completed;
        let critical = joined.as_ref().map(|request| request.critical()).unwrap_or_default();
        let mut parts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for segment in
            joined.iter().filter(|_| is_completed).flat_map(|one| one.parts_of(Nanos(service_time)))
        {
            *parts.entry(segment.part.name()).or_default() += segment.time.0;
        }
        if !parts.is_empty() && sent > intended_ns {
            parts.insert(Part::name(Part::BeforeSending), sent - intended_ns);
        }
        let outcome = match request.request.outcome {
            RequestOutcome::Completed => "completed",
            RequestOutcome::Error => "error",
            RequestOutcome::Timeout => "timeout",
            RequestOutcome::Unfinished => "unfinished",
        };
        let moments = [
            ("due", Some(intended_ns)),
            ("sent", sent_ns),
            ("first byte", first_byte_ns),
            ("done", Some(done_ns)),
        ];
        let own = End {
            role: Role::Generator,
            service: GENERATOR.into(),
            instance: 0,
            peer: self.names.service(entrance),
            method: request.request.operation.clone(),
            outcome,
            is_retried: false,
            span,
            parent: 0,
            moments: moments.iter().filter_map(|(name, at)| Some((*name, moved((*at)?, shift)))).collect(),
            cpu_ns: 0,
            bytes_in: 0,
            bytes_out: request.request.bytes,
            is_critical: true,
        };
        let root = joined.as_ref().map(|request| request.root.span.span);
        // A server's end is critical if the call that led to it is.
        let is_critical = |span: &Span| match span.kind {
            SpanKind::Server => root == Some(span.span) || critical.contains(&span.parent),
            SpanKind::Client | SpanKind::Store => critical.contains(&span.span),
        };
        let end = |span: &Span| self.end(span, is_critical(span));
        Some(Trace {
            id: self.identity(&request.request.trace),
            recorded: request.request.trace.clone(),
            result: self.kept.result.clone(),
            trial: self.kept.trial.clone(),
            outcome,
            intended: moved(intended_ns, shift),
            done: moved(done_ns, shift),
            bytes: request.request.bytes,
            parts,
            ends: std::iter::once(own).chain(spans.iter().map(end)).collect(),
        })
    }

    fn end(&self, span: &Span, is_critical: bool) -> End {
        let (role, names) = match span.kind {
            SpanKind::Server => (Role::Server, SERVER),
            SpanKind::Client => (Role::Client, CLIENT),
            SpanKind::Store => (Role::Store, CLIENT),
        };
        let method = match span.kind {
            SpanKind::Server => self.names.method(span.service, span.method),
            SpanKind::Client => self.names.method(span.peer, span.method),
            SpanKind::Store => store_method(span.method),
        };
        let shift = i128::from(self.offset(span));
        let moments = names.iter().zip(span.stamps).map(|(name, at)| (*name, moved(at, shift)));
        End {
            role,
            service: self.names.service(span.service),
            instance: span.instance,
            peer: if role == Role::Server { String::new() } else { self.names.service(span.peer) },
            method,
            outcome: match span.outcome {
                SpanOutcome::Ok => "ok",
                SpanOutcome::Refused => "refused",
                SpanOutcome::Failed => "failed",
                SpanOutcome::Deadline => "deadline",
            },
            is_retried: span.is_retried,
            span: span.span,
            parent: span.parent,
            moments: moments.collect(),
            cpu_ns: span.cpu.0,
            bytes_in: span.bytes_in.into(),
            bytes_out: span.bytes_out.into(),
            is_critical,
        }
    }

    fn offset(&self, span: &Span) -> i64 {
        let own = self.offsets.get(&(span.service, span.instance)).copied();
        own.or(self.usual).unwrap_or(0)
    }

    fn identity(&self, recorded: &str) -> [u8; 16] {
        let Kept { result, trial, .. } = self.kept;
        xxh3_128(format!("{result}\0{trial}\0{recorded}").as_bytes()).to_be_bytes()
    }
}

fn moved(at: u64, shift: i128) -> u64 {
    (i128::from(at) + shift).clamp(0, LATEST) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MS};

    fn first(change: &dyn Fn(&mut Kept)) -> Option<Trace> {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = testing::kept(folder.path(), 1);
        change(&mut kept);
        let (request, spans) = kept.read().unwrap().next().unwrap().unwrap();
        Telling::new(&kept).trace(request, spans)
    }

    #[test]
    fn a_request_is_told_by_names_on_the_wall_clock() {
        let trace = first(&|_| ()).unwrap();
        let wall = |ms: u64| testing::WALL as u64 + ms * MS;
        assert_eq!((trace.intended, trace.done), (wall(97), wall(113)));
        assert_eq!(trace.ends[0].moments[1], ("sent", wall(98)));
        let told: Vec<String> = trace
            .ends
            .iter()
            .map(|end| {
                format!("{:?} {} {}>{} {}", end.role, end.method, end.service, end.peer, end.is_critical)
            })
            .collect();
        let expect = [
            "Generator browse generator>php true",
            "Server GET php> true",
            "Client read php>plot true",
            "Server read plot> true",
            "Store get plot>movies-db true",
        ];
        assert_eq!(told, expect);
        assert_eq!(trace.ends[1].moments[1], ("dequeued", wall(101)));
        assert_eq!((trace.ends[0].start(), trace.ends[0].end()), (wall(97), wall(113)));
        assert_eq!(trace.ends[1].parent, trace.ends[0].span);
        assert_eq!(trace.parts.values().sum::<u64>(), 16 * MS, "{:?}", trace.parts);
        assert_eq!((trace.parts["front"], trace.parts["transit"]), (5 * MS, 2 * MS));
        assert_eq!(trace.spans(), 5);
    }

    #[test]
    fn results_and_trials_do_not_share_identities() {
        let id = |change: &dyn Fn(&mut Kept)| first(change).unwrap().id;
        assert_eq!(id(&|_| ()), id(&|_| ()));
        assert_ne!(id(&|_| ()), id(&|kept| kept.trial = "0002".into()));
        assert_ne!(id(&|_| ()), id(&|kept| kept.result = "another".into()));
    }

    #[test]
    fn a_load_from_elsewhere_lies_around_the_entrance() {
        let trace = first(&|kept| {
            kept.traces.from_elsewhere = true;
            let request = &mut kept.traces.requests[0].request;
            (request.intended_ns, request.sent_ns, request.done_ns) = (7 * MS, Some(8 * MS), 23 * MS);
        })
        .unwrap();
        // The entrance has 10 of 15 ms, from 100 on, so that 2.5 are before it.
        let wall = |us: u64| testing::WALL as u64 + us * 1_000;
        assert_eq!((trace.intended, trace.done), (wall(96_500), wall(112_500)));
        assert_eq!(trace.ends[0].moments[1], ("sent", wall(97_500)));
    }

    #[test]
    fn one_clock_has_one_offset() {
        let trace = first(&|kept| kept.traces.processes[1].wall_offset_ns += 5_000_000_000).unwrap();
        assert_eq!(trace, first(&|_| ()).unwrap());
        let other = first(&|kept| {
            kept.traces.processes[1].boot = "another".into();
            kept.traces.processes[1].wall_offset_ns += 5;
        });
        assert_eq!(other.unwrap().ends[3].start(), testing::WALL as u64 + 103 * MS + 5);
    }

    #[test]
    fn what_has_no_moment_is_left_out_and_odd_ones_are_bounded() {
        assert_eq!(first(&|kept| kept.traces.requests[0].request.sent_ns = None), None);
        assert_eq!(first(&|kept| kept.traces.processes.clear()), None);
        let early =
            first(&|kept| kept.traces.processes.iter_mut().for_each(|one| one.wall_offset_ns = i64::MIN));
        assert_eq!(early.unwrap().done, 0);
        let late = first(&|kept| kept.traces.requests[0].request.done_ns = u64::MAX).unwrap();
        assert_eq!(late.done, i64::MAX as u64);
        let failed =
            first(&|kept| kept.traces.requests[0].request.outcome = RequestOutcome::Timeout).unwrap();
        assert!(failed.parts.is_empty() && !failed.ends[0].is_answered() && failed.ends[1].is_answered());
    }
}
