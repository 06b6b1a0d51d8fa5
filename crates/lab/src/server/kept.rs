//! Stores the spans of a trial's traced requests next to its record, for programs that show traces.

use std::collections::HashMap;

use results::{
    KeptProcess, KeptRequest, KeptService, KeptTraces, ResultFolder, TracedRequest, TracedRequests,
};
use traces::{Span, SpanFile, TraceId};

use super::{Server, spans, tracing};
use crate::Error;

impl Server {
    /// Stores `requests` and their spans next to the record of the trial `id`, if its services write spans. Called
    /// after the trial, so that the trial does not wait for a disk. `from_elsewhere`: whether the load came from other
    /// machines.
    ///
    /// Errors: they cannot be written.
    pub(crate) fn keep_spans(
        &self,
        requests: &TracedRequests,
        from_elsewhere: bool,
        folder: &ResultFolder,
        id: &str,
    ) -> Result<(), Error> {
        let Some(own) = self.managed() else { return Ok(()) };
        let plan = own.running.plan();
        let (Some(left), Some(entrance)) = (own.spans(), tracing::entrance(plan.app())) else {
            return Ok(());
        };
        // Unreadable files have already made the trial invalid.
        let Ok(files) = spans::all(left) else { return Ok(()) };
        let started = plan.app().services.iter().filter(|service| plan.starts(&service.name));
        let named = started.filter_map(|one| {
            Some(KeptService { number: one.number?, name: one.name.clone(), methods: one.methods.clone() })
        });
        let (kept, bytes) = kept(requests, &files, KeptTraces::MOST_SPANS);
        if kept.requests.is_empty() {
            return Ok(());
        }
        let kept = KeptTraces { entrance, services: named.collect(), from_elsewhere, ..kept };
        let json = serde_json::to_vec(&kept).expect("a record without maps of odd keys becomes JSON");
        folder.write(&KeptTraces::name_of_spans(id), &bytes)?;
        folder.write(&KeptTraces::name(id), &json)?;
        Ok(())
    }
}

/// The requests with their spans, up to `most` of these, and the bytes of the file of spans.
fn kept(requests: &TracedRequests, files: &[SpanFile], most: usize) -> (KeptTraces, Vec<u8>) {
    let mut by_trace: HashMap<TraceId, Vec<&Span>> =
        requests.requests.iter().filter_map(|one| Some((identity(one)?, Vec::new()))).collect();
    for span in files.iter().flat_map(|file| &file.spans) {
        if let Some(spans) = by_trace.get_mut(&span.trace) {
            spans.push(span);
        }
    }
    let mut kept = KeptTraces { one_in: requests.one_in, ..KeptTraces::default() };
    let (mut bytes, mut count) = (Vec::new(), 0);
    for request in &requests.requests {
        let Some(mut spans) = identity(request).and_then(|trace| by_trace.remove(&trace)) else { continue };
        if spans.len() > KeptTraces::MOST_OF_ONE || count + spans.len() > most {
            kept.left_out += 1;
            continue;
        }
        count += spans.len();
        spans.sort_by_key(|span| (span.stamps[0], span.span));
        spans.iter().for_each(|span| bytes.extend(span.write()));
        kept.requests.push(KeptRequest { request: request.clone(), spans: spans.len() as u32 });
    }
    let written = files.iter().filter(|file| !file.spans.is_empty()).map(|file| &file.origin);
    let process = |origin: &traces::Origin| KeptProcess {
        service: origin.service,
        instance: origin.instance,
        boot: origin.boot.clone(),
        wall_offset_ns: origin.wall_offset,
    };
    kept.processes = written.map(process).collect();
    (kept, bytes)
}

pub(super) fn identity(request: &TracedRequest) -> Option<TraceId> {
    u128::from_str_radix(&request.trace, 16).ok().map(|trace| TraceId(trace.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use results::RequestOutcome;
    use traces::{Origin, SPAN_BYTES, SpanKind, SpanOutcome};
    use units::Nanos;

    use super::*;

    fn span(trace: u8, span: u64, begin: u64) -> Span {
        Span {
            service: 6,
            instance: 0,
            peer: 0,
            method: 0,
            kind: SpanKind::Server,
            outcome: SpanOutcome::Ok,
            is_retried: false,
            trace: TraceId([trace; 16]),
            span,
            parent: 0,
            stamps: [begin; 6],
            cpu: Nanos::ZERO,
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    fn file(service: u16, spans: &[Span]) -> SpanFile {
        let origin =
            Origin { service, instance: 1, boot: "b".into(), wall_offset: i64::from(service), pid: 1 };
        SpanFile { origin, spans: spans.to_vec(), broken: None }
    }

    fn request(trace: u8) -> TracedRequest {
        TracedRequest {
            trace: format!("{trace:02x}").repeat(16),
            span: 1,
            operation: "browse".into(),
            intended_ns: 0,
            sent_ns: Some(0),
            first_byte_ns: Some(0),
            done_ns: 0,
            outcome: RequestOutcome::Completed,
            bytes: 0,
        }
    }

    #[test]
    fn each_request_has_its_spans_in_their_order_and_no_others() {
        // The second is of the warm-up, and the third left nothing.
        let files = [
            file(3, &[span(1, 11, 5), span(2, 21, 1)]),
            file(6, &[span(4, 41, 9), span(1, 12, 3)]),
            file(7, &[]),
        ];
        let asked = TracedRequests {
            one_in: 10,
            requests: [1, 3, 4].map(request).into(),
            ..TracedRequests::default()
        };
        let (all, bytes) = kept(&asked, &files, 100);
        let counts: Vec<u32> = all.requests.iter().map(|one| one.spans).collect();
        assert_eq!((counts, all.left_out, all.one_in), (vec![2, 0, 1], 0, 10));
        let (records, rest) = bytes.as_chunks::<SPAN_BYTES>();
        let spans: Vec<u64> = records.iter().map(|record| Span::read(record).unwrap().span).collect();
        assert!(rest.is_empty() && spans == [12, 11, 41], "{spans:?}");
        let processes: Vec<(u16, i64)> =
            all.processes.iter().map(|one| (one.service, one.wall_offset_ns)).collect();
        assert_eq!(processes, [(3, 3), (6, 6)]);
        // Requests are kept completely or not at all.
        let (some, bytes) = kept(&asked, &files, 1);
        let counts: Vec<u32> = some.requests.iter().map(|one| one.spans).collect();
        assert_eq!((counts, some.left_out, bytes.len()), (vec![0, 1], 1, SPAN_BYTES));
    }
}
