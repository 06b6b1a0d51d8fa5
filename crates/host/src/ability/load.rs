use super::{Ability, AbilityAnswer, no, partly, yes};
use crate::{Host, Role};

/// The connections of the largest published load that is repeated here. Source: ISPASS'16 §VI-C has 600.
const CONNECTIONS: u64 = 600;

/// Files that a generator or server opens in addition to its connections, rounded up.
const OTHER_FILES: u64 = 64;

pub(super) fn abilities(host: &Host) -> Vec<Ability> {
    vec![
        connections(host).named("as many connections as published", "ANCS'19 Fig. 3"),
        servers(host).named("servers beside Sphinx", "Fig. 1 to 9"),
    ]
}

fn connections(host: &Host) -> AbilityAnswer {
    let limits = &host.limits;
    let most = limits.open_files_most.or(limits.open_files);
    match most {
        Some(most) if most < CONNECTIONS + OTHER_FILES => no(
            format!("{most} open files at most"),
            format!("raise the limit to {}: ulimit -Hn", CONNECTIONS + OTHER_FILES),
        ),
        Some(most) => yes(format!("up to {}", most - OTHER_FILES)),
        None if limits == &Default::default() => partly("the limit on open files is unknown", "mount /proc"),
        None => yes("no limit on open files"),
    }
}

fn servers(host: &Host) -> AbilityAnswer {
    let found: Vec<_> = host.software.iter().filter(|software| software.role == Role::Server).collect();
    let named: Vec<String> = found
        .iter()
        .map(|server| {
            let version = server.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
            let busy = if server.running == Some(true) { " (one runs already)" } else { "" };
            format!("{}{version}{busy}", server.name)
        })
        .collect();
    if !found.iter().any(|server| server.name == "memcached") {
        let beside = if named.is_empty() { String::new() } else { format!(", but {}", named.join(", ")) };
        return no(
            format!("no memcached{beside}"),
            "install memcached, or taillight serve memcached --binary PATH",
        );
    }
    yes(named.join(", "))
}
