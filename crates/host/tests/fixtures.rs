//! The two machines of IISWC'17, planted as trees of files: their facts, and the screens about them.

mod machines;

use std::path::Path;

use std::sync::LazyLock;

use host::{Answer, Direction, Host, Screen};

/// Planted and read once: some thousand files each.
static XEON: LazyLock<Host> = LazyLock::new(|| read(machines::xeon));
static THUNDERX: LazyLock<Host> = LazyLock::new(|| read(machines::thunderx));

fn read(plant: fn(&Path) -> std::io::Result<()>) -> Host {
    let dir = tempfile::tempdir().unwrap();
    plant(dir.path()).unwrap();
    Host::read(dir.path())
}

/// INSTA_UPDATE=always writes the records.
#[test]
fn the_records_that_come_with_the_program_are_those_of_the_fixtures() {
    for ((name, text), host) in host::records::ALL.iter().zip([&*XEON, &*THUNDERX]) {
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("records/{name}.json"));
            std::fs::write(path, serde_json::to_string(host).unwrap() + "\n").unwrap();
        } else {
            assert_eq!(&serde_json::from_str::<Host>(text).unwrap(), host, "{name}");
        }
    }
}

#[test]
fn the_screen_of_the_xeon() {
    insta::assert_snapshot!(Screen(&XEON).to_string());
}

#[test]
fn the_screen_of_the_thunderx() {
    insta::assert_snapshot!(Screen(&THUNDERX).to_string());
}

#[test]
fn the_screen_of_nothing_says_what_is_missing() {
    insta::assert_snapshot!(Screen(&Host::default()).to_string());
}

#[test]
fn the_xeon_has_what_the_paper_changes() {
    let host = &*XEON;
    assert_eq!((host.cpu.cores.len(), host.cpu.packages, host.cpu.online.len()), (44, 2, 88));
    assert_eq!(host.cpu.siblings(3).unwrap().to_string(), "3,47");
    let l3 = host.resctrl.l3.as_ref().unwrap();
    assert_eq!((l3.ways, l3.min_bits, l3.closids, l3.shareable_bits), (20, 1, 16, 0xc0000));
    assert_eq!((l3.sparse, l3.domains.as_slice()), (false, [0, 1].as_slice()));
    let nic = host.nic("eth0").unwrap();
    assert_eq!((nic.driver.as_deref(), nic.receive.len(), nic.transmit.len()), (Some("ixgbe"), 8, 8));
    let queues: Vec<(usize, u32)> = (0..8).map(|queue| (queue, 64 + queue as u32)).collect();
    assert_eq!(nic.receive_interrupts(), queues);
    // The ninth interrupt is for the link.
    assert_eq!(nic.interrupts.last().map(|i| (i.interrupt, i.direction)), Some((72, Direction::Other)));
    let third = host.interrupts.number(66).unwrap();
    assert_eq!((third.affinity.to_string(), third.effective.to_string()), ("0-21,44-65".into(), "2".into()));
    assert_eq!((third.name.as_str(), third.count), ("eth0-TxRx-2", 4096));
    assert_eq!(host.interrupts.irqbalance, Some(true));
    assert_eq!(
        host.cgroups.holding("cpuset").map(|h| (h.version, h.mount.as_str())),
        Some((1, "/sys/fs/cgroup/cpuset"))
    );
    assert_eq!(host.cgroups.unmounted, ["hugetlb"]);
    assert_eq!(host.frequency.governors, ["performance", "powersave"]);
    assert_eq!((host.frequency.hardware_min_khz, host.frequency.turbo), (Some(1_200_000), Some(true)));
    assert_eq!(host.frequency.power_zones.len(), 2);
    assert_eq!(host.program("memcached").unwrap().version.as_deref(), Some("1.4.36"));
    let daemon = host.program("irqbalance").unwrap();
    assert_eq!((daemon.version.as_deref(), daemon.running), (Some("1.1.0"), Some(true)));
    assert_eq!(host.kernel.built_with("NET_SCH_HTB"), Some(true));
    assert_eq!(host.kernel.built_with("IO_URING"), Some(false));
}

#[test]
fn the_thunderx_lacks_it() {
    let host = &*THUNDERX;
    assert_eq!((host.cpu.cores.len(), host.cpu.smt_on(), host.cpu.smt_control.is_none()), (48, false, true));
    assert_eq!((host.resctrl.l3.is_none(), host.resctrl.offered), (true, false));
    assert_eq!(host.frequency.driver, None);
    let memory = host.cgroups.holding("memory").unwrap();
    assert_eq!((memory.version, memory.mount.as_str()), (2, "/sys/fs/cgroup"));
    assert!(memory.delegated.contains(&"memory".to_owned()));
    assert!(host.observing.hardware_counters && host.observing.btf && host.observing.kprobes);
    assert_eq!(host.program("docker").unwrap().running, Some(true));
    assert_eq!(host.nic("eth0").unwrap().receive_interrupts().len(), 8);
    assert_eq!(
        (host.only_card().map(|nic| nic.name.as_str()), host.program("irqbalance")),
        (Some("eth0"), None)
    );
}

#[test]
fn every_lack_has_a_lever() {
    for host in [XEON.clone(), THUNDERX.clone(), Host::here(), Host::default()] {
        for ability in host.abilities() {
            assert_eq!(ability.hint.is_none(), ability.answer == Answer::Yes, "{ability:?}");
            assert!(!ability.why.is_empty() && !ability.shows.is_empty(), "{ability:?}");
        }
    }
}

#[test]
fn a_user_without_privileges_is_told_so() {
    let mut host = XEON.clone();
    let answers = |host: &Host| -> Vec<Answer> { host.abilities().iter().map(|a| a.answer).collect() };
    let before = answers(&host);
    host.privileges = Default::default();
    let after = answers(&host);
    assert!(before.iter().zip(&after).all(|(before, after)| after >= before));
    let lost = host.abilities().into_iter().filter(|a| a.why.ends_with("but not for this user")).count();
    assert!(lost >= 10, "{lost}");
}

#[test]
fn a_part_of_the_machine_or_of_the_privileges_is_not_all() {
    let answer = |host: &Host, name: &str| {
        host.abilities().into_iter().find(|ability| ability.name.contains(name)).unwrap().answer
    };
    let mut host = THUNDERX.clone();
    let [separate, stages] = ["processors of their own for server and load", "by eBPF"];
    assert_eq!((answer(&host, separate), answer(&host, stages)), (Answer::Yes, Answer::Yes));
    // A container with two of its processors.
    host.cpu.allowed = "0-1".parse().unwrap();
    assert_eq!(answer(&host, separate), Answer::Partly);
    host.privileges.capabilities = vec!["bpf".into()];
    assert_eq!(answer(&host, stages), Answer::No);
    host.privileges.capabilities.push("perfmon".into());
    assert_eq!(answer(&host, stages), Answer::Yes);
}

#[test]
fn the_record_of_a_fixture_is_stored_and_read_back() {
    for host in [&*XEON, &*THUNDERX] {
        let text = serde_json::to_string(host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), *host);
    }
}
