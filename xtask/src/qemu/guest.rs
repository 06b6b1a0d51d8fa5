use std::time::Duration;

/// A QEMU machine and its checks.
pub(super) struct Guest {
    /// Name for `cargo xtask qemu NAME`.
    pub(super) name: &'static str,
    /// Purpose, for the list of guests.
    pub(super) about: &'static str,
    sockets: usize,
    /// Of each socket.
    cores: usize,
    /// Of each core: 2 with SMT.
    threads: usize,
    /// Memory nodes, which have the processors and the memory in equal parts.
    nodes: usize,
    memory_mib: usize,
    /// Programs of this machine that it has in addition to `taillight`.
    pub(super) programs: &'static [&'static str],
    /// Its checks, in the shell of `init.sh`.
    pub(super) checks: &'static str,
    /// Time limit: several times the duration on two processors.
    pub(super) patience: Duration,
}

/// All guests, the quickest first.
pub(super) static GUESTS: [Guest; 3] = [
    Guest {
        name: "knobs",
        about: "knobs with SMT, two memory nodes, version 2 of control groups and a card of several interrupts",
        sockets: 2,
        cores: 1,
        threads: 2,
        nodes: 2,
        memory_mib: 1024,
        programs: &[],
        checks: include_str!("knobs.sh"),
        patience: Duration::from_secs(600),
    },
    Guest {
        name: "eight",
        about: "plans and a smoke run of studies on 8 processors with SMT and two memory nodes",
        sockets: 2,
        cores: 2,
        threads: 2,
        nodes: 2,
        memory_mib: 2048,
        programs: &["memcached", "nginx"],
        checks: include_str!("eight.sh"),
        patience: Duration::from_secs(900),
    },
    Guest {
        name: "four",
        about: "the quick run of the study thread-scaling on 4 processors",
        sockets: 1,
        cores: 4,
        threads: 1,
        nodes: 1,
        memory_mib: 1024,
        programs: &["memcached"],
        checks: include_str!("four.sh"),
        patience: Duration::from_secs(3600),
    },
];

impl Guest {
    /// The guests of these names; all of them without names.
    ///
    /// # Errors
    ///
    /// An unknown name.
    pub(super) fn named(names: &[&str]) -> Result<Vec<&'static Guest>, String> {
        let known = || GUESTS.iter().map(|guest| guest.name).collect::<Vec<_>>().join(", ");
        let one = |name: &&str| {
            let found = GUESTS.iter().find(|guest| guest.name == *name);
            found.ok_or_else(|| format!("there is no guest '{name}'; write {}, or none for all", known()))
        };
        if names.is_empty() { Ok(GUESTS.iter().collect()) } else { names.iter().map(one).collect() }
    }

    /// The machine, as options of QEMU. Source: `qemu-system-x86_64(1)`.
    pub(super) fn machine(&self) -> Vec<String> {
        let Guest { sockets, cores, threads, nodes, memory_mib, .. } = self;
        let processors = sockets * cores * threads;
        let mut words: Vec<String> = [
            "-accel tcg,thread=multi -cpu max,vendor=GenuineIntel -nic user,restrict=on,model=e1000e",
            &format!("-smp {processors},sockets={sockets},cores={cores},threads={threads} -m {memory_mib}"),
        ]
        .iter()
        .flat_map(|options| options.split(' ').map(str::to_owned))
        .collect();
        let (of_node, memory) = (processors / nodes, memory_mib / nodes);
        for node in 0..*nodes {
            let (first, last) = (node * of_node, (node + 1) * of_node - 1);
            words.push("-object".into());
            words.push(format!("memory-backend-ram,id=memory{node},size={memory}M"));
            words.push("-numa".into());
            words.push(format!("node,cpus={first}-{last},memdev=memory{node}"));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_by_name() {
        let names = |given: &[&str]| {
            Guest::named(given).map(|found| found.iter().map(|guest| guest.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["knobs", "eight", "four"]);
        assert_eq!(names(&["four"]).unwrap(), ["four"]);
        let error = names(&["four", "for"]).unwrap_err();
        assert!(error.contains("'for'; write knobs, eight, four"), "{error}");
    }

    #[test]
    fn a_machine_has_its_nodes_in_equal_parts() {
        let options = |name| Guest::named(&[name]).unwrap()[0].machine().join(" ");
        let eight = options("eight");
        assert!(eight.contains("-smp 8,sockets=2,cores=2,threads=2 -m 2048"), "{eight}");
        let node = "-object memory-backend-ram,id=memory1,size=1024M -numa node,cpus=4-7,memdev=memory1";
        assert!(eight.ends_with(node), "{eight}");
        assert!(options("four").ends_with("-numa node,cpus=0-3,memdev=memory0"));
    }
}
