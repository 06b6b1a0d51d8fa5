use maud::{Markup, html};
use results::probes::{
    CodeShare, CodeSplit, CoreActivity, Counter, IndependentTime, InputOutput, Overhead, Phase, ServiceCode,
    Sockets, Span, Stages, ThreadScheduling,
};

use super::Looked;
use super::published::{PUBLISHED, Published};
use crate::figure::STAGES;
use crate::number;
use crate::page::{Column, probe_table};

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
                        @for load in staged { th { (load.name()) } }
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
    let rows = staged.iter().filter_map(|load| {
        let stages = load.stages()?;
        Some((*load, stages, stages.independent.as_ref()))
    });
    let columns: &[Column<(&Looked, &Stages, Option<&IndependentTime>)>] = &[
        ("load", |(load, ..)| load.name()),
        ("followed", |(_, stages, _)| number::count(stages.correlated)),
        ("of all", |(_, stages, _)| number::or_none(stages.correlated_share, number::percent_of_all)),
        ("cut by slots", |(_, stages, _)| number::count(stages.cut)),
        ("sum of stages", |(.., other)| number::micros(other.map(|other| other.stages_us))),
        ("by packets", |(.., other)| number::micros(other.map(|other| other.mean_us))),
        ("unexplained", |(.., other)| {
            number::or_none(*other, |other| format!("{:+.1} %", 100.0 * other.remainder_share))
        }),
        ("packets’ requests", |(.., other)| number::or_none(*other, |other| number::count(other.requests))),
        ("not followed", |(_, stages, _)| {
            let lost = stages.uncorrelated.iter().map(|lost| format!("{} {}", lost.count, lost.reason));
            let lost: Vec<String> = lost.collect();
            if lost.is_empty() { number::NONE.into() } else { lost.join("; ") }
        }),
    ];
    let caption = "The sum of the stages beside the time between packets on some of the connections, which knows nothing of the stages";
    probe_table(caption, 1, rows, columns)
}

/// Figures that need no privilege: the client's times and the server's own counters.
pub(super) fn without_privilege(looked: &[Looked]) -> Markup {
    let columns: &[Column<&Looked>] = &[
        ("load", |load| load.name()),
        ("response time, mean", |load| number::micros(load.trial.all.response_time.mean_us)),
        ("service time, mean", |load| number::micros(load.trial.all.service_time.mean_us)),
        ("of it unread at the socket", |load| {
            let sockets = load.probes().and_then(|probes| probes.sockets.as_ref());
            number::micros(sockets.and_then(|sockets| sockets.read_wait_us_mean))
        }),
        ("server’s processor time a request", |load| {
            number::micros(load.trial.counters.get("server_cpu_us_per_request").copied())
        }),
        ("run-queue wait, busiest thread", |load| {
            let threads = load.scheduling().into_iter().flat_map(|scheduling| &scheduling.threads);
            let busiest = threads.max_by(|a, b| a.running_share.total_cmp(&b.running_share));
            number::micros(busiest.and_then(|thread| thread.run_queue_us_mean))
        }),
        ("waits a request", |load| {
            let waits = load.trial.counters.get("server_waits_per_request").copied();
            number::or_none(waits, number::three)
        }),
    ];
    let caption =
        "Without privilege: the client’s clock, what TCP tells of its queues, and what /proc counts";
    probe_table(caption, 1, looked, columns)
}

/// TCP's figures of the connections.
pub(super) fn sockets(looked: &[Looked]) -> Markup {
    let rows = looked.iter().filter_map(|load| Some((load, load.probes()?.sockets.as_ref()?)));
    let columns: &[Column<(&Looked, &Sockets)>] = &[
        ("load", |(load, _)| load.name()),
        ("connections", |(_, tcp)| number::count(tcp.connections)),
        ("unread, mean", |(_, tcp)| number::micros(tcp.read_wait_us_mean)),
        ("moments", |(_, tcp)| number::count(tcp.moments)),
        ("round trip, mean", |(_, tcp)| number::micros(Some(tcp.round_trip_us_mean))),
        ("received/s", |(_, tcp)| number::bytes(tcp.received_bytes_per_s)),
        ("sent/s", |(_, tcp)| number::bytes(tcp.sent_bytes_per_s)),
        ("sent again/s", |(_, tcp)| number::three(tcp.resent_per_s)),
        ("unacknowledged", |(_, tcp)| number::percent(tcp.busy_share)),
        ("held by the client’s window", |(_, tcp)| number::percent(tcp.held_by_window_share)),
        ("held by the own buffer", |(_, tcp)| number::percent(tcp.held_by_buffer_share)),
    ];
    let caption = "The server’s connections, as TCP sees them: how long requests stood unread (by Little’s law, from what stood \
                   there at so many moments), and shares of a connection’s time";
    probe_table(caption, 1, rows, columns)
}

pub(super) fn threads(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let threads = load.scheduling().into_iter().flat_map(|scheduling| &scheduling.threads);
        // A thread that ran less than a thousandth of the time decides nothing.
        threads.filter(|thread| thread.running_share >= 1e-3).map(move |thread| (load, thread))
    });
    let columns: &[Column<(&Looked, &ThreadScheduling)>] = &[
        ("load", |(load, _)| load.name()),
        ("thread", |(_, thread)| format!("{} ({})", thread.name, thread.tid)),
        ("running", |(_, thread)| number::percent(thread.running_share)),
        ("run-queue wait, mean", |(_, thread)| number::micros(thread.run_queue_us_mean)),
        ("runs/s", |(_, thread)| number::three(thread.switches_per_s)),
        ("preempted/s", |(_, thread)| number::three(thread.involuntary_per_s)),
        ("migrations/s", |(_, thread)| number::or_none(thread.migrations_per_s, number::three)),
    ];
    probe_table("The server’s threads", 2, rows, columns)
}

/// Waits in the run queue and for a futex, each one timed.
pub(super) fn waits(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let both = load.scheduling().map(|scheduling| {
            let of = |what, time: Option<Span>| Some((load, what, time?, scheduling.observed_s));
            [
                of("for a processor (run queue)", scheduling.run_queue),
                of("for a futex (locks, and idle waits for work)", scheduling.futex_wait),
            ]
        });
        both.into_iter().flatten().flatten()
    });
    let columns: &[Column<(&Looked, &str, Span, f64)>] = &[
        ("load", |(load, ..)| load.name()),
        ("wait", |(_, what, ..)| (*what).to_owned()),
        ("a second", |(.., time, observed_s)| number::three(time.count as f64 / observed_s)),
        ("mean", |(.., time, _)| number::micros(time.mean_us)),
        ("p50", |(.., time, _)| number::micros(time.p50_us)),
        ("p99", |(.., time, _)| number::micros(time.p99_us)),
    ];
    probe_table("Waits of the server’s threads", 2, rows, columns)
}

pub(super) fn cores(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let cores = load.scheduling().into_iter().flat_map(|scheduling| &scheduling.cores);
        cores.map(move |core| (load, core))
    });
    let columns: &[Column<(&Looked, &CoreActivity)>] = &[
        ("load", |(load, _)| load.name()),
        ("processor", |(_, core)| core.cpu.to_string()),
        ("interrupts/s", |(_, core)| number::three(core.interrupts_per_s)),
        ("packets’ soft interrupts/s", |(_, core)| number::three(core.net_rx_per_s)),
        ("others/s", |(_, core)| number::three(core.other_soft_per_s)),
        ("time in interrupts", |(_, core)| number::percent(core.interrupt_share)),
        ("stolen", |(_, core)| number::percent(core.steal_share)),
    ];
    probe_table("Interrupts by processor", 2, rows, columns)
}

pub(super) fn code(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let processor = load.probes().and_then(|probes| probes.processor.as_ref());
        processor.into_iter().flat_map(move |processor| {
            processor.shares.iter().take(8).map(move |code| {
                let same = processor.instruction_shares.iter().find(|other| other.code == code.code);
                (load, code, same)
            })
        })
    });
    let columns: &[Column<(&Looked, &CodeShare, Option<&CodeShare>)>] = &[
        ("load", |(load, ..)| load.name()),
        ("code", |(_, code, _)| code.code.clone()),
        ("of the time", |(_, code, _)| number::percent(code.share)),
        ("of the instructions", |(.., same)| number::or_none(*same, |same| number::percent(same.share))),
    ];
    probe_table("Which code used the processors, by samples of the server’s threads", 2, rows, columns)
}

/// Samples and counters by service, if the target has several.
pub(super) fn services(looked: &[Looked]) -> Markup {
    fn share(shares: &[CodeShare], part: fn(CodeSplit) -> f64) -> String {
        number::or_none(CodeSplit::of(shares), |split| number::percent(part(split)))
    }
    fn counter(service: &ServiceCode, name: &str) -> String {
        let found = service.counters.iter().find(|counter| counter.name == name);
        number::or_none(found, |counter| number::three(counter.value))
    }
    let rows = looked.iter().flat_map(|load| {
        let services = load.probes().into_iter().flat_map(|probes| &probes.services);
        let seen = services.filter(|service| service.samples > 0 || !service.counters.is_empty());
        seen.map(move |service| (load, service))
    });
    let columns: &[Column<(&Looked, &ServiceCode)>] = &[
        ("load", |(load, _)| load.name()),
        ("service", |(_, service)| service.name.clone()),
        ("samples", |(_, service)| service.samples.to_string()),
        ("kernel", |(_, service)| share(&service.shares, |split| split.kernel)),
        ("libraries", |(_, service)| share(&service.shares, |split| split.library)),
        ("the program", |(_, service)| share(&service.shares, |split| split.own)),
        ("kernel, of instructions", |(_, one)| share(&one.instruction_shares, |split| split.kernel)),
        ("libraries, of instructions", |(_, one)| share(&one.instruction_shares, |split| split.library)),
        ("IPC", |(_, service)| counter(service, "ipc")),
        ("L1I misses a thousand", |(_, service)| counter(service, "l1i_misses_per_kilo_instruction")),
        ("LLC misses a thousand", |(_, service)| counter(service, "llc_misses_per_kilo_instruction")),
    ];
    probe_table("Each service: whose code used the processors, and how well", 2, rows, columns)
}

pub(super) fn counters(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let counters = load.probes().into_iter().flat_map(|probes| &probes.counters);
        counters.map(move |counter| (load, counter))
    });
    let columns: &[Column<(&Looked, &Counter)>] = &[
        ("load", |(load, _)| load.name()),
        ("counter", |(_, counter)| counter.name.replace('_', " ")),
        ("value", |(_, counter)| number::three(counter.value)),
    ];
    probe_table("Counters", 2, rows, columns)
}

pub(super) fn io(looked: &[Looked]) -> Markup {
    let rows = looked.iter().filter_map(|load| Some((load, load.probes()?.io.as_ref()?)));
    let columns: &[Column<(&Looked, &InputOutput)>] = &[
        ("load", |(load, _)| load.name()),
        ("waiting for disks", |(_, io)| number::percent(io.wait_share)),
        ("read from disks/s", |(_, io)| number::or_none(io.disk_read_bytes_per_s, number::bytes)),
        ("read by calls/s", |(_, io)| number::or_none(io.read_bytes_per_s, number::bytes)),
        ("from the page cache", |(_, io)| match (io.page_cache_hit_ratio, io.disk_read_bytes_per_s) {
            (Some(ratio), _) => number::percent_of_all(ratio),
            (None, Some(0.0)) => "no disk reads".into(),
            (None, _) => number::NONE.into(),
        }),
        ("major faults/s", |(_, io)| number::three(io.major_faults_per_s)),
        ("from disks/s before, in the warm-up", |(_, io)| {
            let warm_up = io.in_phase(Phase::WarmUp).and_then(|slot| slot.disk_read_bytes_per_s);
            number::or_none(warm_up, number::bytes)
        }),
    ];
    probe_table("Disks and page cache", 1, rows, columns)
}

pub(super) fn overhead(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let all = load.probes().into_iter().flat_map(|probes| &probes.overhead);
        all.map(move |one| (load, one))
    });
    let columns: &[Column<(&Looked, &Overhead)>] = &[
        ("load", |(load, _)| load.name()),
        ("probe", |(_, one)| one.probe.clone()),
        ("windows with / without", |(_, one)| format!("{} / {}", one.windows_with, one.windows_without)),
        ("p99", |(_, one)| number::or_none(one.p99_ratio, number::ratio)),
        ("throughput", |(_, one)| number::or_none(one.throughput_ratio, number::ratio)),
        ("processor time a request", |(_, one)| number::or_none(one.cpu_per_request_ratio, number::ratio)),
        ("more than it may", |(_, one)| {
            let flags = one.flags();
            if flags.is_empty() { "no".into() } else { flags.join(", ") }
        }),
    ];
    let caption = "Probe overhead: windows of 100 ms with the probe over those without";
    probe_table(caption, 2, rows, columns)
}
