//! Plans of all knobs on the two machines of the paper.

use knobs::{Profile, plan, plan_what_can_be};

use crate::{Machine, knobs};

const ALL: &[&str] = &[
    "cpu.set=0-6",
    "cpu.quota=50%",
    "memory.limit=512MiB",
    "disk.read=10MiB@/srv/videos",
    "read-ahead=128KiB@/srv/videos",
    "net.rate=1gbit",
    "cache.ways=0-3",
    "cache.ways=4-19@others",
    "irqbalance=off",
    "irq.affinity=0-3",
    "rps=0-7",
    "xps=all",
    "rfs=32768",
    "nic.spread=4",
    "nic.filters=on",
    "nic.steer=11211:3",
    "nic.steer=11212:2",
    "power.cap=90W",
    "turbo=off",
    "huge-pages=64",
    "huge-pages.transparent=never",
    "swap=off",
    "aslr=off",
    "congestion-control=reno",
    "busy-poll=50us",
    "sysctl.net.core.somaxconn=1024",
];

/// Other knobs depend on these, so they are applied alone, first.
const FIRST: &[&str] = &["nic.queues=4", "smt=off"];

fn shown(machine: &Machine, words: &[&str]) -> String {
    let plan = |words| plan_what_can_be(&knobs(words), &machine.host(), &machine.subject()).unwrap();
    let (mut planned, others) = (plan(FIRST), plan(words));
    planned.actions.extend(others.actions);
    planned.skipped.extend(others.skipped);
    let actions = planned.actions.iter().map(|action| {
        format!(
            "{}: {}\n    read back: {}\n    undone: {}\n",
            action.knob,
            action.typed(),
            action.read_back(),
            action.undone()
        )
    });
    let skipped = planned.skipped.iter().map(|skipped| format!("skipped {}\n", skipped.reason));
    actions.chain(skipped).collect()
}

#[test]
fn all_knobs_on_the_xeon() {
    insta::assert_snapshot!(shown(&Machine::xeon(), ALL));
}

#[test]
fn all_knobs_on_the_thunderx() {
    insta::assert_snapshot!(shown(&Machine::thunderx(), ALL));
}

#[test]
fn a_fixed_frequency_keeps_the_bounds_in_order() {
    let machine = Machine::xeon();
    let order = |knob: &str| {
        let plan = plan(&knobs(&[knob]), &machine.host(), &machine.subject()).unwrap();
        assert_eq!(plan.len(), 2 * 88);
        plan[..2].iter().map(|action| action.typed()).collect::<Vec<_>>()
    };
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let (min, max) = (format!("{folder}/scaling_min_freq"), format!("{folder}/scaling_max_freq"));
    assert_eq!(order("frequency=2.2GHz"), [format!("echo 2200000 > {min}"), format!("echo 2200000 > {max}")]);
    assert_eq!(order("frequency=max"), [format!("echo 3600000 > {max}"), format!("echo 3600000 > {min}")]);
}

#[test]
fn profiles_fit_both_machines() {
    for machine in [Machine::xeon(), Machine::thunderx()] {
        for name in Profile::names() {
            let profile = Profile::find(name).unwrap();
            let planned = plan_what_can_be(&profile.knobs(), &machine.host(), &machine.subject()).unwrap();
            assert!(!planned.actions.is_empty(), "{name}");
            let of_frequency = |s: &&knobs::Skipped| s.knob.starts_with("frequency");
            let lacking = planned.skipped.iter().filter(of_frequency).count();
            assert_eq!(
                lacking,
                if machine.root.path().join("sys/devices/system/cpu/cpu0/cpufreq").exists() { 0 } else { 2 }
            );
        }
    }
}

#[test]
fn processors_that_are_off_by_themselves_stay_so() {
    let machine = Machine::xeon();
    let plan = || plan(&knobs(&["smt=off"]), &machine.host(), &machine.subject());
    // This machine has no processors with these numbers.
    machine.plant("sys/devices/system/cpu/offline", "100-127");
    assert!(plan().is_ok());
    machine.plant("sys/devices/system/cpu/offline", "87,100-127");
    machine.plant("sys/devices/system/cpu/cpu87/online", "0");
    let error = plan().unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("processor 87 is off by itself"), "{error}");
}

#[test]
fn a_fixed_clock_is_applied_before_turbo_is_switched_off() {
    let machine = Machine::xeon();
    let names = |words: &[&str]| {
        let actions = plan(&knobs(words), &machine.host(), &machine.subject()).unwrap();
        let mut names: Vec<String> = actions.iter().map(|action| action.knob.clone()).collect();
        names.dedup();
        names
    };
    assert_eq!(
        names(&["turbo=off", "huge-pages=64", "frequency=2GHz"]),
        ["huge-pages=64", "frequency=2GHz", "turbo=off"]
    );
    assert_eq!(names(&["turbo=off", "huge-pages=64"]), ["turbo=off", "huge-pages=64"]);
    let both = knobs(&["frequency=max", "turbo=off"]);
    let error = plan(&both, &machine.host(), &machine.subject()).unwrap_err();
    assert!(error.to_string().contains("leave one of the two out"), "{error}");
}

#[test]
fn refuses_what_the_hardware_lacks() {
    let check = |machine: &Machine, word: &str, expect: &str| {
        let error = plan(&knobs(&[word]), &machine.host(), &machine.subject()).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains(expect), "{word}: {error}");
    };
    let (xeon, arm) = (Machine::xeon(), Machine::thunderx());
    check(&xeon, "cache.ways=0,2", "side by side");
    check(&xeon, "cache.ways=20", "the ways 0-19");
    check(&xeon, "cpu.set=88", "processor 88 is not online");
    check(&xeon, "frequency=5GHz", "1200000 to 3600000 kHz");
    check(&xeon, "frequency.governor=ondemand", "performance, powersave");
    check(&xeon, "power.cap=200W", "at most 145 W");
    check(&xeon, "congestion-control=bbr", "reno, cubic");
    check(&xeon, "nic.queues=64", "at most 63");
    check(&xeon, "disk.read=1MiB@/dev/shm/set", "/dev/shm/set lies on tmpfs");
    check(&xeon, "read-ahead=4KiB@/dev/shm", "lies on tmpfs");
    check(&xeon, "read-ahead=4KiB@/data", "btrfs reads ahead by a measure of its own");
    check(&arm, "smt=off", "cannot switch it");
    check(&arm, "turbo=off", "no driver");
    check(&arm, "frequency=max", "no driver");
    check(&arm, "power.cap=90W", "RAPL");
    check(&arm, "cache.ways=0-3", "resctrl");
    check(&arm, "nic.filters=on", "cannot switch its filters on");
    check(&arm, "nic.steer=11211:3", "no rules");
}

#[test]
fn what_device_mapper_makes_is_a_disk_and_several_under_one_file_system_are_not() {
    let machine = Machine::xeon();
    let mounts = machine.text("proc/self/mountinfo");
    let more = "31 27 0:50 / /mapped rw - btrfs /dev/mapper/vg-videos rw\n\
                32 27 253:1 / /lv rw - ext4 /dev/mapper/vg-other rw\n\
                33 27 0:51 / /several rw - btrfs /dev/sdc rw\n\
                34 27 0:52 / /unknown rw - btrfs /dev/mapper/gone rw";
    machine.plant("proc/self/mountinfo", &format!("{mounts}\n{more}"));
    for (name, number) in [("dm-0", "253:0"), ("dm-1", "253:1"), ("sdc", "8:32"), ("sdd", "8:48")] {
        machine.plant(&format!("sys/class/block/{name}/dev"), number);
        machine.plant(&format!("sys/dev/block/{number}/dev"), number);
    }
    machine.plant("sys/class/block/dm-0/dm/name", "vg-videos");
    machine.plant("sys/class/block/dm-1/dm/name", "vg-other");
    for device in ["sdc", "sdd"] {
        machine.plant(&format!("sys/fs/btrfs/1234/devices/{device}"), "");
    }
    machine.plant("sys/fs/btrfs/5678/devices/dm-0", "");
    let planned = |place: &str| {
        let words = format!("disk.read=1MiB@{place}");
        plan(&knobs(&[&words]), &machine.host(), &machine.subject())
    };
    let check = |place: &str, number: &str| {
        let plan = planned(place).unwrap();
        let typed: Vec<String> = plan.iter().map(knobs::Action::typed).collect();
        let expect = format!("echo \"{number} 1048576\" > ");
        assert!(typed.iter().any(|line| line.starts_with(&expect)), "{place}: {typed:?}");
    };
    check("/mapped/set", "253:0");
    check("/lv", "253:1");
    let refused = planned("/several/set").unwrap_err().to_string();
    assert!(refused.contains("btrfs over 2 devices at once (sdc, sdd)"), "{refused}");
    let unknown = planned("/unknown").unwrap_err().to_string();
    assert!(unknown.contains("/unknown lies on btrfs, which is not on a disk"), "{unknown}");
}

#[test]
fn clients_have_links_of_their_own_in_the_namespace_of_the_server() {
    let machine = Machine::xeon();
    let shape = |subject: &knobs::Subject| plan(&knobs(&["client.shape=25mbit"]), &machine.host(), subject);
    let refused = shape(&machine.subject()).unwrap_err().to_string();
    assert!(refused.contains("in no network namespace") && refused.contains("--form bridged"), "{refused}");
    let inside = knobs::Subject { net_namespace: Some("/proc/self/ns/net".into()), ..machine.subject() };
    let plan = shape(&inside).unwrap();
    let typed: Vec<String> = plan.iter().map(knobs::Action::typed).collect();
    let [local, back, root, classes, filters] = &typed[..] else { panic!("{typed:?}") };
    assert_eq!(local, "ip -4 route add local 198.18.0.0/22 dev lo");
    assert!(back.contains("ip -4 -o addr show dev eth0") && back.contains("198.18.0.0/22"), "{back}");
    assert!(root.ends_with("tc qdisc add dev eth0 root handle 7a11: htb"), "{root}");
    assert!(classes.contains("i <= 1023") && classes.contains("25000000 *"), "{classes}");
    assert!(filters.contains("198.18.0.0/22 hashkey"), "{filters}");
    // They go with the discipline, so that a crash leaves one thing to undo for all of them.
    assert_eq!(
        plan.iter().map(|action| action.scratch).collect::<Vec<_>>(),
        [false, false, false, true, true]
    );
    let none = host::Host { cgroups: Default::default(), ..machine.host() };
    let refused = knobs::plan(&knobs(&["client.pace=on"]), &none, &machine.subject()).unwrap_err();
    assert!(refused.is_unsupported() && refused.to_string().contains("mount -t cgroup2"), "{refused}");
}

#[test]
fn limits_of_disks_are_those_of_the_whole_disk_that_holds_a_folder() {
    let check = |machine: &Machine, word: &str, folder: Option<&str>, expect: &str| {
        let mut subject = machine.subject();
        subject.folder = folder.map(Into::into);
        let plan = plan(&knobs(&[word]), &machine.host(), &subject).unwrap();
        let typed: Vec<String> = plan.iter().map(knobs::Action::typed).collect();
        assert!(typed.iter().any(|line| line == expect), "{word}: {typed:?}");
    };
    let (xeon, arm) = (Machine::xeon(), Machine::thunderx());
    let first = "/sys/fs/cgroup/blkio/taillight/blkio.throttle.read_bps_device";
    let line = |number: &str, bytes: u64| format!("echo \"{number} {bytes}\" > {first}");
    check(&xeon, "disk.read=10MiB@/home/x", None, &line("8:0", 10_485_760));
    check(&xeon, "disk.read=10MiB@/srv", Some("/home"), &line("8:16", 10_485_760));
    check(&xeon, "disk.read=4096B", Some("/srv/set"), &line("8:16", 4_096));
    check(&xeon, "disk.read=1MiB@/data", None, &line("8:16", 1_048_576));
    let second = "echo \"8:0 rbps=10485760\" > /sys/fs/cgroup/taillight/io.max";
    check(&arm, "disk.read=10MiB@/", None, second);
    let ahead = |number: &str, kib: u64| format!("echo {kib} > /sys/dev/block/{number}/queue/read_ahead_kb");
    check(&xeon, "read-ahead=128KiB@/srv", None, &ahead("8:16", 128));
    check(&arm, "read-ahead=0", Some("/"), &ahead("8:0", 0));
}

#[test]
fn asks_for_what_is_missing() {
    let machine = Machine::xeon();
    let check = |words: &[&str], change: fn(&mut knobs::Subject), expect: &str| {
        let mut subject = machine.subject();
        change(&mut subject);
        let error = plan(&knobs(words), &machine.host(), &subject).unwrap_err();
        assert!(matches!(error, knobs::Error::Usage(_)) && error.to_string().contains(expect), "{error}");
    };
    check(&["irq.affinity=0"], |_| {}, "irqbalance=off");
    check(&["rps=0"], |s| s.net_device = None, "--device eth0");
    check(&["rps=0"], |s| s.net_device = Some("../x".into()), "--device eth0");
    for word in ["cache.ways=0-3", "cpu.set=0", "cpu.quota=50%", "memory.limit=1GiB", "disk.read=1MiB@/"] {
        check(&[word], |s| s.pids.clear(), "--pid");
    }
    check(&["cpu.set=subject"], |s| s.cpus = Default::default(), "--cpus");
    check(&["cpu.set=0", "cpu.set=1"], |_| {}, "set twice");
    check(&["cpu.quota=0.5%"], |_| {}, "1% or more");
    check(&["cpu.set=0"], |s| s.name = "a/b".into(), "plain word");
    check(&["disk.read=1MiB"], |_| {}, "disk.read=10MiB@/srv");
    check(&["read-ahead=128KiB"], |_| {}, "read-ahead=128KiB@/srv");
    check(&["read-ahead=6KiB@/"], |_| {}, "a multiple of 4KiB");
    check(&["nic.steer=11211:0"], |_| {}, "nic.filters=on");
    check(&["nic.queues=4", "rps=0"], |_| {}, "apply it first");
    check(&["frequency=max", "smt=off"], |_| {}, "apply it first");
}

#[test]
fn without_resctrl_the_registers_do() {
    let machine = Machine::xeon();
    let mounts = machine.text("proc/self/mounts").replace("resctrl /sys/fs/resctrl resctrl rw 0 0\n", "");
    machine.plant("proc/self/mounts", &mounts);
    std::fs::remove_dir_all(machine.root.path().join("sys/fs/resctrl")).unwrap();
    let filesystems = machine.text("proc/filesystems").replace("nodev\tresctrl\n", "");
    machine.plant("proc/filesystems", &filesystems);
    for cpu in 0..88 {
        // Registers lie at their numbers; all that is read here is the class of each processor: none.
        machine.plant(&format!("dev/cpu/{cpu}/msr"), "");
        std::fs::write(machine.root.path().join(format!("dev/cpu/{cpu}/msr")), vec![0; 0xd00]).unwrap();
    }
    let planned = plan(&knobs(&["cache.ways=0-3@0,1,22"]), &machine.host(), &machine.subject()).unwrap();
    let typed: Vec<String> = planned.iter().map(knobs::Action::typed).collect();
    assert_eq!(
        typed,
        [
            "wrmsr -p 0 0xc91 0xf",
            "wrmsr -p 22 0xc91 0xf",
            "wrmsr -p 0 0xc8f 0x100000000",
            "wrmsr -p 1 0xc8f 0x100000000",
            "wrmsr -p 22 0xc8f 0x100000000"
        ]
    );
    let processes = plan(&knobs(&["cache.ways=0-3"]), &machine.host(), &machine.subject()).unwrap_err();
    assert!(processes.to_string().contains("cache.ways=0-3@2"), "{processes}");
}
