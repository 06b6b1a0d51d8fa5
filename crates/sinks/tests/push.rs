//! Metrics sent to a receiver in this process, on a free port.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use export::Metrics;
use prost::Message;
use results::{LatencySummary, Trial};
use serde_json::{Value, json};

/// A request that never comes would else hang the test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Head and body of a request.
type Request = (String, Vec<u8>);

/// Takes one request, answers with `status`, and returns the request.
fn receiver(status: &'static str) -> (String, JoinHandle<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "cut off after {head}");
        }
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.expect("a length")];
        reader.read_exact(&mut body).unwrap();
        write!(reader.get_mut(), "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        (head, body)
    });
    (address, thread)
}

fn metrics() -> Metrics {
    let mut trial =
        Trial { id: "0001".into(), target: "sphinx".into(), offered_rps: 1_000.0, ..Trial::default() };
    trial.arrivals.completed = 41;
    trial.all.response_time =
        LatencySummary { count: 9, mean_us: Some(2e6), p50_us: Some(1e6), ..LatencySummary::default() };
    Metrics::of_trial("demo", &trial)
}

#[test]
fn a_collector_gets_every_metric() {
    let (address, thread) = receiver("200 OK");
    sinks::push_otlp(&metrics(), &address, 5, 7).unwrap();
    let (head, body) = thread.join().unwrap();
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
    let request: Value = serde_json::from_slice(&body).unwrap();
    let families = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(families.len(), metrics().families.len());
    let resource = request["resourceMetrics"][0]["resource"]["attributes"].as_array().unwrap();
    let instance = json!({ "key": "service.instance.id", "value": { "stringValue": host::name() } });
    assert!(resource.contains(&instance), "{resource:?}");
    let family = |name: &str| families.iter().find(|family| family["name"] == name).unwrap();
    let sum = &family("taillight_requests")["sum"];
    assert_eq!(sum["isMonotonic"], true);
    let point = &sum["dataPoints"][0];
    // 64-bit numbers are text.
    assert!(point["startTimeUnixNano"] == "5" && point["timeUnixNano"] == "7", "{point}");
    assert_eq!(point["attributes"].as_array().map(Vec::len), Some(5));
    let times = &family("taillight_response_time_seconds")["summary"]["dataPoints"][0];
    assert!(times["count"] == "9" && times["sum"] == 18.0, "{times}");
    assert_eq!(times["quantileValues"][0]["value"], 1.0);
    assert!(family("taillight_offered_requests_per_second")["gauge"].is_object());
}

#[test]
fn a_gateway_gets_the_text() {
    let (address, thread) = receiver("202 Accepted");
    sinks::push_openmetrics(&metrics(), &format!("{address}/metrics/job/taillight")).unwrap();
    let (head, body) = thread.join().unwrap();
    assert!(head.starts_with("PUT /metrics/job/taillight HTTP/1.1"), "{head}");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert_eq!(String::from_utf8(body).unwrap(), metrics().openmetrics());
}

/// A request of remote write, as its specification has it.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
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
    timestamp: i64,
}

#[test]
fn a_receiver_of_remote_write_gets_every_series() {
    let (address, thread) = receiver("204 No Content");
    sinks::remote_write(&metrics(), &format!("{address}/api/v1/write"), 1_764_000_000_123).unwrap();
    let (head, body) = thread.join().unwrap();
    assert!(head.starts_with("POST /api/v1/write HTTP/1.1"), "{head}");
    let head = head.to_lowercase();
    for line in ["content-encoding: snappy", "x-prometheus-remote-write-version: 0.1.0"] {
        assert!(head.contains(line), "{head}");
    }
    let mut rest = body.as_slice();
    let length = prost::encoding::decode_varint(&mut rest).unwrap() as usize;
    let (literal, bytes) = rest.split_at(5);
    assert_eq!((literal[0], bytes.len()), (0xfc, length));
    assert_eq!(literal[1..], (length as u32 - 1).to_le_bytes());
    let series = WriteRequest::decode(bytes).unwrap().timeseries;
    let text = metrics().prometheus();
    assert_eq!(series.len(), text.lines().filter(|line| !line.starts_with('#')).count());
    for TimeSeries { labels, samples } in &series {
        assert!(labels.is_sorted_by(|a, b| a.name < b.name), "{labels:?}");
        assert!(labels.iter().all(|label| !label.value.is_empty()), "{labels:?}");
        for (name, value) in [("job", "taillight".to_owned()), ("instance", host::name())] {
            assert!(labels.contains(&Label { name: name.into(), value }), "{labels:?}");
        }
        assert_eq!((samples.len(), samples[0].timestamp), (1, 1_764_000_000_123));
    }
    let name = Label { name: "__name__".into(), value: "taillight_response_time_seconds_count".into() };
    let count = series.iter().find(|series| series.labels[0] == name).unwrap();
    assert_eq!(count.samples[0].value, 9.0);
}

#[test]
fn a_push_that_fails_says_where_and_why() {
    let (address, thread) = receiver("503 Service Unavailable");
    let error = sinks::push_otlp(&metrics(), &address, 0, 1).unwrap_err().to_string();
    assert!(error.contains(&address) && error.contains("503"), "{error}");
    thread.join().unwrap();
    // The port is closed by now.
    let error = sinks::push_otlp(&metrics(), &address, 0, 1).unwrap_err().to_string();
    assert!(error.contains("cannot push metrics to") && error.contains("http://HOST:PORT"), "{error}");
}
