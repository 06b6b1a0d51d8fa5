//! Traces and metrics in the JSON form of OpenTelemetry's protocol, which receivers take over HTTP and files hold line
//! by line.
//!
//! Source: opentelemetry-proto 1.x, `trace/v1/trace.proto`, and the specification of OTLP, "JSON Protobuf Encoding":
//! names in camelCase, identities in hexadecimal digits, 64-bit numbers as text.

mod metrics;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::trace::{End, Role, Trace, hex};

pub(crate) use metrics::metrics_json;

/// Kinds of spans and codes of their status. Source: `Span.SpanKind` and `Status.StatusCode`.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const CLIENT: u8 = 3;
const UNSET: u8 = 0;
const ERROR: u8 = 2;

/// The body of a request to a receiver, and a line of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TracesRequest {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Scope {
    name: String,
    version: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    parent_span_id: String,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    events: Vec<Event>,
    status: Status,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    time_unix_nano: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Status {
    code: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Attribute {
    key: String,
    value: AttributeValue,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum AttributeValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "boolValue")]
    Flag(bool),
}

impl Scope {
    fn taillight() -> Scope {
        Scope { name: "taillight".into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}

impl TracesRequest {
    /// The request for `traces`, with the spans of each service instance grouped.
    pub(crate) fn of(traces: &[Trace]) -> TracesRequest {
        let mut by_instance: BTreeMap<(&str, u16), Vec<Span>> = BTreeMap::new();
        for trace in traces {
            for end in &trace.ends {
                by_instance.entry((end.service.as_str(), end.instance)).or_default().push(span(trace, end));
            }
        }
        let of_instance = |((service, instance), spans): ((&str, u16), Vec<Span>)| {
            let attributes = vec![
                text("service.name", service),
                text("service.instance.id", &format!("{service}-{instance}")),
            ];
            ResourceSpans {
                resource: Resource { attributes },
                scope_spans: vec![ScopeSpans { scope: Scope::taillight(), spans }],
            }
        };
        TracesRequest { resource_spans: by_instance.into_iter().map(of_instance).collect() }
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("structures of text become JSON")
    }

    /// The ids of its spans, by trace id.
    pub(crate) fn identities(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let scopes = self.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
        let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for span in scopes.flat_map(|scope| &scope.spans) {
            all.entry(&span.trace_id).or_default().insert(&span.span_id);
        }
        all
    }
}

fn span(trace: &Trace, end: &End) -> Span {
    let id = |id: u64| hex(&id.to_be_bytes());
    let inner = end.moments.get(1..end.moments.len().saturating_sub(1)).unwrap_or_default();
    let event = |(name, at): &(&str, u64)| Event { time_unix_nano: at.to_string(), name: (*name).to_owned() };
    let (kind, name) = match end.role {
        Role::Generator => (INTERNAL, end.method.clone()),
        Role::Server => (SERVER, format!("{}.{}", end.service, end.method)),
        Role::Client | Role::Store => (CLIENT, format!("{}.{}", end.peer, end.method)),
    };
    let is_answered = end.is_answered();
    Span {
        trace_id: trace.hex(),
        span_id: id(end.span),
        parent_span_id: if end.parent == 0 { String::new() } else { id(end.parent) },
        name,
        kind,
        start_time_unix_nano: end.start().to_string(),
        end_time_unix_nano: end.end().to_string(),
        attributes: if end.role == Role::Generator { of_request(trace) } else { of_end(end) },
        events: inner.iter().map(event).collect(),
        status: Status {
            code: if is_answered { UNSET } else { ERROR },
            message: if is_answered { String::new() } else { end.outcome.into() },
        },
    }
}

fn of_request(trace: &Trace) -> Vec<Attribute> {
    let mut all = vec![
        text("taillight.result", &trace.result),
        text("taillight.trial", &trace.trial),
        text("taillight.trace", &trace.recorded),
        text("taillight.outcome", trace.outcome),
        number("taillight.bytes", trace.bytes),
        number("taillight.response_ns", trace.done.saturating_sub(trace.intended)),
    ];
    all.extend(trace.parts.iter().map(|(part, ns)| number(&format!("taillight.part.{part}_ns"), *ns)));
    all
}

fn of_end(end: &End) -> Vec<Attribute> {
    let mut all = vec![
        text("taillight.outcome", end.outcome),
        flag("taillight.critical", end.is_critical),
        number("taillight.bytes_in", end.bytes_in),
        number("taillight.bytes_out", end.bytes_out),
    ];
    match end.role {
        Role::Server => all.push(number("taillight.cpu_ns", end.cpu_ns)),
        _ => all.push(text("peer.service", &end.peer)),
    }
    if end.is_retried {
        all.push(flag("taillight.retried", true));
    }
    all
}

fn text(key: &str, value: &str) -> Attribute {
    Attribute { key: key.into(), value: AttributeValue::Text(value.into()) }
}

fn number(key: &str, value: u64) -> Attribute {
    // The protocol's numbers are signed.
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    Attribute { key: key.into(), value: AttributeValue::Number(value.to_string()) }
}

fn flag(key: &str, value: bool) -> Attribute {
    Attribute { key: key.into(), value: AttributeValue::Flag(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MS};

    #[test]
    fn spans_lie_with_their_instance_and_have_their_moments() {
        let traces = testing::traces(2);
        let request = TracesRequest::of(&traces);
        let json: serde_json::Value = serde_json::from_slice(&request.json()).unwrap();
        let services: Vec<&str> = json["resourceSpans"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["resource"]["attributes"][0]["value"]["stringValue"].as_str().unwrap())
            .collect();
        assert_eq!(services, ["generator", "php", "plot"]);
        let of = |place: usize, span: usize| &json["resourceSpans"][place]["scopeSpans"][0]["spans"][span];
        let (root, php) = (of(0, 0), of(1, 0));
        assert_eq!((root["name"].as_str(), root["parentSpanId"].as_str()), (Some("browse"), None));
        assert_eq!(root["traceId"], traces[0].hex());
        assert_eq!((&php["parentSpanId"], php["kind"].as_u64()), (&root["spanId"], Some(2)));
        assert_eq!(php["spanId"], "0000000000000001");
        let at = |ms: u64| (testing::WALL as u64 + ms * MS).to_string();
        assert_eq!((&php["startTimeUnixNano"], &php["endTimeUnixNano"]), (&at(100).into(), &at(110).into()));
        assert_eq!(
            (&php["events"][0]["name"], &php["events"][0]["timeUnixNano"]),
            (&"dequeued".into(), &at(101).into())
        );
        let attribute = |span: &serde_json::Value, key: &str| {
            let all = span["attributes"].as_array().unwrap();
            all.iter().find(|one| one["key"] == key).map(|one| one["value"].clone()).unwrap_or_default()
        };
        assert_eq!(attribute(root, "taillight.part.front_ns")["intValue"], (5 * MS).to_string());
        assert_eq!(attribute(root, "taillight.response_ns")["intValue"], (16 * MS).to_string());
        assert_eq!(attribute(of(2, 1), "peer.service")["stringValue"], "movies-db");
    }

    #[test]
    fn lines_are_read_back_as_they_were_written() {
        let traces = testing::traces(3);
        let request = TracesRequest::of(&traces);
        let read: TracesRequest = serde_json::from_slice(&request.json()).unwrap();
        assert_eq!(read, request);
        let counts: Vec<usize> = read.identities().values().map(BTreeSet::len).collect();
        assert_eq!(counts, [5, 5, 5]);
    }

    #[test]
    fn what_failed_says_how() {
        let mut traces = testing::traces(1);
        traces[0].ends[2].outcome = "deadline";
        traces[0].ends[2].is_retried = true;
        let span = span(&traces[0], &traces[0].ends[2]);
        assert_eq!((span.status.code, span.status.message.as_str()), (ERROR, "deadline"));
        assert!(span.attributes.contains(&flag("taillight.retried", true)));
        // One with a single moment, as no program writes.
        traces[0].ends[2].moments.truncate(1);
        assert!(super::span(&traces[0], &traces[0].ends[2]).events.is_empty());
    }
}
