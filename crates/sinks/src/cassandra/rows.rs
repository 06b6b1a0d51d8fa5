//! The tables, and the rows of a trace in them.

use results::Part;

use super::wire::{bigint, blob, boolean, int, map, text};
use crate::trace::{End, Trace};

/// Statements that create the keyspace and its tables if they do not exist. An existing keyspace keeps its replication.
pub(super) fn schema(keyspace: &str) -> [String; 3] {
    [
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.spans (trace_id blob, span_id bigint, parent_id bigint, role text, \
             service text, instance int, peer text, method text, outcome text, retried boolean, critical boolean, \
             start_ns bigint, end_ns bigint, moments_ns frozen<map<text, bigint>>, cpu_ns bigint, bytes_in bigint, \
             bytes_out bigint, PRIMARY KEY (trace_id, span_id))"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.requests (result text, trial text, trace_id blob, recorded text, \
             operation text, outcome text, due_ns bigint, sent_ns bigint, done_ns bigint, bytes bigint, spans int, \
             parts_ns frozen<map<text, bigint>>, PRIMARY KEY ((result, trial), trace_id))"
        ),
    ]
}

pub(super) fn insert_span(keyspace: &str) -> String {
    format!(
        "INSERT INTO {keyspace}.spans (trace_id, span_id, parent_id, role, service, instance, peer, method, outcome, retried, \
         critical, start_ns, end_ns, moments_ns, cpu_ns, bytes_in, bytes_out) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
}

/// The values of a span, in the order of [`insert_span`]. An identity keeps its bits in a signed number of the table.
pub(super) fn span(trace: &Trace, end: &End) -> [Vec<u8>; 17] {
    [
        blob(&trace.id),
        bigint(end.span),
        bigint(end.parent),
        text(end.role.name()),
        text(&end.service),
        int(i32::from(end.instance)),
        text(&end.peer),
        text(&end.method),
        text(end.outcome),
        boolean(end.is_retried),
        boolean(end.is_critical),
        bigint(end.start()),
        bigint(end.end()),
        map(end.moments.iter().map(|(name, at)| (*name, *at))),
        bigint(end.cpu_ns),
        bigint(end.bytes_in),
        bigint(end.bytes_out),
    ]
}

pub(super) fn insert_request(keyspace: &str) -> String {
    format!(
        "INSERT INTO {keyspace}.requests (result, trial, trace_id, recorded, operation, outcome, due_ns, sent_ns, done_ns, bytes, \
         spans, parts_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
}

/// The values of a request, in the order of [`insert_request`].
pub(super) fn request(trace: &Trace) -> [Vec<u8>; 12] {
    [
        text(&trace.result),
        text(&trace.trial),
        blob(&trace.id),
        text(&trace.recorded),
        text(&trace.operation),
        text(trace.outcome),
        bigint(trace.intended),
        bigint(trace.sent),
        bigint(trace.done),
        bigint(trace.bytes),
        int(i32::try_from(trace.spans()).unwrap_or(i32::MAX)),
        // All parts, so that a table of requests has a number in each column.
        map(Part::ALL.iter().map(|part| (part.name(), trace.parts.get(part.name()).copied().unwrap_or(0)))),
    ]
}

/// The statement that counts a trace's rows.
pub(super) fn count(keyspace: &str) -> String {
    format!("SELECT COUNT(*) FROM {keyspace}.spans WHERE trace_id = ?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn each_column_has_a_value() {
        let trace = &sample::traces(1)[0];
        let check = |statement: String, values: usize| {
            let columns = statement.split_once('(').unwrap().1.split_once(')').unwrap().0;
            assert_eq!(columns.split(", ").count(), values, "{statement}");
            assert_eq!(statement.matches('?').count(), values, "{statement}");
        };
        check(insert_span("k"), span(trace, &trace.ends[0]).len());
        check(insert_request("k"), request(trace).len());
        for (statement, table) in
            [(insert_span("k"), &schema("k")[1]), (insert_request("k"), &schema("k")[2])]
        {
            let columns = statement.split_once('(').unwrap().1.split_once(')').unwrap().0;
            for column in columns.split(", ") {
                assert!(table.contains(&format!("{column} ")), "{column}: {table}");
            }
        }
    }
}
