//! Metrics. Source: opentelemetry-proto 1.x, `metrics/v1/metrics.proto`.

use export::{Kind, Metric, Metrics, Point, Value};
use serde_json::{Value as Json, json};

use super::{Attribute, Resource, Scope, text};

/// Each value counts from the start. Source: `AggregationTemporality`.
const CUMULATIVE: u8 = 2;

/// The body of a request to a collector. Units: both times in ns since the Unix epoch: the start, and the moment of the
/// figures.
pub(crate) fn metrics_json(metrics: &Metrics, started: u64, at: u64) -> Vec<u8> {
    let families: Vec<Json> = metrics.families.iter().map(|family| of_family(family, started, at)).collect();
    let attributes = vec![text("service.name", "taillight"), text("service.instance.id", &host::name())];
    let resource = Resource { attributes };
    let scopes = json!([{ "scope": Scope::taillight(), "metrics": families }]);
    let request = json!({ "resourceMetrics": [{ "resource": resource, "scopeMetrics": scopes }] });
    request.to_string().into_bytes()
}

fn of_family(family: &Metric, started: u64, at: u64) -> Json {
    let points: Vec<Json> = family.points.iter().map(|point| of_point(point, started, at)).collect();
    let (kind, data) = match family.kind {
        Kind::Gauge => ("gauge", json!({ "dataPoints": points })),
        Kind::Counter => (
            "sum",
            json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true }),
        ),
        Kind::Summary => ("summary", json!({ "dataPoints": points })),
        Kind::Histogram => {
            ("histogram", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE }))
        }
    };
    // UCUM, as OpenTelemetry asks for.
    let unit = match family.unit {
        "seconds" => "s",
        "bytes" => "By",
        _ => "1",
    };
    json!({ "name": family.name, "description": family.help, "unit": unit, kind: data })
}

fn of_point(point: &Point, started: u64, at: u64) -> Json {
    let mut json = match &point.value {
        Value::Number(value) => json!({ "asDouble": value }),
        Value::Summary { count, sum, quantiles } => {
            let quantiles = quantiles.iter().map(|(q, value)| json!({ "quantile": q, "value": value }));
            let quantiles: Vec<Json> = quantiles.collect();
            json!({ "count": count.to_string(), "sum": sum, "quantileValues": quantiles })
        }
        Value::Histogram { buckets, above, sum } => {
            let bounds: Vec<f64> = buckets.iter().map(|bucket| bucket.0).collect();
            let counts: Vec<u64> = buckets.iter().map(|bucket| bucket.1).chain([*above]).collect();
            let count = counts.iter().sum::<u64>().to_string();
            let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
            json!({ "count": count, "sum": sum, "bucketCounts": counts, "explicitBounds": bounds })
        }
    };
    let labels: Vec<Attribute> = point.labels.iter().map(|(name, value)| text(name, value)).collect();
    json["attributes"] = json!(labels);
    json["startTimeUnixNano"] = json!(started.to_string());
    json["timeUnixNano"] = json!(at.to_string());
    json
}
