use std::cell::Cell;
use std::fs;

use results::{ByLot, Part, TracedRequest};
use traces::{SPAN_BYTES, Span, SpanKind, SpanOutcome, TraceId};

use super::*;

const PHP: u16 = 3;
const PLOT: u16 = 6;
const MS: u64 = 1_000_000;

fn span(kind: SpanKind, service: u16, peer: u16, (span, parent): (u64, u64), stamps: [u64; 6]) -> Span {
    Span {
        service,
        instance: 0,
        peer,
        method: 0,
        kind,
        outcome: SpanOutcome::Ok,
        is_retried: false,
        trace: TraceId([7; 16]),
        span,
        parent,
        stamps: stamps.map(|ms| ms * MS),
        cpu: Nanos(MS),
        bytes_in: 10,
        bytes_out: 20,
    }
}

/// The file of a service, as it writes it.
fn file(service: u16, spans: &[Span]) -> Vec<u8> {
    let mut bytes = vec![0; SPAN_BYTES];
    bytes[..6].copy_from_slice(b"SPH1\x01\0");
    bytes[6..8].copy_from_slice(&service.to_le_bytes());
    bytes[16..52].copy_from_slice(b"01234567-89ab-cdef-0123-456789abcdef");
    spans.iter().for_each(|span| bytes.extend(span.write()));
    bytes
}

/// A page that php answers in 10 ms, of which plot takes 4; the generator sends it 1 ms after it was due, and waits for 15 more.
fn left_in(folder: &Path) {
    let php = [
        span(SpanKind::Server, PHP, 0, (1, 99), [100, 101, 101, 110, 110, 110]),
        span(SpanKind::Client, PHP, PLOT, (2, 1), [102, 102, 102, 102, 108, 108]),
    ];
    let plot = [span(SpanKind::Server, PLOT, 0, (3, 2), [103, 103, 103, 107, 107, 107])];
    fs::write(folder.join("php-0.spans"), file(PHP, &php)).unwrap();
    fs::write(folder.join("plot-0.spans"), file(PLOT, &plot)).unwrap();
    // A service that got no request.
    fs::write(folder.join("ads-0.spans"), b"SPH1").unwrap();
}

fn asked(outcome: RequestOutcome) -> TracedRequests {
    let request = TracedRequest {
        trace: "07".repeat(16),
        span: 99,
        operation: "browse".into(),
        intended_ns: 97 * MS,
        sent_ns: Some(98 * MS),
        first_byte_ns: Some(112 * MS),
        done_ns: 113 * MS,
        outcome,
        bytes: 20,
    };
    let by_lot = BTreeMap::from([("browse".to_owned(), ByLot::default())]);
    TracedRequests { one_in: 1, requests: vec![request], by_lot }
}

/// The evaluation of the spans in a folder. At each query plot reports the number of its spans; it had written 5 before
/// the trial.
fn found(
    folder: &Path,
    requests: &TracedRequests,
    plot_wrote: &mut dyn FnMut() -> u64,
    within: Duration,
) -> (Option<Invalid>, Option<Traces>) {
    let app = app::of_name("movies").unwrap();
    let mut gathering = Gathering {
        before: &BTreeMap::from([(PLOT, 5)]),
        counters: &mut || BTreeMap::from([(PLOT, plot_wrote()), (30, 7)]),
        entrance: entrance(&app).unwrap(),
        names: &names(&app, |name| !name.ends_with("-sphinx")),
        requests,
        sampled: sampled(requests),
        calls: &BTreeMap::new(),
    };
    gathered(folder, &mut gathering, within)
}

#[test]
fn spans_become_parts_of_what_the_generator_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    left_in(folder.path());
    let requests = asked(RequestOutcome::Completed);
    let (reason, traces) = found(folder.path(), &requests, &mut || 6, Duration::from_secs(60));
    assert_eq!(reason, None);
    let traces = traces.unwrap();
    let coverage = &traces.coverage;
    assert_eq!((coverage.sampled, coverage.joined, coverage.whole), (1, 1, 1));
    assert_eq!((coverage.spans_expected, coverage.spans_found), (3, 3));
    let browse = traces.operation("browse").unwrap();
    assert_eq!(browse.all.root_ns, 16 * MS);
    let us = |service: &str, part: Part| {
        browse.mean_us(results::Among::All, |name, of| (name, of) == (service, part)).unwrap()
    };
    assert_eq!((us("client", Part::BeforeSending), us("front", Part::Front)), (1_000.0, 5_000.0));
    assert_eq!(us("php", Part::Queue), 1_000.0);
    assert_eq!((us("php", Part::Application), us("plot", Part::Application)), (3_000.0, 4_000.0));
    assert_eq!(us("plot", Part::Transit), 2_000.0);
}

#[test]
fn a_span_that_is_lost_makes_the_trial_invalid_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let completed = asked(RequestOutcome::Completed);
    let check = |requests: &TracedRequests, cut: &dyn Fn(&Path), says: Option<&str>| {
        left_in(folder.path());
        cut(folder.path());
        let (reason, traces) = found(folder.path(), requests, &mut || 6, Duration::ZERO);
        let detail = reason.map(|invalid| {
            assert_eq!(invalid.reason, Reason::SpansLost);
            invalid.detail
        });
        match says {
            None => assert_eq!(detail, None),
            Some(says) => assert!(detail.as_ref().is_some_and(|it| it.contains(says)), "{says}: {detail:?}"),
        }
        assert!(traces.is_some());
    };
    let cut = |name: &'static str, less: u64| {
        move |folder: &Path| {
            let file = fs::OpenOptions::new().write(true).open(folder.join(name)).unwrap();
            file.set_len(file.metadata().unwrap().len() - less).unwrap();
        }
    };
    check(&completed, &|_| (), None);
    check(&completed, &cut("plot-0.spans", 128), Some("plot: 1 spans were expected and 0 found"));
    check(&completed, &cut("plot-0.spans", 1), Some("1 records are no whole spans"));
    check(&completed, &cut("plot-0.spans", 1), Some("of 1 of 1 requests a call lacks its other end"));
    // php's spans are not counted, but the calls below them are present.
    check(&completed, &cut("php-0.spans", 128), Some("of 1 of 1 requests a call lacks its other end"));
    check(&completed, &cut("php-0.spans", 256), Some("the span at the entrance is missing"));
    let without = |folder: &Path| fs::remove_file(folder.join("plot-0.spans")).unwrap();
    check(&completed, &without, Some("plot: 1 spans were expected and 0 found"));
    // A request that failed may have come to no service.
    check(&asked(RequestOutcome::Error), &cut("php-0.spans", 256), None);
}

#[test]
fn spans_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    left_in(folder.path());
    let late = folder.path().join("plot-0.spans");
    let whole = fs::read(&late).unwrap();
    fs::write(&late, &whole[..SPAN_BYTES]).unwrap();
    let looks = Cell::new(0);
    let mut plot_wrote = || {
        looks.set(looks.get() + 1);
        if looks.get() == 3 {
            fs::write(&late, &whole).unwrap();
        }
        6
    };
    let requests = asked(RequestOutcome::Completed);
    let (reason, _) = found(folder.path(), &requests, &mut plot_wrote, Duration::from_secs(60));
    assert_eq!((reason, looks.get()), (None, 3));
}

#[test]
fn what_was_before_is_taken_away_and_beginnings_stay() {
    let folder = tempfile::tempdir().unwrap();
    left_in(folder.path());
    spans::clear(folder.path()).unwrap();
    let length = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
    assert_eq!((length("php-0.spans"), length("plot-0.spans"), length("ads-0.spans")), (128, 128, 4));
    let (reason, traces) =
        found(folder.path(), &TracedRequests::default(), &mut || 5, Duration::from_secs(60));
    assert_eq!((reason, traces.unwrap().coverage), (None, Coverage::default()));
}

#[test]
fn requests_come_in_at_the_first_service_that_writes_spans() {
    let check = |app: &str, expect: Option<u16>| {
        assert_eq!(entrance(&app::of_name(app).unwrap()), expect, "{app}");
    };
    check("movies", Some(PHP));
    check("nginx", None);
    check("social", None);
}

#[test]
fn what_writes_no_spans_is_refused_before_it_starts() {
    let options =
        crate::ServerOptions { traced: true, ..crate::ServerOptions::new(Path::new("/no/such/taillight")) };
    let check = |name: &crate::TargetName, options: &crate::ServerOptions, says: &str| {
        let error = Server::start(name, options).err().unwrap().to_string();
        assert!(error.contains(says) && error.contains("leave out --trace"), "{error}");
    };
    check(
        &crate::TargetName::app("nginx"),
        &options,
        "nginx: spans of traced requests are unavailable: none of its services writes",
    );
    check(&"127.0.0.1:9".parse().unwrap(), &options, "it was not started for this load");
    let mut elsewhere = options;
    elsewhere.target.set = vec!["plot.agent=10.0.0.5:7070".into()];
    check(
        &crate::TargetName::app("movies"),
        &elsewhere,
        "its service plot would leave them on the machine of the agent at 10.0.0.5:7070",
    );
}

#[test]
fn a_call_that_was_made_once_more_excuses_no_other_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut requests = asked(RequestOutcome::Completed);
    let mut other = requests.requests[0].clone();
    (other.trace, other.span) = ("08".repeat(16), 199);
    requests.requests.push(other);
    let of_other = |span: Span| Span { trace: TraceId([8; 16]), ..span };
    let check = |has_plots_end: bool, says: Option<&str>| {
        left_in(folder.path());
        let again = Span {
            is_retried: true,
            ..span(SpanKind::Client, PHP, PLOT, (2, 1), [102, 102, 102, 102, 108, 108])
        };
        let php = [
            span(SpanKind::Server, PHP, 0, (1, 99), [100, 101, 101, 110, 110, 110]),
            // Its first connection was lost with the answer.
            again,
            of_other(span(SpanKind::Server, PHP, 0, (11, 199), [100, 101, 101, 110, 110, 110])),
            of_other(span(SpanKind::Client, PHP, PLOT, (12, 11), [102, 102, 102, 102, 108, 108])),
        ];
        let mut plot = vec![
            span(SpanKind::Server, PLOT, 0, (3, 2), [102, 102, 102, 103, 103, 103]),
            span(SpanKind::Store, PLOT, 35, (5, 3), [102, 102, 102, 102, 103, 103]),
            span(SpanKind::Server, PLOT, 0, (4, 2), [103, 103, 103, 107, 107, 107]),
        ];
        if has_plots_end {
            plot.push(of_other(span(SpanKind::Server, PLOT, 0, (13, 12), [103, 103, 103, 107, 107, 107])));
        }
        fs::write(folder.path().join("php-0.spans"), file(PHP, &php)).unwrap();
        fs::write(folder.path().join("plot-0.spans"), file(PLOT, &plot)).unwrap();
        let wrote = 5 + plot.len() as u64;
        let (reason, _) = found(folder.path(), &requests, &mut || wrote, Duration::ZERO);
        assert_eq!(reason.map(|invalid| invalid.detail).as_deref(), says);
    };
    check(true, None);
    check(false, Some("of 1 of 2 requests a call lacks its other end"));
}
