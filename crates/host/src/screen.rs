//! A summary of a machine: its hardware, the experiments that it supports, those that it does not, and how to change
//! that.

use std::fmt::{self, Write as _};

use crate::ability::bytes;
use crate::{Ability, Answer, Host, Limit, Limits, Nic, Role};

/// A machine for a person to read; lines of at most 110 characters.
pub struct Screen<'a>(pub &'a Host);

/// Columns that fit, with a margin, on the narrowest terminal in common use for reports.
const WIDTH: usize = 110;

/// The column in which a fact starts.
const FACT: usize = 12;

impl fmt::Display for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0;
        writeln!(f, "{host}\n")?;
        for (name, text) in facts(host) {
            if !text.is_empty() {
                writeln!(f, "{name:<FACT$}{}", wrapped(&text, FACT))?;
            }
        }
        let abilities = host.abilities();
        let groups = [
            (Answer::Yes, "This machine can show what needs"),
            (Answer::Partly, "In part, which a result must say, what needs"),
            (Answer::No, "Not, what needs"),
        ];
        for (answer, title) in groups {
            let of_it: Vec<&Ability> = abilities.iter().filter(|a| a.answer == answer).collect();
            if !of_it.is_empty() {
                writeln!(f, "\n{title}")?;
                of_it.iter().try_for_each(|ability| line(f, ability))?;
            }
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, ability: &Ability) -> fmt::Result {
    const INDENT: usize = 6;
    let Ability { name, shows, answer, why, hint } = ability;
    let mark = match answer {
        Answer::Yes => "+",
        Answer::Partly => "~",
        Answer::No => "-",
    };
    writeln!(f, "  {mark} {}", wrapped(&format!("{name} [{shows}]: {why}"), INDENT))?;
    match hint {
        Some(hint) => writeln!(f, "      → {}", wrapped(hint, INDENT + 2)),
        None => Ok(()),
    }
}

/// Wraps `text` at [`WIDTH`]; all lines begin at column `indent`.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            let _ = write!(lines, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

fn facts(host: &Host) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("processors", processors(host)),
        ("caches", caches(host)),
        ("frequency", frequency(host)),
        ("memory", memory(host)),
    ];
    // Hardware cards get a line each; virtual devices are only named.
    rows.extend(host.nics.iter().filter(|nic| nic.is_hardware()).map(|nic| ("network", nic_line(host, nic))));
    rows.extend([
        ("", stack(host)),
        ("interrupts", interrupts(host)),
        ("kernel", kernel(host)),
        ("cgroups", cgroups(host)),
        ("limits", limits(host)),
        ("resctrl", resctrl(host)),
        ("engines", software(host, Role::Engine)),
        ("servers", software(host, Role::Server)),
        ("tools", software(host, Role::Tool)),
    ]);
    rows
}

fn processors(host: &Host) -> String {
    let cpu = &host.cpu;
    if cpu.online.is_empty() {
        return "unknown".into();
    }
    let mut facts = vec![format!("{} online", cpu.online)];
    if cpu.allowed != cpu.online {
        facts.push(format!("{} for this process", cpu.allowed));
    }
    if !cpu.isolated.is_empty() {
        facts.push(format!("{} isolated", cpu.isolated));
    }
    let pair = cpu.cores.iter().find(|core| core.len() > 1);
    facts.push(format!("cores {}", cpu.cores.len()));
    facts.push(format!("sockets {}", cpu.packages));
    facts.push(format!("memory nodes {}", host.numa.len()));
    facts.push(pair.map_or_else(|| "no SMT".to_owned(), |pair| format!("SMT, siblings such as {pair}")));
    facts.join(", ")
}

fn caches(host: &Host) -> String {
    let one = |cache: &crate::Cache| {
        let kind = match cache.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let ways = cache.ways.map_or_else(String::new, |ways| format!(", {ways} ways"));
        let times = if cache.count > 1 { format!("{} × ", cache.count) } else { String::new() };
        format!("L{}{kind} {times}{}{ways}", cache.level, bytes(cache.size_bytes))
    };
    host.caches.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn frequency(host: &Host) -> String {
    let frequency = &host.frequency;
    let Some(driver) = &frequency.driver else { return "not visible".into() };
    let ghz = |khz: u64| format!("{:.1}", khz as f64 / 1e6);
    let mut facts = vec![driver.clone()];
    facts.extend(frequency.governor.as_ref().map(|governor| format!("governor {governor}")));
    if let (Some(low), Some(high)) = (frequency.min_khz, frequency.max_khz) {
        facts.push(format!("{} to {} GHz", ghz(low), ghz(high)));
    }
    facts.extend(frequency.turbo.map(|on| if on { "turbo on".into() } else { "turbo off".into() }));
    facts.extend(frequency.idle_driver.as_ref().map(|driver| format!("idle by {driver}")));
    facts.join(", ")
}

fn memory(host: &Host) -> String {
    let memory = &host.memory;
    let gib = |b: u64| format!("{:.1} GiB", b as f64 / f64::from(1 << 30));
    let mut facts: Vec<String> = memory.total_bytes.map(gib).into_iter().collect();
    facts.extend(
        memory.swap_bytes.map(|b| if b == 0 { "no swap".into() } else { format!("swap {}", gib(b)) }),
    );
    let pools: Vec<String> = memory
        .huge_page_pools
        .iter()
        .map(|pool| format!("{} × {}", pool.pages, bytes(pool.page_bytes)))
        .collect();
    facts.extend((!pools.is_empty()).then(|| format!("huge pages {}", pools.join(", "))));
    facts.extend(memory.transparent_huge_pages.as_ref().map(|when| format!("transparent ones: {when}")));
    facts.join(", ")
}

fn nic_line(host: &Host, nic: &Nic) -> String {
    let mut facts = vec![format!("{} ({})", nic.name, nic.driver.as_deref().unwrap_or("virtual"))];
    facts.extend(nic.speed_mbps.map(|speed| format!("{speed} Mbit/s")));
    facts.push(format!("queues in {}, out {}", nic.receive.len(), nic.transmit.len()));
    if let Some(channels) = nic.ethtool.channels.filter(|channels| channels.combined_most > 0) {
        facts.push(format!("channels {} of {}", channels.combined, channels.combined_most));
    }
    if !nic.ethtool.indirection.is_empty() {
        facts.push(format!("RSS over {} entries", nic.ethtool.indirection.len()));
    }
    if nic.ethtool.offers("rx-ntuple-filter") {
        let on = if nic.ethtool.has_on("rx-ntuple-filter") { "on" } else { "off" };
        facts.push(format!("flow rules {on}"));
    }
    let taken = |(queue, number): (usize, u32)| {
        let at = host.interrupts.number(number)?;
        Some(format!("{queue} on {}", if at.effective.is_empty() { &at.affinity } else { &at.effective }))
    };
    let taken: Vec<String> = nic.receive_interrupts().into_iter().filter_map(taken).collect();
    if !taken.is_empty() {
        facts.push(format!("interrupt of queue {}", taken.join(", ")));
    }
    facts.join(", ")
}

fn stack(host: &Host) -> String {
    let virtual_ones: Vec<&str> =
        host.nics.iter().filter(|nic| !nic.is_hardware()).map(|nic| nic.name.as_str()).collect();
    let rps = host.nics.iter().flat_map(|nic| &nic.receive).filter(|queue| !queue.rps.is_empty()).count();
    let mut facts = Vec::new();
    if !virtual_ones.is_empty() {
        facts.push(virtual_ones.join(" "));
    }
    facts.extend(host.network.congestion_control.as_ref().map(|name| format!("congestion control {name}")));
    if !host.nics.is_empty() {
        facts.push(if rps == 0 { "no RPS".into() } else { format!("RPS on {rps} queues") });
    }
    facts.extend(host.network.busy_poll_us.map(|us| format!("busy poll {us} µs")));
    facts.join(", ")
}

fn interrupts(host: &Host) -> String {
    if host.interrupts.all.is_empty() {
        return String::new();
    }
    let daemon = match host.interrupts.irqbalance {
        Some(true) => "irqbalance runs",
        Some(false) => "irqbalance does not run",
        None => "whether irqbalance runs is unknown",
    };
    format!("{} of devices, {daemon}", host.interrupts.all.len())
}

fn kernel(host: &Host) -> String {
    let kernel = &host.kernel;
    let mut facts: Vec<String> = kernel.release.iter().map(|release| format!("Linux {release}")).collect();
    facts.extend(kernel.distribution.clone());
    facts.extend(kernel.clock_source.as_ref().map(|clock| format!("clock {clock}")));
    facts.extend(
        host.virtualization.container.as_ref().map(|engine| format!("inside a container of {engine}")),
    );
    facts.join(", ")
}

fn cgroups(host: &Host) -> String {
    let of = |version: u32| {
        let trees = host.cgroups.hierarchies.iter().filter(|h| h.version == version);
        let names: Vec<&str> = trees.flat_map(|h| &h.controllers).map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("v{version}: {}", names.join(" ")))
    };
    [of(1), of(2)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The limits of this process's control groups; empty without any.
fn limits(host: &Host) -> String {
    let Limits { processors, memory, memory_high, .. } = &host.limits;
    let time =
        |limit: &Limit<f64>| format!("processor time of {:.2} processors ({})", limit.most, limit.file);
    let room = |limit: &Limit<u64>| format!("memory of {} ({})", bytes(limit.most), limit.file);
    let slow = |limit: &Limit<u64>| format!("slow from {} of memory on ({})", bytes(limit.most), limit.file);
    let facts = [processors.as_ref().map(time), memory.as_ref().map(room), memory_high.as_ref().map(slow)];
    facts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn resctrl(host: &Host) -> String {
    let l3 = host.resctrl.l3.as_ref().map(|l3| {
        let shared = l3.shareable_bits.count_ones();
        format!(
            "{} L3 ways in {} caches, at least {} to a group, {} groups, {shared} ways shared with devices",
            l3.ways,
            l3.domains.len(),
            l3.min_bits,
            l3.closids
        )
    });
    l3.unwrap_or_else(|| if host.resctrl.offered { "not mounted".into() } else { "none".into() })
}

fn software(host: &Host, role: Role) -> String {
    let one = |software: &crate::Software| {
        let version = software.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
        let running = if software.running == Some(true) { " (runs)" } else { "" };
        format!("{}{version}{running}", software.name)
    };
    host.software.iter().filter(|software| software.role == role).map(one).collect::<Vec<_>>().join(", ")
}
