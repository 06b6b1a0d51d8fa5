//! Traced requests of a trial, written for joining with the spans of the services.

use std::collections::BTreeMap;

use hist::Latency;
use openloop::{Moments, OperationTimes, Outcome, Recording, SendTimes, Traced};
use results::{ByLot, RequestOutcome, TracedRequest, TracedRequests};
use spec::Spec;

/// The traced requests of a recording; `None` for a load without tracing.
pub(crate) fn sampled(spec: &Spec, recording: &Recording) -> Option<TracedRequests> {
    let one_in = spec.workload.traced_one_in()?;
    Some(TracedRequests {
        one_in: one_in.into(),
        requests: recording.traced.iter().map(|traced| request(traced, recording)).collect(),
        by_lot: by_lot(recording),
    })
}

fn request(traced: &Traced, recording: &Recording) -> TracedRequest {
    let Moments { intended, sent, done } = traced.moments;
    TracedRequest {
        trace: format!("{:032x}", u128::from_be_bytes(traced.trace)),
        span: traced.span,
        operation: recording.operations[traced.operation].name.clone(),
        intended_ns: intended.0,
        sent_ns: sent.map(|SendTimes { at, .. }| at.0),
        first_byte_ns: sent.map(|SendTimes { first_byte, .. }| first_byte.0),
        done_ns: done.0,
        outcome: match traced.outcome {
            Outcome::Completed => RequestOutcome::Completed,
            Outcome::Error => RequestOutcome::Error,
            Outcome::Timeout => RequestOutcome::Timeout,
            Outcome::Unfinished => RequestOutcome::Unfinished,
        },
        bytes: traced.bytes,
    }
}

/// For each operation with a traced request.
fn by_lot(recording: &Recording) -> BTreeMap<String, ByLot> {
    let of = |(place, times): (usize, &OperationTimes)| {
        let mut traced = Latency::new();
        let own = recording.traced.iter().filter(|one| one.operation == place);
        own.filter_map(Traced::service_time).for_each(|time| traced.record(time));
        // The service times of all requests include the traced ones.
        let untraced = times.service_time.without(&traced)?;
        (!traced.is_empty()).then(|| (times.name.clone(), ByLot { traced, untraced }))
    };
    recording.operations.iter().enumerate().filter_map(of).collect()
}
