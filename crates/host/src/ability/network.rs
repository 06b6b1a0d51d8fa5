use super::{Ability, AbilityAnswer, count, no, partly, yes};
use crate::{Host, Nic};

pub(super) fn abilities(host: &Host) -> Vec<Ability> {
    vec![
        interrupts(host).named("interrupts placed per queue", "Table VI, ISPASS'16 Fig. 4, ANCS'19"),
        steering(host).named("flows steered by the NIC", "tune nic.spread, nic.steer"),
        software_steering(host).named("flows steered by the kernel", "Table VI without such a NIC"),
        shaping(host).named("bandwidth limited", "§V-D, Table IV"),
    ]
}

/// The device with hardware that has the most receive queues.
fn widest(host: &Host) -> Option<&Nic> {
    host.nics.iter().filter(|nic| nic.is_hardware()).max_by_key(|nic| nic.receive.len())
}

fn interrupts(host: &Host) -> AbilityAnswer {
    const HINT: &str = "a NIC with several queues (bare metal, or a larger cloud instance)";
    let Some(nic) = widest(host) else { return no("no network device with hardware", HINT) };
    let queues = nic.receive_interrupts().len();
    let name = &nic.name;
    match queues {
        0 => no(format!("{name} has no interrupt that the kernel names"), HINT),
        1 => partly(format!("{name} has 1 queue: its one interrupt can be moved, not spread"), HINT)
            .needing(host, "dac_override"),
        n => {
            let daemon = if host.interrupts.irqbalance == Some(true) { "; irqbalance runs" } else { "" };
            yes(format!("{name} has {n} queues{daemon}")).needing(host, "dac_override")
        }
    }
}

fn steering(host: &Host) -> AbilityAnswer {
    const HINT: &str = "a NIC with flow steering (Intel 82599 and later, Mellanox)";
    let Some(nic) = widest(host) else { return no("no network device with hardware", HINT) };
    let (name, ethtool) = (&nic.name, &nic.ethtool);
    let table = match ethtool.indirection.len() {
        0 => None,
        _ => Some(format!("RSS over {}", count(ethtool.queues_used(), "queue"))),
    };
    let rules = ethtool.offers("rx-ntuple-filter");
    match (table, rules) {
        (Some(table), true) => {
            let rules =
                if ethtool.has_on("rx-ntuple-filter") { "rules on" } else { "rules can be switched on" };
            let arfs = match host.kernel.built_with("RFS_ACCEL") {
                Some(true) => ", aRFS",
                Some(false) => ", no aRFS in this kernel",
                None => "",
            };
            yes(format!("{name}: {table}; {rules}{arfs}")).needing(host, "net_admin")
        }
        (Some(table), false) => {
            partly(format!("{name}: {table}, no rules for single flows"), HINT).needing(host, "net_admin")
        }
        (None, true) => {
            partly(format!("{name}: rules for single flows, but no table"), HINT).needing(host, "net_admin")
        }
        (None, false) => {
            no(format!("{name} ({}) offers neither", nic.driver.as_deref().unwrap_or("virtual")), HINT)
        }
    }
}

fn software_steering(host: &Host) -> AbilityAnswer {
    let has = |option| host.kernel.built_with(option);
    // A kernel without RPS has no file for it.
    let found = host.nics.iter().any(|nic| nic.receive.iter().any(|queue| queue.flow_entries.is_some()));
    if !found && has("RPS") != Some(true) {
        return no("the kernel was built without", "a kernel with CONFIG_RPS and CONFIG_XPS");
    }
    let on = host.nics.iter().flat_map(|nic| &nic.receive).filter(|queue| !queue.rps.is_empty()).count();
    let now = if on == 0 {
        "RPS, off on all queues now".to_owned()
    } else {
        format!("RPS, on {} now", count(on, "queue"))
    };
    if host.cpu.online.len() < 2 {
        return no(format!("{now}, and one processor to steer to"), "a machine with more processors");
    }
    yes(now).needing(host, "dac_override")
}

fn shaping(host: &Host) -> AbilityAnswer {
    let kinds = [("HTB", "NET_SCH_HTB"), ("TBF", "NET_SCH_TBF")];
    let built: Vec<Option<bool>> = kinds.iter().map(|(_, option)| host.kernel.built_with(option)).collect();
    let named = |expect| {
        let names: Vec<&str> = kinds
            .iter()
            .zip(&built)
            .filter(|(_, b)| **b == Some(expect))
            .map(|((name, _), _)| *name)
            .collect();
        names.join(" and ")
    };
    let judged = if host.program("tc").is_none() {
        return no("the program tc is not here", "install iproute2");
    } else if built.iter().all(|b| *b == Some(true)) {
        yes(named(true))
    } else if built.contains(&Some(true)) {
        partly(format!("{}, not {}", named(true), named(false)), "a kernel with both")
    } else if built.contains(&Some(false)) {
        no("the kernel was built without", "a kernel with CONFIG_NET_SCH_HTB and CONFIG_NET_SCH_TBF")
    } else {
        partly("the kernel does not say how it was built", "try: taillight tune plan net.rate=1gbit")
    };
    judged.needing(host, "net_admin")
}
