use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue as Any, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric as Family, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use crate::Error;
use crate::metrics::{Kind, Metric, Metrics, Point, Value};
use crate::push::{agent, failed};

impl Metrics {
    /// Sends the metrics to the OpenTelemetry collector at `address`, such as `http://localhost:4318`, by OTLP over
    /// HTTP with Protobuf.
    ///
    /// Units: both times in nanoseconds since the Unix epoch: the trial's start, and the moment of the figures.
    /// Errors: an address that is not plain HTTP, a collector that cannot be reached within 10 s or refuses.
    pub fn push_otlp(&self, address: &str, started: u64, at: u64) -> Result<(), Error> {
        // The path that the specification gives to a base address.
        let whole = format!("{}/v1/metrics", address.trim_end_matches('/').trim_end_matches("/v1/metrics"));
        let request = agent().post(&whole).header("Content-Type", "application/x-protobuf");
        request.send(&self.otlp(started, at)).map(drop).map_err(|error| failed(&whole, &error))
    }

    /// The body of a request to a collector.
    fn otlp(&self, started: u64, at: u64) -> Vec<u8> {
        let scope = InstrumentationScope {
            name: "taillight".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            ..InstrumentationScope::default()
        };
        let metrics = self.families.iter().map(|family| converted(family, started, at)).collect();
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }];
        let attributes = vec![attribute("service.name", "taillight")];
        let resource = Some(Resource { attributes, ..Resource::default() });
        let resource = ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() };
        ExportMetricsServiceRequest { resource_metrics: vec![resource] }.encode_to_vec()
    }
}

fn converted(family: &Metric, started: u64, at: u64) -> Family {
    let numbers = || -> Vec<NumberDataPoint> {
        let number = |point: &Point| match point.value {
            Value::Number(value) => Some(NumberDataPoint {
                attributes: attributes(point),
                start_time_unix_nano: started,
                time_unix_nano: at,
                value: Some(Number::AsDouble(value)),
                ..NumberDataPoint::default()
            }),
            Value::Summary { .. } | Value::Histogram { .. } => None,
        };
        family.points.iter().filter_map(number).collect()
    };
    let data = match family.kind {
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Counter => Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
            is_monotonic: true,
        }),
        Kind::Summary => Data::Summary(Summary {
            data_points: family.points.iter().filter_map(|point| distribution(point, started, at)).collect(),
        }),
        Kind::Histogram => Data::Histogram(Histogram {
            data_points: family.points.iter().filter_map(|point| histogram(point, started, at)).collect(),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
        }),
    };
    // UCUM, as OpenTelemetry asks for.
    let unit = match family.unit {
        "seconds" => "s",
        "bytes" => "By",
        _ => "1",
    };
    let (name, description) = (family.name.clone(), family.help.into());
    Family { name, description, unit: unit.into(), data: Some(data), ..Family::default() }
}

fn distribution(point: &Point, started: u64, at: u64) -> Option<SummaryDataPoint> {
    let Value::Summary { count, sum, quantiles } = &point.value else { return None };
    let quantiles = quantiles.iter().map(|&(quantile, value)| ValueAtQuantile { quantile, value });
    Some(SummaryDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: started,
        time_unix_nano: at,
        count: *count,
        sum: *sum,
        quantile_values: quantiles.collect(),
        flags: 0,
    })
}

fn histogram(point: &Point, started: u64, at: u64) -> Option<HistogramDataPoint> {
    let Value::Histogram { buckets, above, sum } = &point.value else { return None };
    let counts: Vec<u64> = buckets.iter().map(|bucket| bucket.1).chain([*above]).collect();
    Some(HistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: started,
        time_unix_nano: at,
        count: counts.iter().sum(),
        sum: Some(*sum),
        bucket_counts: counts,
        explicit_bounds: buckets.iter().map(|bucket| bucket.0).collect(),
        ..HistogramDataPoint::default()
    })
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    point.labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = Any { value: Some(AnyValue::StringValue(value.into())) };
    KeyValue { key: name.into(), value: Some(value), ..KeyValue::default() }
}
