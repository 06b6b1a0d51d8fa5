use super::{Ability, AbilityAnswer, no, partly, yes};
use crate::Host;

pub(super) fn abilities(host: &Host) -> Vec<Ability> {
    vec![
        counters(host).named("hardware counters", "Fig. 12"),
        bpf(host).named("a request's stages, by eBPF", "Table II, Table III"),
    ]
}

fn counters(host: &Host) -> AbilityAnswer {
    let observing = &host.observing;
    if !observing.hardware_counters {
        let hint = if host.virtualization.hypervisor {
            "a machine without a hypervisor, or one whose hypervisor passes the counters on (vPMU)"
        } else {
            "a kernel with a driver for this processor's counters"
        };
        return no("the kernel offers none", hint);
    }
    let may = host.privileges.can("perfmon") || host.privileges.can("sys_admin");
    match observing.paranoid {
        _ if may => yes("cycles, instructions, cache misses"),
        Some(level) if level > 2 => no(
            format!("forbidden (perf_event_paranoid is {level})"),
            "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON",
        ),
        Some(level) if level > 0 => partly(
            format!("the user's own processes only (perf_event_paranoid is {level})"),
            "sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON",
        ),
        _ => yes("cycles, instructions, cache misses"),
    }
}

fn bpf(host: &Host) -> AbilityAnswer {
    let observing = &host.observing;
    if host.kernel.built_with("BPF_SYSCALL") == Some(false) {
        return no("the kernel was built without", "a kernel with CONFIG_BPF_SYSCALL");
    }
    if !host.privileges.may_load_programs() {
        return no("not for this user", "run as root, or with CAP_BPF and CAP_PERFMON");
    }
    if observing.lockdown.as_deref() == Some("confidentiality") {
        return no("the kernel is locked down", "boot without lockdown=confidentiality");
    }
    if !observing.btf {
        return no("the kernel does not describe its types (BTF)", "a kernel with CONFIG_DEBUG_INFO_BTF");
    }
    if !observing.tracepoints {
        return no("the kernel has no trace points", "a kernel with CONFIG_PERF_EVENTS and CONFIG_TRACING");
    }
    if observing.kprobes {
        yes("trace points, kprobes, BTF")
    } else {
        partly("trace points and BTF, but no probe of a kernel's function", "a kernel with CONFIG_KPROBES")
    }
}
