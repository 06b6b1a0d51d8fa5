use results::probes::{
    ClientTimes, CodeShare, Counter, IndependentTime, InputOutput, Overhead, Processor, ServerCounters,
    ServerTime, ServiceCode, Span, Stack, Stage, Stages, Uncorrelated,
};
use results::{LatencySummary, LoadPoint, Probes, Trial, Verdict};

use super::*;

fn stages(us: [f64; 6]) -> Stages {
    let names = ["network", "epoll", "event_library", "read", "application", "send"];
    let span = |us: f64| Span { count: 1000, mean_us: Some(us), p50_us: Some(us), p99_us: Some(2.0 * us) };
    Stages {
        correlated: 1000,
        correlated_share: Some(1.0),
        stages: names
            .iter()
            .zip(us)
            .map(|(name, us)| Stage { name: (*name).into(), time: span(us) })
            .collect(),
        total: span(us.iter().sum()),
        independent: Some(IndependentTime {
            mean_us: 100.0,
            stages_us: 95.0,
            remainder_us: 5.0,
            remainder_share: 0.05,
            ..IndependentTime::default()
        }),
        ..Stages::default()
    }
}

fn trial(share: f64, probes: Option<Probes>) -> Trial {
    Trial {
        target: "memcached".into(),
        load_share: Some(share),
        offered_rps: 1e5 * share,
        verdict: Verdict::Valid,
        probes,
        ..Trial::default()
    }
}

fn page(trials: &[Trial]) -> String {
    let trials: Vec<&Trial> = trials.iter().collect();
    let subject = Subject {
        name: "memcached",
        slot: 0,
        target: None,
        trials: Vec::new(),
        points: LoadPoint::gather(&trials),
    };
    observed(&[subject]).into_string()
}

#[test]
fn says_which_stage_grew_and_sets_the_published_values_beside() {
    let probes = |us| Some(Probes { stages: Some(stages(us)), ..Probes::default() });
    let html = page(&[
        trial(0.1, probes([8.0, 10.0, 1.0, 2.0, 2.0, 7.0])),
        trial(0.9, probes([8.0, 110.0, 401.0, 2.0, 2.0, 7.0])),
    ]);
    for expect in [
        "a request’s time in the server went from 30.0\u{a0}µs to 530\u{a0}µs",
        "80\u{a0}% of that growth is in event library, 20\u{a0}% in epoll",
        "together), makes up 100\u{a0}%",
        "memcached, Xeon, 90 %",
        "1009",
        "+5.0 %",
    ] {
        assert!(html.contains(expect), "{expect} is not in {html}");
    }
    assert!(!html.contains("<th class=\"text\" scope=\"row\">open</th>"));
}

#[test]
fn nothing_is_said_without_probes() {
    assert_eq!(page(&[trial(0.1, None)]), "");
}

#[test]
fn the_page_cache_is_told_where_no_disk_was_asked() {
    let cell = |ratio: Option<f64>, disk: Option<f64>| {
        let io = InputOutput {
            page_cache_hit_ratio: ratio,
            disk_read_bytes_per_s: disk,
            ..InputOutput::default()
        };
        page(&[trial(0.5, Some(Probes { io: Some(io), ..Probes::default() }))])
    };
    assert!(cell(Some(0.95), Some(10.0)).contains("<td>95"));
    assert!(cell(None, Some(0.0)).contains("<td>no disk reads"));
    assert!(!cell(None, None).contains("no disk reads"));
}

#[test]
fn what_was_lost_missing_or_dear_is_told() {
    let mut lossy = stages([1.0; 6]);
    lossy.correlated_share = Some(0.8);
    lossy.uncorrelated = vec![Uncorrelated { reason: "a table was full".into(), count: 250 }];
    let probes = Probes {
        stages: Some(lossy),
        missing: vec![
            Missing { probe: "counters".into(), what: "a machine".into(), disables: "IPC".into() };
            2
        ],
        overhead: vec![Overhead { probe: "stages".into(), p99_ratio: Some(1.2), ..Overhead::default() }],
        processor: Some(Processor {
            samples: 3,
            stacks: vec![
                Stack { frames: "main;<read>;tcp_recvmsg_[k]".into(), count: 2 },
                Stack { frames: "main".into(), count: 1 },
            ],
            ..Processor::default()
        }),
        ..Probes::default()
    };
    let html = page(&[trial(0.5, Some(probes))]);
    for expect in [
        "only 80 % of the requests were followed",
        "250 a table was full",
        "p99 higher by 20.0\u{a0}% (limit 5\u{a0}%)",
        "&lt;read&gt;",
        "tcp_recvmsg",
    ] {
        assert!(
            html.replace("\u{a0}", " ").contains(&expect.replace("\u{a0}", " ")),
            "{expect} is not in {html}"
        );
    }
    assert_eq!(html.matches("Not known for want of it: IPC").count(), 1);
}

#[test]
fn what_the_server_counts_is_told_with_its_meaning() {
    let figure = |name: &str, value: f64| Counter { name: name.into(), value };
    let server = ServerCounters {
        program: "sphinx 0.1".into(),
        answers: 8,
        answer_us_mean: 250.0,
        figures: vec![
            figure("requests_per_s", 50_500.0),
            figure("requests_per_wait", 3.5),
            figure("evictions_per_s", 0.0),
            figure("rejected_per_s", 2.0),
        ],
        service: Some(ServerTime {
            requests: 12_345,
            mean_us: 1.6,
            p50_at_most_us: Some(2.0),
            p99_at_most_us: None,
        }),
        ..ServerCounters::default()
    };
    let probes = Probes {
        stages: Some(stages([8.0, 10.0, 1.0, 2.0, 2.0, 7.0])),
        server: Some(server),
        ..Probes::default()
    };
    let html = page(&[trial(0.5, Some(probes))]).replace('\u{a0}', " ");
    for expect in [
        "What the server counts itself (sphinx 0.1)",
        "50.5 krps",
        "3.50",
        "answered between two waits",
        "None at any load: evictions/s.",
        "connections turned away/s",
        "250 µs",
        "1.60 µs",
        "+25.0 %",
        "≤ 2.00 µs",
    ] {
        assert!(html.contains(expect), "{expect} is not in {html}");
    }
    // A missing counter has no row.
    assert!(!html.contains("a copy") && !html.contains("getrusage"), "{html}");
}

#[test]
fn each_service_has_its_row() {
    let code = |code: &str, share| CodeShare { code: code.into(), share };
    let php = ServiceCode {
        name: "php".into(),
        samples: 800,
        shares: vec![code("kernel", 0.64), code("libc.so.6", 0.25), code("php-fpm8.2", 0.11)],
        counters: vec![Counter { name: "ipc".into(), value: 0.88 }],
        ..ServiceCode::default()
    };
    let idle = ServiceCode { name: "ads".into(), ..ServiceCode::default() };
    let html = page(&[trial(0.5, Some(Probes { services: vec![php, idle], ..Probes::default() }))]);
    let html = html.replace('\u{a0}', " ");
    for expect in ["Each service: whose code", "php", "800", "64 %", "25 %", "11 %", "0.880"] {
        assert!(html.contains(expect), "{expect} is not in {html}");
    }
    assert!(!html.contains(">ads<"), "nothing was seen of it: {html}");
}

#[test]
fn the_clients_own_part_of_the_response_time_is_told() {
    let of = |us: f64| LatencySummary {
        count: 500,
        mean_us: Some(us),
        p50_us: Some(us),
        ..LatencySummary::default()
    };
    let client = ClientTimes {
        one_in: 8,
        requests: 500,
        to_device: of(4.0),
        away: of(41.0),
        to_reader: of(6.5),
        service_time: of(51.5),
        clocks_us: 0.04,
    };
    let mut trial = trial(0.5, Some(Probes { client: Some(client), ..Probes::default() }));
    trial.all.generator_lag = of(1.25);
    let html = page(&[trial]).replace('\u{a0}', " ");
    for expect in [
        "one connection in 8",
        "agree to 40.0 ns",
        "1.25 µs",
        "4.00 µs",
        "41.0 µs",
        "6.50 µs",
        "51.5 µs",
        "p99.9",
    ] {
        assert!(html.contains(expect), "{expect} is not in {html}");
    }
}
