use export::{Metric, Metrics, Series};
use prost::Message;
use prost::encoding::encode_varint;

use crate::Error;
use crate::push::{agent, failed};

/// A request. Source: Prometheus Remote-Write 1.0.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    at_ms: i64,
}

/// Sends the metrics to a receiver of Prometheus' remote write, such as `http://localhost:9090/api/v1/write`.
///
/// Each series has the labels `job="taillight"` and `instance`, the name of this machine.
///
/// Units: `at_ms` in milliseconds since the Unix epoch: the moment of the figures.
/// Errors: an address that is not plain HTTP, a receiver that cannot be reached within 10 s or refuses.
pub fn remote_write(metrics: &Metrics, address: &str, at_ms: i64) -> Result<(), Error> {
    let instance = host::name();
    let series = metrics.families.iter().flat_map(Metric::series);
    let series = series.map(|series| timed(series, &instance, at_ms));
    let body = WriteRequest { series: series.collect() }.encode_to_vec();
    let request = agent()
        .post(address)
        .header("Content-Type", "application/x-protobuf")
        .header("Content-Encoding", "snappy")
        .header("X-Prometheus-Remote-Write-Version", "0.1.0");
    request.send(snappy(&body)).map(drop).map_err(|error| failed(address, &error))
}

fn timed(series: Series, instance: &str, at_ms: i64) -> TimeSeries {
    let mut all = series.labels;
    // A scrape adds both. Without them the series of several machines would be one.
    for (name, value) in [("job", "taillight"), ("instance", instance)] {
        if !all.iter().any(|(label, _)| label == name) {
            all.push((name.into(), value.into()));
        }
    }
    let name = Label { name: "__name__".into(), value: series.name };
    // An empty label is none, and must not be sent.
    let labels = all.into_iter().filter(|(_, value)| !value.is_empty());
    let labels = labels.map(|(name, value)| Label { name, value });
    let mut labels: Vec<Label> = std::iter::once(name).chain(labels).collect();
    // The specification wants them in order.
    labels.sort_by(|a, b| a.name.cmp(&b.name));
    TimeSeries { labels, samples: vec![Sample { value: series.value, at_ms }] }
}

/// The bytes in Snappy's block format, which receivers want, as one literal: the requests are too small to need a library.
///
/// Source: google/snappy, `format_description.txt`: the length as a varint; 0xfc begins a literal, whose length less one
/// follows in four bytes.
fn snappy(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_varint(bytes.len() as u64, &mut out);
    if let Some(length) = bytes.len().checked_sub(1) {
        out.push(0xfc);
        out.extend_from_slice(&(length as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }
    out
}
