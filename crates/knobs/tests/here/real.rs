//! Each knob applied, seen from outside, and reverted.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use knobs::{Engine, Error, Kernel, LocalKernel};
use launch::testing::copy_program;
use units::client_address::{paced_address, paced_rate};

use crate::snapshot::snapshot;
use crate::victim::Victim;
use crate::{SETTINGS, alone, may_change, planned};

fn engine(folder: &std::path::Path) -> Engine {
    Engine::open(folder, LocalKernel::new(std::path::Path::new("/"))).unwrap()
}

#[test]
fn every_setting_of_this_machine_is_applied_and_reverted() {
    let _alone = alone();
    if !may_change() {
        return;
    }
    let Some(victim) = Victim::new("real") else { return };
    let state = tempfile::tempdir().unwrap();
    let engine = engine(state.path());
    let mut done = Vec::new();
    for words in SETTINGS {
        let Some(plan) = planned(words, &victim.subject(words)) else { continue };
        let before = snapshot(&victim);
        let applied = match engine.apply(&plan) {
            Ok(applied) => applied,
            Err(Error::Denied(problem)) => {
                println!("not here: {problem}");
                continue;
            }
            Err(error) => panic!("{words:?}: {error}"),
        };
        assert_eq!(applied.check().unwrap(), [], "{words:?}");
        let during = snapshot(&victim);
        assert_eq!(applied.revert().unwrap(), [], "{words:?}");
        assert_eq!(snapshot(&victim), before, "{words:?}");
        // A knob that the machine already has shows no difference; all others must.
        if during != before {
            done.push(words.join(" "));
        }
    }
    println!("changed and reverted: {done:#?}");
    assert!(!done.is_empty(), "nothing was changed");
}

/// The connection's pacing rate. Units: bytes per second.
fn pacing_of(stream: &TcpStream) -> u64 {
    let mut value = 0u64;
    let mut length = size_of::<u64>() as nix::libc::socklen_t;
    // SAFETY: both pointers lead to memory of the given length that outlives the call.
    let result = unsafe {
        nix::libc::getsockopt(
            stream.as_raw_fd(),
            nix::libc::SOL_SOCKET,
            nix::libc::SO_MAX_PACING_RATE,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    value
}

/// Connects from an address, and returns the connection that the listener accepts.
fn accepted(listener: &TcpListener, from: Ipv4Addr) -> (TcpStream, OwnedFd) {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    let at = |ip: Ipv4Addr, port| SockaddrIn::from(SocketAddrV4::new(ip, port));
    bind(client.as_raw_fd(), &at(from, 0)).unwrap();
    connect(client.as_raw_fd(), &at(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port())).unwrap();
    let (stream, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), from);
    (stream, client)
}

#[test]
fn connections_are_paced_by_what_the_address_of_the_client_says() {
    let _alone = alone();
    if !may_change() {
        return;
    }
    let Some(plan) = planned(&["client.pace=on"], &knobs::Subject::default()) else {
        println!("skipped: no control groups of version 2");
        return;
    };
    let state = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let applied = match engine(state.path()).apply(&plan) {
        Err(Error::Denied(problem)) => return println!("skipped: {problem}"),
        applied => applied.unwrap(),
    };
    let unlimited = pacing_of(&accepted(&listener, Ipv4Addr::new(127, 0, 0, 9)).0);
    for bits in [1_000_000u64, 4_000_000, 25_000_000, 6_250, 3_000_000_000] {
        let address = paced_address(bits);
        let (stream, _client) = accepted(&listener, address);
        let (found, expect) = (pacing_of(&stream), paced_rate(address).unwrap() / 8);
        assert!(found.abs_diff(expect) <= 1, "{bits} from {address}: {found} and not {expect} B/s");
        assert!(found < unlimited);
    }
    assert_eq!(applied.revert().unwrap(), []);
    assert_eq!(pacing_of(&accepted(&listener, paced_address(1_000_000)).0), unlimited);
}

#[test]
fn a_process_is_where_it_is_put_and_its_children_with_it() {
    let _alone = alone();
    if !may_change() {
        return;
    }
    let Some(victim) = Victim::new("group") else { return };
    let words = ["cpu.set=0", "cpu.quota=50%"];
    let Some(plan) = planned(&words, &victim.subject(&words)) else {
        println!("skipped: no control groups for processors");
        return;
    };
    let state = tempfile::tempdir().unwrap();
    let before = snapshot(&victim);
    let applied = engine(state.path()).apply(&plan).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", victim.pid())).unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    assert_eq!(allowed, "0");
    drop(applied);
    assert_eq!(snapshot(&victim), before);
}

#[test]
fn a_value_that_the_kernel_refuses_leaves_nothing() {
    let _alone = alone();
    if !may_change() {
        return;
    }
    let Some(victim) = Victim::new("refused") else { return };
    let words = ["aslr=off", "sysctl.vm.overcommit_memory=7"];
    let Some(plan) = planned(&words, &victim.subject(&words)) else {
        println!("skipped: no such parameters");
        return;
    };
    let state = tempfile::tempdir().unwrap();
    let before = snapshot(&victim);
    match engine(state.path()).apply(&plan) {
        Err(Error::Failed(problem)) => assert!(problem.what.contains("overcommit_memory"), "{problem}"),
        Err(Error::Denied(problem)) => println!("skipped: {problem}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the kernel took it"),
    }
    assert_eq!(snapshot(&victim), before);
}

/// This machine, if a test may run its own irqbalance on it.
fn without_irqbalance() -> Option<LocalKernel> {
    if !may_change() {
        return None;
    }
    let here = LocalKernel::new(std::path::Path::new("/"));
    if here.daemon("irqbalance").unwrap().is_some() {
        println!("skipped: irqbalance runs, and is not a test's to stop");
        return None;
    }
    Some(here)
}

#[test]
fn a_daemon_is_stopped_and_runs_again_as_before() {
    let _alone = alone();
    let Some(here) = without_irqbalance() else { return };
    // Any program with this name counts as the daemon.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("irqbalance");
    copy_program("/bin/sleep", &program);
    let line = vec![program.display().to_string(), "3600".to_owned()];
    here.set_daemon("irqbalance", Some(&line)).unwrap();
    let subject = knobs::Subject { net_device: Some("lo".into()), ..Default::default() };
    let plan = planned(&["irqbalance=off"], &subject).unwrap();
    let needs = knobs::plan(&crate::knobs(&["irq.affinity=0"]), &host::Host::here(), &subject).unwrap_err();
    assert!(needs.to_string().contains("irqbalance=off"), "{needs}");
    let state = tempfile::tempdir().unwrap();
    let applied = engine(state.path()).apply(&plan).unwrap();
    assert_eq!(here.daemon("irqbalance").unwrap(), None);
    assert_eq!(applied.revert().unwrap(), []);
    assert_eq!(here.daemon("irqbalance").unwrap(), Some(line));
    here.set_daemon("irqbalance", None).unwrap();
    assert_eq!(here.daemon("irqbalance").unwrap(), None);
}

#[test]
fn a_daemon_is_told_which_interrupts_to_leave_and_runs_again_as_before() {
    let _alone = alone();
    let Some(here) = without_irqbalance() else { return };
    let host = host::Host::here();
    let Some(card) = host.nics.iter().find(|nic| nic.is_hardware()) else {
        println!("skipped: no card");
        return;
    };
    let subject = knobs::Subject { net_device: Some(card.name.clone()), ..Default::default() };
    // A daemon that takes any arguments and waits: a shell that opens a pipe without a writer.
    let folder = tempfile::tempdir().unwrap();
    let (program, pipe) = (folder.path().join("irqbalance"), folder.path().join("pipe"));
    copy_program("/bin/bash", &program);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let line = vec![program.display().to_string(), "-c".to_owned(), format!(": < {}", pipe.display())];
    here.set_daemon("irqbalance", Some(&line)).unwrap();
    // With the exclusion, interrupts may be set; without it, irqbalance would move them again.
    let words = ["irq.affinity=0", "irqbalance=exclude"];
    let alone = knobs::plan(&crate::knobs(&words[..1]), &host, &subject).unwrap_err();
    assert!(alone.to_string().contains("irqbalance=exclude"), "{alone}");
    if let Some(plan) = planned(&words, &subject) {
        let state = tempfile::tempdir().unwrap();
        let applied = engine(state.path()).apply(&plan).unwrap();
        let banned: Vec<String> = card
            .interrupts
            .iter()
            .filter(|interrupt| interrupt.queue.is_some())
            .map(|interrupt| format!("--banirq={}", interrupt.interrupt))
            .collect();
        let mut told = here.daemon("irqbalance").unwrap().unwrap().split_off(line.len());
        told.sort();
        assert!(!banned.is_empty() && told.len() == banned.len(), "{told:?}");
        assert!(banned.iter().all(|word| told.contains(word)), "{told:?} {banned:?}");
        assert_eq!(applied.check().unwrap(), []);
        assert_eq!(applied.revert().unwrap(), []);
        assert_eq!(here.daemon("irqbalance").unwrap(), Some(line));
    }
    here.set_daemon("irqbalance", None).unwrap();
    assert_eq!(here.daemon("irqbalance").unwrap(), None);
}
