use maud::{Markup, html};
use results::probes::{ServerCounters, ServerTime};

use super::Looked;
use crate::number;
use crate::page::{self, Column, probe_table};

/// A counter's presentation.
struct CounterStyle {
    /// Its name in records.
    name: &'static str,
    label: &'static str,
    as_words: fn(f64) -> String,
    meaning: &'static str,
    /// Whether it counts failures: it has no row while it is 0.
    event: bool,
}

const fn shown(
    name: &'static str,
    label: &'static str,
    as_words: fn(f64) -> String,
    meaning: &'static str,
) -> CounterStyle {
    CounterStyle { name, label, as_words, meaning, event: false }
}

const fn event(name: &'static str, label: &'static str, meaning: &'static str) -> CounterStyle {
    CounterStyle { name, label, as_words: number::three, meaning, event: true }
}

fn us(us: f64) -> String {
    number::micros(Some(us))
}

fn rate(rps: f64) -> String {
    number::rate(Some(rps))
}

/// In the order of the page; a counter that the server does not report has no row.
const FIGURES: [CounterStyle; 31] = [
    shown("requests_per_s", "requests, by the server", rate, "each key of a get counts as one"),
    shown(
        "requests_per_wait",
        "requests a wait",
        number::three,
        "answered between two waits of a thread (voluntary switches in /proc): 1 where each request wakes it, more where \
         they come in batches",
    ),
    shown("requests_per_sleep", "requests a sleep", number::three, "the same by Sphinx’s own count"),
    shown("cpu_us_per_request", "processor time a request, by the server", us, "its own getrusage"),
    shown(
        "proc_cpu_us_per_request",
        "processor time a request, by /proc",
        us,
        "the kernel’s account of the server’s threads in the same time",
    ),
    shown(
        "cpu_kernel_share",
        "of it in the kernel",
        number::percent,
        "system calls, and the packets that they carry",
    ),
    shown(
        "received_bytes_per_request",
        "received a request",
        number::bytes,
        "commands and values as they came",
    ),
    shown("sent_bytes_per_request", "sent a request", number::bytes, "answers"),
    shown(
        "passed_on_per_request",
        "passed on a request",
        number::three,
        "asked of the thread that has the key",
    ),
    shown(
        "wakeups_per_request",
        "wake-ups a request",
        number::three,
        "sleeping threads that another had to wake",
    ),
    shown(
        "lent_per_request",
        "lent a request",
        number::three,
        "values sent from where they are stored, without a copy",
    ),
    shown("spinning_share", "spinning", number::percent, "share of its threads’ time spent looking for work"),
    shown("hit_share", "hits", number::percent_of_all, "gets that found their key"),
    shown("connections", "connections", number::short, "open, the probe’s own among them"),
    shown("idle_connections", "idle connections", number::short, "open, without a request"),
    shown(
        "answering",
        "being answered",
        number::three,
        "requests at a moment: over their rate, the time of one",
    ),
    shown("threads", "threads", number::short, "that serve"),
    event(
        "yields_per_kilo_request",
        "yields in 1000 requests",
        "a connection had more to do than it is given in one turn, and others came first",
    ),
    event(
        "evictions_per_s",
        "evictions/s",
        "items that made room for others: what was stored is not all there",
    ),
    event("reclaimed_per_s", "expired items reused/s", ""),
    event("segments_reclaimed_per_s", "segments taken back/s", ""),
    event("accepted_per_s", "connections accepted/s", "a generator that keeps its own adds none"),
    event("rejected_per_s", "connections turned away/s", "there were too many"),
    event("dropped_per_s", "connections dropped/s", "accepted and not served"),
    event("listen_disabled_per_s", "stops of accepting/s", "there were too many connections"),
    event("slow_reader_kicks_per_s", "slow readers closed/s", ""),
    event("read_buffers_missing_per_s", "read buffers that were missing/s", ""),
    event("response_objects_missing_per_s", "response objects that were missing/s", ""),
    event(
        "queue_waits_per_kilo_request",
        "waits for a full queue in 1000 requests",
        "another thread could not keep up",
    ),
    event(
        "output_waits_per_kilo_request",
        "waits for output in 1000 requests",
        "the client does not read its answers",
    ),
    event(
        "hash_expanding_share",
        "index growing",
        "share of the moments at which memcached moved its hash table to a larger one",
    ),
];

/// The server's own counters.
pub(super) fn server(looked: &[Looked]) -> Markup {
    let all: Vec<(&Looked, &ServerCounters)> =
        looked.iter().filter_map(|load| Some((load, load.probes()?.server.as_ref()?))).collect();
    let mut rows: Vec<(&str, Vec<String>, &str)> = Vec::new();
    let by_client = all.iter().map(|(load, _)| rate(load.trial.achieved_rps)).collect();
    rows.push(("requests, by the client", by_client, "over the whole window"));
    let mut quiet = Vec::new();
    for shown in &FIGURES {
        let values: Vec<Option<f64>> = all.iter().map(|(_, counters)| counters.figure(shown.name)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        if shown.event && values.iter().flatten().all(|value| *value == 0.0) {
            quiet.push(shown.label);
            continue;
        }
        let cell = |value: Option<f64>| number::or_none(value, shown.as_words);
        rows.push((shown.label, values.into_iter().map(cell).collect(), shown.meaning));
    }
    let answers = all.iter().map(|(_, counters)| us(counters.answer_us_mean)).collect();
    let meaning = "a request like any other, in the same queues, though a dear one; asked between the slots, so that no other \
                   figure has it";
    rows.push(("answer to the probe, mean", answers, meaning));
    html! {
        @if let Some((_, first)) = all.first() {
            div.scroll {
                table.looked {
                    caption { "What the server counts itself (" (first.program) "), from the beginning to the end of each slot" }
                    thead { tr {
                        th.text { "figure" }
                        @for (load, _) in &all { th { (page::unbroken(&load.name())) } }
                    } }
                    tbody { @for (label, cells, meaning) in &rows {
                        tr {
                            th.text.words scope="row" { (label) @if !meaning.is_empty() { small { (meaning) } } }
                            @for cell in cells { td { (cell) } }
                        }
                    } }
                }
            }
            @if !quiet.is_empty() { p.muted { "None at any load: " (quiet.join(", ")) "." } }
            (service(&all))
        }
    }
}

/// The service time by the server's own clock, against the stages between the same two moments.
fn service(all: &[(&Looked, &ServerCounters)]) -> Markup {
    fn at_most(us: Option<f64>) -> String {
        number::or_none(us, |us| format!("≤ {}", self::us(us)))
    }
    let rows = all.iter().filter_map(|(load, counters)| {
        let stages = load.stages();
        let stage = stages.and_then(|s| Some(s.mean_us("application")? + s.mean_us("open").unwrap_or(0.0)));
        Some((*load, counters.service?, stage))
    });
    let columns: &[Column<(&Looked, ServerTime, Option<f64>)>] = &[
        ("load", |(load, ..)| load.name()),
        ("requests", |(_, own, _)| number::count(own.requests)),
        ("mean by the server", |(_, own, _)| us(own.mean_us)),
        ("application stage", |(.., stage)| number::micros(*stage)),
        ("the stage is longer by", |(_, own, stage)| {
            number::or_none(*stage, |stage| format!("{:+.1} %", 100.0 * (stage / own.mean_us - 1.0)))
        }),
        ("p50", |(_, own, _)| at_most(own.p50_at_most_us)),
        ("p99", |(_, own, _)| at_most(own.p99_at_most_us)),
    ];
    let caption = "Service time by the server’s own clock, from the return of the receive to just before the send, and the stage \
                   between the same two moments by programs in the kernel, which have no part of that clock";
    probe_table(caption, 1, rows, columns)
}
