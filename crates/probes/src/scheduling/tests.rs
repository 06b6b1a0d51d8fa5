#[cfg(feature = "bpf")]
mod truth;

use super::*;
use crate::histogram::Histogram;

#[test]
fn counts_of_two_slots_become_rates() {
    let thread = |n: u64| Thread {
        name: "worker".into(),
        counted: threads::Thread {
            running_ns: n * 1_000_000_000,
            waiting_ns: n * 30_000,
            given: n * 10,
            voluntary: n * 8,
            involuntary: n * 2,
        },
        migrations: Some(n),
    };
    let core = |n: u64| Core {
        interrupts: 7 * n,
        net_rx: 5 * n,
        soft: n,
        ticks: Ticks { process: 97 * n, interrupt: n, steal: 2 * n, ..Ticks::default() },
    };
    let counts = |n: u64| SchedulerCounts {
        threads: [(4, thread(n))].into(),
        cores: [(2, core(n))].into(),
        waits: None,
    };
    let mut sum = counts(3).since(&counts(2));
    assert_eq!(sum, counts(1));
    sum.add(&counts(1));
    let mut record = Probes::default();
    assert_eq!(sum.enter(4.0, &mut record), None);
    let got = record.scheduling.unwrap();
    let worker = &got.threads[0];
    assert_eq!((worker.tid, worker.name.as_str(), worker.running_share), (4, "worker", 0.5));
    assert_eq!(worker.run_queue_us_mean, Some(3.0));
    assert_eq!((worker.switches_per_s, worker.voluntary_per_s), (5.0, 4.0));
    assert_eq!((worker.involuntary_per_s, worker.migrations_per_s), (1.0, Some(0.5)));
    let core = &got.cores[0];
    assert_eq!((got.cores.len(), core.cpu), (1, 2));
    assert_eq!((core.interrupts_per_s, core.net_rx_per_s, core.other_soft_per_s), (3.5, 2.5, 0.5));
    assert_eq!((core.interrupt_share, core.steal_share), (0.01, 0.02));
}

#[test]
fn reads_each_processor() {
    let root = tempfile::tempdir().unwrap();
    let proc = root.path().join("proc");
    fs::create_dir(&proc).unwrap();
    let write = |name: &str, text: &str| fs::write(proc.join(name), text).unwrap();
    // The second of three is offline: `softirqs` has a column for it, the others do not.
    write(
        "stat",
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 100 1000 10 1 5 2 7 0\ncpu2 1 1 1 1 1 1 1 1\nintr 5\n",
    );
    write("interrupts", "      CPU0  CPU2\n 24:  3  4  virtio\nLOC:  10  20  Local timer\n");
    write("softirqs", "      CPU0  CPU1  CPU2\n  TIMER: 1 8 2\n  NET_RX: 30 80 40\n");
    let got: Vec<_> = cores(root.path())
        .iter()
        .map(|(cpu, core)| {
            (*cpu, core.interrupts, core.net_rx, core.soft, core.ticks.interrupt, core.ticks.all())
        })
        .collect();
    assert_eq!(got, [(0, 13, 30, 1, 6, 1129), (2, 24, 40, 2, 2, 8)]);
    assert!(cores(&root.path().join("nothing")).is_empty());
}

#[test]
fn losing_waits_is_told() {
    let check = |lost: u64, expect: Option<&str>| {
        let times = [0, 1].map(|_| Histogram { count: 100, ..Histogram::default() });
        let mut waits = waits::TimedWaits { times, lost };
        let counts = SchedulerCounts { waits: Some(waits.clone()), ..SchedulerCounts::default() };
        let told = counts.enter(1.0, &mut Probes::default());
        assert_eq!(told.as_deref().map(|told| &told[..19]), expect, "{told:?}");
        waits.add(&waits.clone());
        assert_eq!((waits.lost, waits.times[1].count), (2 * lost, 200));
    };
    check(0, None);
    check(2, None);
    check(3, Some("runqueue: 3 of 203 "));
}

#[test]
fn sees_its_own_process() {
    let mut missing = Vec::new();
    let subject = Subject { pids: vec![std::process::id()], ports: Vec::new(), ..Subject::default() };
    let mut probe = open(&subject, &mut missing).unwrap_or_else(|lacks| panic!("{lacks:?}"));
    probe.resume().unwrap();
    // It wakes up again, so it was ready to run at least once.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let mut record = Probes::default();
    assert_eq!(probe.pause().enter(1.0, &mut record), None);
    let got = record.scheduling.unwrap();
    assert!(!got.cores.is_empty());
    #[cfg(feature = "bpf")]
    if crate::kernel::may_load() {
        assert!(missing.iter().all(|missing| missing.probe != "runqueue: distributions"), "{missing:?}");
        assert!(got.run_queue.is_some_and(|waits| waits.count > 0) && got.futex_wait.is_some(), "{got:?}");
    }
    let none = Subject { pids: Vec::new(), ports: vec![1], ..Subject::default() };
    let lacks = open(&none, &mut missing).err().unwrap();
    assert!(lacks[0].what.contains("none is known to listen") && lacks[0].disables.contains("migrations"));
}

#[test]
fn sums_columns() {
    let table = "           CPU0       CPU1\n  1:  10  20  IO-APIC\nNMI:  1  2  x\nERR:  5\n";
    assert_eq!(columns(table, |_| true), BTreeMap::from([(0, 16), (1, 22)]));
    assert_eq!(columns(table, |name| name == "NMI"), BTreeMap::from([(0, 1), (1, 2)]));
    // One processor is offline.
    assert_eq!(columns("  CPU0 CPU2\n 1: 10 20\n", |_| true)[&2], 20);
    assert!(columns("", |_| true).is_empty());
}
