use maud::{Markup, html};
use results::Trial;
use results::probes::{CodeSplit, Phase, Probes, Span};

use super::Looked;
use super::published::{PUBLISHED, Published};
use crate::figure::STAGES;
use crate::number;

/// A table with a caption; nothing without rows. The first `words` columns are text.
pub(super) fn table(caption: &str, heads: &[&str], words: usize, rows: Vec<Vec<String>>) -> Markup {
    let class = |i: usize| (i < words).then_some("text");
    html! {
        @if !rows.is_empty() {
            div.scroll {
                table.looked {
                    caption { (caption) }
                    thead { tr { @for (i, head) in heads.iter().enumerate() { th class=[class(i)] { (head) } } } }
                    tbody {
                        @for row in &rows {
                            tr { @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th.text scope="row" { (cell) } } @else { td class=[class(i)] { (cell) } }
                            } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn name(load: &Looked) -> String {
    format!("{} · {}", load.subject, load.label)
}

/// In the paper's form: a row for each stage, a column for each load, followed by the published ones.
pub(super) fn stages(staged: &[&Looked]) -> Markup {
    let published: Vec<&Published> = PUBLISHED
        .iter()
        .filter(|one| staged.iter().any(|load| load.subject.starts_with(one.server)))
        .collect();
    let has_open = staged.iter().any(|load| load.stages().is_some_and(|s| s.mean_us("open").is_some()))
        || published.iter().any(|one| one.stages[4].is_some());
    let us = |us: Option<f64>| number::or_none(us, number::three);
    html! {
        @if !staged.is_empty() {
            div.scroll {
                table.looked {
                    caption { "Mean time of a request in each stage, in µs; in grey as published (IISWC'17 Tables II and III)" }
                    thead { tr {
                        th.text { "stage" }
                        @for load in staged { th { (name(load)) } }
                        @for one in &published { th.muted { (one.server) ", " (one.name) } }
                    } }
                    tbody {
                        @for (i, stage) in STAGES.iter().enumerate().filter(|(_, stage)| has_open || stage.name != "open") {
                            tr {
                                th.text scope="row" { (stage.label) }
                                @for load in staged { td { (us(load.stages().and_then(|s| s.mean_us(stage.name)))) } }
                                @for one in &published { td.muted { (us(one.stages[i])) } }
                            }
                        }
                        tr {
                            th.text scope="row" { "total" }
                            @for load in staged { td { (us(load.stages().and_then(|s| s.total.mean_us))) } }
                            @for one in &published { td.muted { (us(Some(one.total))) } }
                        }
                        tr {
                            th.text scope="row" { "p99 of the total" }
                            @for load in staged { td { (us(load.stages().and_then(|s| s.total.p99_us))) } }
                            @for _ in &published { td.muted { (number::NONE) } }
                        }
                    }
                }
            }
        }
    }
}

/// Checks that the right events were matched to each request.
pub(super) fn independent(staged: &[&Looked]) -> Markup {
    let row = |load: &&Looked| {
        let stages = load.stages()?;
        let other = stages.independent.as_ref();
        let us = |read: fn(&results::probes::IndependentTime) -> f64| number::micros(other.map(read));
        let lost: Vec<String> =
            stages.uncorrelated.iter().map(|lost| format!("{} {}", lost.count, lost.reason)).collect();
        Some(vec![
            name(load),
            number::count(stages.correlated),
            number::or_none(stages.correlated_share, number::percent_of_all),
            number::count(stages.cut),
            us(|other| other.stages_us),
            us(|other| other.mean_us),
            number::or_none(other, |other| format!("{:+.1} %", 100.0 * other.remainder_share)),
            number::or_none(other, |other| number::count(other.requests)),
            if lost.is_empty() { number::NONE.into() } else { lost.join("; ") },
        ])
    };
    let heads = [
        "load",
        "followed",
        "of all",
        "cut by slots",
        "sum of stages",
        "by packets",
        "unexplained",
        "packets’ requests",
        "not followed",
    ];
    let caption = "The sum of the stages beside the time between packets on some of the connections, which knows nothing of the stages";
    table(caption, &heads, 1, staged.iter().filter_map(row).collect())
}

/// Figures that need no privilege: the client's times and the server's own counters.
pub(super) fn without_privilege(looked: &[Looked]) -> Markup {
    let row = |load: &Looked| {
        let trial: &Trial = load.trial;
        let service = trial.all.service_time.mean_us;
        let own = trial.counters.get("server_cpu_us_per_request").copied();
        let busiest = load.trial.probes.as_ref().and_then(busiest_wait);
        let sockets = load.trial.probes.as_ref().and_then(|probes| probes.sockets.as_ref());
        let unread = sockets.and_then(|sockets| sockets.read_wait_us_mean);
        vec![
            name(load),
            number::micros(trial.all.response_time.mean_us),
            number::micros(service),
            number::micros(unread),
            number::micros(own),
            number::micros(busiest),
            trial
                .counters
                .get("server_waits_per_request")
                .map_or(number::NONE.into(), |waits| number::three(*waits)),
        ]
    };
    let heads = [
        "load",
        "response time, mean",
        "service time, mean",
        "of it unread at the socket",
        "server’s processor time a request",
        "run-queue wait, busiest thread",
        "waits a request",
    ];
    table(
        "Without privilege: the client’s clock, what TCP tells of its queues, and what /proc counts",
        &heads,
        1,
        looked.iter().map(row).collect(),
    )
}

/// TCP's figures of the connections.
pub(super) fn sockets(looked: &[Looked]) -> Markup {
    let row = |load: &Looked| {
        let sockets = load.trial.probes.as_ref()?.sockets.as_ref()?;
        Some(vec![
            name(load),
            number::count(sockets.connections),
            number::micros(sockets.read_wait_us_mean),
            number::count(sockets.moments),
            number::micros(Some(sockets.round_trip_us_mean)),
            number::bytes(sockets.received_bytes_per_s),
            number::bytes(sockets.sent_bytes_per_s),
            number::three(sockets.resent_per_s),
            number::percent(sockets.busy_share),
            number::percent(sockets.held_by_window_share),
            number::percent(sockets.held_by_buffer_share),
        ])
    };
    let heads = [
        "load",
        "connections",
        "unread, mean",
        "moments",
        "round trip, mean",
        "received/s",
        "sent/s",
        "sent again/s",
        "unacknowledged",
        "held by the client’s window",
        "held by the own buffer",
    ];
    let caption = "The server’s connections, as TCP sees them: how long requests stood unread (by Little’s law, from what stood \
                   there at so many moments), and shares of a connection’s time";
    table(caption, &heads, 1, looked.iter().filter_map(row).collect())
}

fn busiest_wait(probes: &Probes) -> Option<f64> {
    let threads = &probes.scheduling.as_ref()?.threads;
    threads.iter().max_by(|a, b| a.running_share.total_cmp(&b.running_share))?.run_queue_us_mean
}

pub(super) fn threads(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let scheduling = load.trial.probes.as_ref().and_then(|probes| probes.scheduling.as_ref());
        let threads = scheduling.into_iter().flat_map(|scheduling| &scheduling.threads);
        // A thread that ran less than a thousandth of the time decides nothing.
        let threads = threads.filter(|thread| thread.running_share >= 1e-3);
        threads.map(|thread| {
            vec![
                name(load),
                format!("{} ({})", thread.name, thread.tid),
                number::percent(thread.running_share),
                number::micros(thread.run_queue_us_mean),
                number::three(thread.switches_per_s),
                number::three(thread.involuntary_per_s),
                number::or_none(thread.migrations_per_s, number::three),
            ]
        })
    });
    let heads =
        ["load", "thread", "running", "run-queue wait, mean", "runs/s", "preempted/s", "migrations/s"];
    table("The server’s threads", &heads, 2, rows.collect())
}

/// Waits in the run queue and for a futex, each one timed.
pub(super) fn waits(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let scheduling = load.trial.probes.as_ref().and_then(|probes| probes.scheduling.as_ref());
        let of = |what: &str, time: Option<Span>, observed_s: f64| {
            time.map(|time| {
                vec![
                    name(load),
                    what.to_owned(),
                    number::three(time.count as f64 / observed_s),
                    number::micros(time.mean_us),
                    number::micros(time.p50_us),
                    number::micros(time.p99_us),
                ]
            })
        };
        let both = scheduling.into_iter().flat_map(move |scheduling| {
            let s = scheduling.observed_s;
            [
                of("for a processor (run queue)", scheduling.run_queue, s),
                of("for a futex (locks, and idle waits for work)", scheduling.futex_wait, s),
            ]
        });
        both.flatten().collect::<Vec<_>>()
    });
    let heads = ["load", "wait", "a second", "mean", "p50", "p99"];
    table("Waits of the server’s threads", &heads, 2, rows.collect())
}

pub(super) fn cores(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let scheduling = load.trial.probes.as_ref().and_then(|probes| probes.scheduling.as_ref());
        scheduling.into_iter().flat_map(|scheduling| &scheduling.cores).map(|core| {
            vec![
                name(load),
                core.cpu.to_string(),
                number::three(core.interrupts_per_s),
                number::three(core.net_rx_per_s),
                number::three(core.other_soft_per_s),
                number::percent(core.interrupt_share),
                number::percent(core.steal_share),
            ]
        })
    });
    let heads = [
        "load",
        "processor",
        "interrupts/s",
        "packets’ soft interrupts/s",
        "others/s",
        "time in interrupts",
        "stolen",
    ];
    table("Interrupts by processor", &heads, 2, rows.collect())
}

pub(super) fn code(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let processor = load.trial.probes.as_ref().and_then(|probes| probes.processor.as_ref());
        processor.into_iter().flat_map(move |processor| {
            processor.shares.iter().take(8).map(move |code| {
                let same = processor.instruction_shares.iter().find(|other| other.code == code.code);
                let instructions = number::or_none(same, |same| number::percent(same.share));
                vec![name(load), code.code.clone(), number::percent(code.share), instructions]
            })
        })
    });
    table(
        "Which code used the processors, by samples of the server’s threads",
        &["load", "code", "of the time", "of the instructions"],
        2,
        rows.collect(),
    )
}

/// Samples and counters by service, if the target has several.
pub(super) fn services(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let services = load.trial.probes.iter().flat_map(|probes| &probes.services);
        services.filter(|service| service.samples > 0 || !service.counters.is_empty()).map(|service| {
            let split = CodeSplit::of(&service.shares);
            let by_instructions = CodeSplit::of(&service.instruction_shares);
            let share = |split: Option<CodeSplit>, part: fn(CodeSplit) -> f64| {
                number::or_none(split, |split| number::percent(part(split)))
            };
            let counter = |name: &str| {
                let found = service.counters.iter().find(|counter| counter.name == name);
                number::or_none(found, |counter| number::three(counter.value))
            };
            vec![
                name(load),
                service.name.clone(),
                service.samples.to_string(),
                share(split, |split| split.kernel),
                share(split, |split| split.library),
                share(split, |split| split.own),
                share(by_instructions, |split| split.kernel),
                share(by_instructions, |split| split.library),
                counter("ipc"),
                counter("l1i_misses_per_kilo_instruction"),
                counter("llc_misses_per_kilo_instruction"),
            ]
        })
    });
    let heads = [
        "load",
        "service",
        "samples",
        "kernel",
        "libraries",
        "the program",
        "kernel, of instructions",
        "libraries, of instructions",
        "IPC",
        "L1I misses a thousand",
        "LLC misses a thousand",
    ];
    table("Each service: whose code used the processors, and how well", &heads, 2, rows.collect())
}

pub(super) fn counters(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let counters = load.trial.probes.iter().flat_map(|probes| &probes.counters);
        counters.map(|counter| vec![name(load), counter.name.replace('_', " "), number::three(counter.value)])
    });
    table("Counters", &["load", "counter", "value"], 2, rows.collect())
}

pub(super) fn io(looked: &[Looked]) -> Markup {
    let row = |load: &Looked| {
        let io = load.trial.probes.as_ref()?.io.as_ref()?;
        let bytes = |n: Option<f64>| number::or_none(n, number::bytes);
        let warm_up = io.in_phase(Phase::WarmUp);
        Some(vec![
            name(load),
            number::percent(io.wait_share),
            bytes(io.disk_read_bytes_per_s),
            bytes(io.read_bytes_per_s),
            match (io.page_cache_hit_ratio, io.disk_read_bytes_per_s) {
                (Some(ratio), _) => number::percent_of_all(ratio),
                (None, Some(0.0)) => "no disk was asked".into(),
                (None, _) => number::NONE.into(),
            },
            number::three(io.major_faults_per_s),
            bytes(warm_up.and_then(|slot| slot.disk_read_bytes_per_s)),
        ])
    };
    let heads = [
        "load",
        "waiting for disks",
        "read from disks/s",
        "read by calls/s",
        "from the page cache",
        "major faults/s",
        "from disks/s before, in the warm-up",
    ];
    table("Disks and page cache", &heads, 1, looked.iter().filter_map(row).collect())
}

pub(super) fn overhead(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let all = load.trial.probes.iter().flat_map(|probes| &probes.overhead);
        all.map(|one| {
            let ratio = |ratio: Option<f64>| number::or_none(ratio, number::ratio);
            let flags = one.flags();
            vec![
                name(load),
                one.probe.clone(),
                format!("{} / {}", one.windows_with, one.windows_without),
                ratio(one.p99_ratio),
                ratio(one.throughput_ratio),
                ratio(one.cpu_per_request_ratio),
                if flags.is_empty() { "no".into() } else { flags.join(", ") },
            ]
        })
    });
    let heads = [
        "load",
        "probe",
        "windows with / without",
        "p99",
        "throughput",
        "processor time a request",
        "more than it may",
    ];
    table("Probe overhead: windows of 100 ms with the probe over those without", &heads, 2, rows.collect())
}
