use super::{Ability, AbilityAnswer, count, no, partly, yes};
use crate::{Host, Role};

pub(super) fn abilities(host: &Host) -> Vec<Ability> {
    vec![
        processors(host).named("processors and their time limited", "Table IV"),
        memory(host).named("memory limited", "§V-D, Table IV"),
        cache(host).named("cache ways shared out", "Fig. 12, Table IV"),
        huge_pages(host).named("huge pages", "tune huge-pages"),
        containers(host).named("containers", "Fig. 8, Table IV"),
    ]
}

/// Splits `controllers` into mounted ones, with the version of their hierarchy, and missing ones.
fn held(host: &Host, controllers: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for controller in controllers {
        match host.cgroups.holding(controller) {
            Some(hierarchy) => found.push(format!("{controller} (v{})", hierarchy.version)),
            None => missing.push((*controller).to_owned()),
        }
    }
    (found, missing)
}

fn hint(host: &Host, missing: &[String]) -> String {
    let can_mount = missing.iter().all(|name| host.cgroups.unmounted.contains(name));
    let groups = if missing.len() == 1 { "the control group" } else { "the control groups" };
    let what = if can_mount { "mount" } else { "a kernel with" };
    format!("{what} {groups} {}", missing.join(", "))
}

fn processors(host: &Host) -> AbilityAnswer {
    let (found, missing) = held(host, &["cpuset", "cpu"]);
    if found.is_empty() {
        return no("no control group for them", hint(host, &missing));
    }
    if !missing.is_empty() {
        return partly(format!("control groups {} only", found.join(", ")), hint(host, &missing))
            .needing(host, "sys_admin");
    }
    match host.kernel.built_with("CFS_BANDWIDTH") {
        Some(false) => partly(
            format!("control groups {}; no quota in this kernel", found.join(", ")),
            "a kernel with CONFIG_CFS_BANDWIDTH",
        ),
        _ => yes(found.join(", ")),
    }
    .needing(host, "sys_admin")
}

fn memory(host: &Host) -> AbilityAnswer {
    let (found, missing) = held(host, &["memory"]);
    if !missing.is_empty() {
        return no("no control group for it", hint(host, &missing));
    }
    let swap = match host.memory.swap_bytes {
        Some(0) => "without swap, too small a limit ends in a kill",
        Some(_) => "with swap, too small a limit is slow",
        None => "swap unknown",
    };
    yes(format!("{}; {swap}", found[0])).needing(host, "sys_admin")
}

fn cache(host: &Host) -> AbilityAnswer {
    let resctrl = &host.resctrl;
    if let Some(l3) = &resctrl.l3 {
        let shape = if l3.sparse { "any mask" } else { "side by side" };
        return yes(format!(
            "{} L3 ways, at least {} to a group, {shape}; {}",
            l3.ways,
            l3.min_bits,
            count(l3.closids as usize, "group")
        ))
        .needing(host, "sys_admin");
    }
    let processor = ["rdt_a", "cat_l3"].iter().any(|feature| host.cpu.has(feature));
    if resctrl.offered && resctrl.mount.is_none() {
        return partly("resctrl is there, not mounted", "mount -t resctrl resctrl /sys/fs/resctrl")
            .needing(host, "sys_admin");
    }
    if processor && resctrl.msr {
        return partly(
            "by model-specific registers: the kernel has no resctrl",
            "a kernel with CONFIG_X86_CPU_RESCTRL",
        )
        .needing(host, "sys_rawio");
    }
    if processor {
        return no(
            "the processor has it, the kernel does not show it",
            "modprobe msr, or a kernel with CONFIG_X86_CPU_RESCTRL",
        );
    }
    no(
        "neither processor nor kernel offer resctrl",
        "a dedicated machine with Intel RDT (Xeon v4 and later), AMD (EPYC) or Arm MPAM",
    )
}

fn huge_pages(host: &Host) -> AbilityAnswer {
    let sizes: Vec<String> = host
        .memory
        .huge_page_pools
        .iter()
        .map(|pool| format!("{} of {}", pool.pages, bytes(pool.page_bytes)))
        .collect();
    if sizes.is_empty() {
        return no("the kernel has none", "a kernel with CONFIG_HUGETLBFS");
    }
    yes(format!("{} set apart now", sizes.join(", "))).needing(host, "dac_override")
}

fn containers(host: &Host) -> AbilityAnswer {
    // A bare container runtime is only useful below an engine.
    let engines = host
        .software
        .iter()
        .filter(|s| s.role == Role::Engine && !["runc", "crun"].contains(&s.name.as_str()));
    let named: Vec<String> = engines
        .map(|engine| {
            let version = engine.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
            let asleep = if engine.running == Some(false) { " (its daemon does not run)" } else { "" };
            format!("{}{version}{asleep}", engine.name)
        })
        .collect();
    if named.is_empty() {
        return no("no engine found", "install lxc (the paper's), podman or docker");
    }
    yes(named.join(", ")).needing(host, "sys_admin")
}

/// `2 MiB`, `1536 KiB`: in the largest unit that gives a whole number.
pub(crate) fn bytes(bytes: u64) -> String {
    [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        .iter()
        .find(|(_, shift)| bytes != 0 && bytes.is_multiple_of(1 << shift))
        .map_or_else(|| format!("{bytes} B"), |(unit, shift)| format!("{} {unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        let check = |size: u64, expect: &str| assert_eq!(bytes(size), expect);
        check(0, "0 B");
        check(100, "100 B");
        check(48 << 10, "48 KiB");
        check(1536 << 10, "1536 KiB");
        check(2 << 20, "2 MiB");
        check(1 << 30, "1 GiB");
    }
}
