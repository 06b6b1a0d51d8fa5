//! Receivers of OTLP over HTTP, and Jaeger, which can also be queried.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::Error;
use crate::destination::{Destination, Host};
use crate::http::Http;
use crate::otlp::TracesRequest;
use crate::patience::{Failure, Patience};
use crate::sending::Sink;
use crate::trace::{Trace, hex};

/// The path of requests to take traces. Source: the specification of OTLP, "OTLP/HTTP Request".
const PATH: &str = "/v1/traces";

/// A receiver.
pub(crate) struct Receiver {
    name: String,
    /// URL for OTLP.
    takes: String,
    /// URL for queries; `None` if it answers none.
    answers: Option<String>,
    http: Http,
    patience: Patience,
}

/// Jaeger's answer for a trace. Source: `structuredResponse` of Jaeger's cmd/query/app, and its `model/json`.
#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    data: Option<Vec<FoundTrace>>,
}

#[derive(Deserialize)]
struct FoundTrace {
    #[serde(default)]
    spans: Vec<FoundSpan>,
}

#[derive(Deserialize)]
struct FoundSpan {
    #[serde(rename = "spanID")]
    id: String,
}

impl Receiver {
    /// The receiver at `takes`. It answers queries at the port `query`, if given.
    pub(crate) fn new(of: &Destination, takes: &Host, query: Option<u16>, patience: Patience) -> Receiver {
        let answers = query.map(|port| format!("http://{}", Host { port, ..takes.clone() }));
        Receiver {
            name: of.to_string(),
            takes: format!("http://{takes}"),
            answers,
            http: Http::new(patience.answer),
            patience,
        }
    }
}

impl Sink for Receiver {
    fn send(&mut self, traces: &[Trace]) -> Result<(), Error> {
        let json = TracesRequest::of(traces).json();
        let url = format!("{}{PATH}", self.takes);
        self.patience.tried(&self.name, || {
            let body = self.http.post(&url, &json)?.ok(PATH)?;
            rejected(&body).map_or(Ok(()), |problem| Err(Failure::Final(problem)))
        })
    }

    fn held(&mut self, traces: &[[u8; 16]]) -> Result<Option<Vec<u64>>, Error> {
        let Some(answers) = &self.answers else { return Ok(None) };
        let count = |trace: &[u8; 16]| {
            let path = format!("/api/traces/{}", hex(trace));
            self.patience.tried(&self.name, || {
                let answer = self.http.get(&format!("{answers}{path}"))?;
                if answer.status == 404 {
                    return Ok(0);
                }
                counted(&answer.ok(&path)?).ok_or_else(|| {
                    Failure::Final(format!(
                        "what answers {path} at {answers} is not Jaeger; name its port by ?query=PORT"
                    ))
                })
            })
        };
        traces.iter().map(count).collect::<Result<_, _>>().map(Some)
    }
}

/// A receiver's message about spans that it rejected from a request. Source: the specification of OTLP, "Partial
/// Success".
fn rejected(body: &[u8]) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_slice(body).ok()?;
    let part = answer.get("partialSuccess")?;
    let count = match part.get("rejectedSpans")? {
        serde_json::Value::String(text) => text.parse().ok()?,
        other => other.as_u64()?,
    };
    let said = part.get("errorMessage").and_then(serde_json::Value::as_str).unwrap_or_default();
    (count > 0).then(|| format!("it took some spans of a batch and rejected {count}: {said}"))
}

/// The number of spans in an answer, each identity once: a batch that was sent again is stored twice.
fn counted(body: &[u8]) -> Option<u64> {
    let found: Found = serde_json::from_slice(body).ok()?;
    let spans = found.data.iter().flatten().flat_map(|trace| &trace.spans);
    Some(spans.map(|span| span.id.as_str()).collect::<BTreeSet<_>>().len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood() {
        let check = |body: &str, expect: Option<&str>| {
            let found = rejected(body.as_bytes());
            assert_eq!(found.is_some(), expect.is_some(), "{body}: {found:?}");
            assert!(expect.is_none_or(|words| found.unwrap().contains(words)), "{body}");
        };
        check("", None);
        check("{}", None);
        check(r#"{"partialSuccess":{}}"#, None);
        check(r#"{"partialSuccess":{"rejectedSpans":"0","errorMessage":"a warning"}}"#, None);
        check(
            r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#,
            Some("rejected 3: too old"),
        );
        check(r#"{"partialSuccess":{"rejectedSpans":3}}"#, Some("rejected 3"));
        let count = |body: &str| counted(body.as_bytes());
        assert_eq!(count(r#"{"data":[{"spans":[{"spanID":"a"},{"spanID":"b"},{"spanID":"a"}]}]}"#), Some(2));
        assert_eq!(count(r#"{"data":null}"#), Some(0));
        assert_eq!((count("<html>"), count(r#"{"data":[{"spans":[{}]}]}"#)), (None, None));
    }
}
