use units::CpuList;

use super::{Ability, AbilityAnswer, count, no, partly, yes};
use crate::Host;

/// The paper gave the service 7 cores and the interrupts 8. Source: IISWC'17 §III-B.
const PAPER_CORES: usize = 15;

pub(super) fn abilities(host: &Host) -> Vec<Ability> {
    vec![
        separate(host).named("processors of their own for server and load", "every figure"),
        undisturbed(host).named("undisturbed processors", "every figure"),
        smt(host).named("two threads on a core (SMT)", "Table V"),
        numa(host).named("near and far memory (NUMA)", "placement"),
        frequency(host).named("frequency and turbo set", "tune frequency, turbo"),
        power(host).named("power limited", "tune power.cap"),
        clock(host).named("a cheap clock", "every figure"),
    ]
}

fn separate(host: &Host) -> AbilityAnswer {
    const HINT: &str = "generate the load elsewhere: taillight agent on other machines";
    // In a container, only the cores that it may use.
    let is_ours = |core: &&CpuList| core.as_slice().iter().any(|cpu| host.cpu.allowed.contains(*cpu));
    let cores = host.cpu.cores.iter().filter(is_ours).count();
    let processors = host.cpu.allowed.len();
    match (cores, processors) {
        (_, 0 | 1) => no("one processor, which server and generator take from each other", HINT),
        // If the kernel reports no cores, each processor counts as one.
        (0, n) | (n, _) if n >= PAPER_CORES => {
            yes(format!("{}: 7 for the server, 8 for interrupts, as the paper has it", count(n, "core")))
        }
        (0, n) | (n, _) => {
            let server = (n - 1).min(7);
            let taken = count(server, "thread");
            partly(
                format!("{}: a server of up to {taken} beside its generator", count(n.max(1), "core")),
                HINT,
            )
        }
    }
}

fn undisturbed(host: &Host) -> AbilityAnswer {
    let virtualization = &host.virtualization;
    if !virtualization.hypervisor {
        // A machine without any facts does not report a hypervisor either.
        return match host.cpu.online.is_empty() {
            true => partly("whether under a hypervisor is unknown", "mount /proc and /sys"),
            false => yes("no hypervisor"),
        };
    }
    let kind = virtualization.kind.as_deref().unwrap_or("a hypervisor");
    let steal = virtualization.steal_share.map_or_else(String::new, |share| {
        format!(", which gave {:.2} % of the time since the start to others", share * 100.0)
    });
    partly(
        format!("under {kind}{steal}"),
        "a dedicated machine; here, every result says what was stolen while it was measured",
    )
}

fn smt(host: &Host) -> AbilityAnswer {
    let cpu = &host.cpu;
    match cpu.smt_control.as_deref() {
        _ if cpu.smt_on() => match cpu.smt_control.as_deref() {
            Some("on") => yes("on, and can be switched").needing(host, "sys_admin"),
            _ => partly("on", "a kernel with /sys/devices/system/cpu/smt/control could switch it off"),
        },
        Some("off") => partly("switched off", "tune smt=on"),
        Some("forceoff") => no("switched off at boot", "boot without nosmt"),
        _ => no("each core shows one thread", "a machine whose processor has SMT; clouds often hide it"),
    }
}

fn numa(host: &Host) -> AbilityAnswer {
    match host.numa.len() {
        0 | 1 => no("one memory node", "a machine of two sockets"),
        n => yes(count(n, "memory node")),
    }
}

fn frequency(host: &Host) -> AbilityAnswer {
    let frequency = &host.frequency;
    let Some(driver) = &frequency.driver else {
        let hint = if host.virtualization.hypervisor {
            "a machine without a hypervisor, which hides it"
        } else {
            "a kernel with a cpufreq driver for this processor"
        };
        return no("the kernel does not govern the frequency", hint);
    };
    let governor = frequency.governor.as_deref().unwrap_or("unknown");
    let turbo = match frequency.turbo {
        Some(true) => "turbo on",
        Some(false) => "turbo off",
        None => {
            return partly(
                format!("{driver}, governor {governor}; turbo cannot be told"),
                "the firmware's settings",
            );
        }
    };
    yes(format!("{driver}, governor {governor}, {turbo}")).needing(host, "sys_admin")
}

fn power(host: &Host) -> AbilityAnswer {
    match host.frequency.power_zones.len() {
        0 => no("no RAPL zone", "a dedicated machine with an Intel or AMD processor"),
        n => yes(count(n, "RAPL zone")).needing(host, "sys_admin"),
    }
}

fn clock(host: &Host) -> AbilityAnswer {
    match host.kernel.clock_source.as_deref() {
        Some(name @ ("tsc" | "arch_sys_counter" | "kvm-clock" | "hyperv_clocksource_tsc_page")) => yes(name),
        Some(name) => partly(
            format!("{name}: a system call for each reading, 1 µs or so"),
            format!("one of those offered: {}", host.kernel.clock_sources.join(", ")),
        ),
        None => no("the kernel does not name its clock", "mount /sys"),
    }
}
