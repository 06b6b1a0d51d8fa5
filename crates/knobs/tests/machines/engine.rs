//! The rules of the engine: read back, refuse, keep other processes' changes, revert in reverse order.

use std::fs;
use std::sync::{Arc, Mutex};

use knobs::{Engine, Error, Moment, plan, status};

use crate::kernel::Fault;
use crate::{Machine, PID, knobs};

fn planned(machine: &Machine, words: &[&str]) -> Vec<knobs::Action> {
    plan(&knobs(words), &machine.host(), &machine.subject()).unwrap()
}

fn engine(machine: &Machine) -> Engine {
    Engine::open(machine.state.path(), machine.kernel()).unwrap()
}

#[test]
fn knobs_are_in_force_until_the_guard_is_dropped() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let plan =
        planned(&machine, &["cpu.set=0-6", "memory.limit=1GiB", "rps=0-39", "net.rate=1gbit", "aslr=off"]);
    let applied = engine(&machine).apply(&plan).unwrap();
    assert_eq!(machine.text("sys/fs/cgroup/cpuset/taillight/cpuset.cpus"), "0-6");
    assert_eq!(machine.text("sys/fs/cgroup/cpuset/taillight/cgroup.procs"), PID.to_string());
    assert_eq!(machine.text("sys/class/net/eth0/queues/rx-0/rps_cpus"), "00000000,000000ff,ffffffff");
    assert_eq!(machine.text("played/classes"), "class htb 7a11:1 root prio 0 rate 1Gbit");
    assert_eq!((applied.oom_kills(), applied.check().unwrap()), (Some(3), vec![]));
    drop(applied);
    assert_eq!(machine.snapshot(), before);
    assert!(status(machine.state.path()).unwrap().journals.is_empty());
}

#[test]
fn what_two_change_and_could_not_revert_in_any_order_is_known_before() {
    let machine = Machine::thunderx();
    machine.plant("sys/fs/cgroup/cgroup.subtree_control", "memory pids");
    let before = machine.snapshot();
    let engine = engine(&machine);
    let plan_of = |name: &str, words: &[&str]| {
        let subject = knobs::Subject { name: name.into(), ..machine.subject() };
        plan(&knobs(words), &machine.host(), &subject).unwrap()
    };
    let first = engine.apply(&plan_of("a", &["aslr=off", "cpu.quota=50%"])).unwrap();
    let overlap = |words: &[&str]| first.overlap(&plan_of("b", words));
    assert_eq!(overlap(&["aslr=on"]).unwrap(), "/proc/sys/kernel/randomize_va_space");
    // The first to change it would revert it, and the other would lose it.
    assert_eq!(overlap(&["aslr=off"]).unwrap(), "/proc/sys/kernel/randomize_va_space");
    // The second plan need not enable the controller, as it is enabled, but would lose it with the first.
    assert_eq!(overlap(&["cpu.quota=20%"]).unwrap(), "cpu in /sys/fs/cgroup/cgroup.subtree_control");
    assert_eq!(overlap(&["rps=0"]), None);
    first.revert().unwrap();
    // A knob without a change conflicts with no equal one.
    let first = engine.apply(&plan_of("a", &["aslr=on"])).unwrap();
    assert_eq!(first.overlap(&plan_of("b", &["aslr=on"])), None);
    assert!(first.overlap(&plan_of("b", &["aslr=off"])).is_some());
    drop(first);
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn a_panic_puts_everything_back() {
    let machine = Machine::thunderx();
    let before = machine.snapshot();
    let plan = planned(&machine, &["cpu.set=0-6", "cpu.quota=50%", "memory.limit=1GiB"]);
    let engine = engine(&machine);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _applied = engine.apply(&plan).unwrap();
        assert_eq!(machine.text("sys/fs/cgroup/taillight/cpu.max"), "50000 100000");
        panic!("planned");
    }));
    assert!(result.is_err());
    assert_eq!(machine.snapshot(), before);

    // Without unwinding, destructors do not run, and a hook reverts the knobs.
    std::mem::forget(engine.apply(&plan).unwrap());
    engine.revert_own();
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn what_reads_back_otherwise_fails_and_is_reverted() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    // This kernel accepts any number of huge pages; a value that reads back differently shows the check.
    let mut plan = planned(&machine, &["aslr=off", "rps=0"]);
    for action in &mut plan {
        if let knobs::Step::Write { value, syntax, .. } = &mut action.step
            && *syntax == knobs::Syntax::Mask
        {
            // Too long for a mask of 88 processors: the kernel keeps the lower words.
            *value = "1,00000000,00000000,00000000".into();
        }
    }
    let error = engine(&machine).apply(&plan).err().unwrap();
    assert!(
        matches!(error, Error::Failed(_)) && error.to_string().contains("reads back as 00000000"),
        "{error}"
    );
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn a_tool_that_does_not_say_what_is_set_is_not_run() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let mut plan = planned(&machine, &["nic.queues=4"]);
    let knobs::Step::Tool { reading, .. } = &mut plan[0].step else { panic!("{plan:?}") };
    *reading = knobs::Reading::Feature { name: "queues".into() };
    let error = engine(&machine).apply(&plan).err().unwrap().to_string();
    assert!(error.contains("`ethtool -l eth0` does not say what is set now"), "{error}");
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn a_refusal_in_the_middle_puts_back_what_came_before() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let plan = planned(&machine, &["cpu.set=0", "aslr=off", "net.rate=10mbit:tbf"]);
    let kernel = machine.kernel().with(Fault::Refuses(4));
    let error = Engine::open(machine.state.path(), kernel).unwrap().apply(&plan).err().unwrap();
    assert!(
        matches!(error, Error::Failed(_)) && error.to_string().contains("the kernel refused it"),
        "{error}"
    );
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn what_another_program_changed_is_kept_and_told() {
    let machine = Machine::xeon();
    let applied = engine(&machine).apply(&planned(&machine, &["aslr=off", "busy-poll=50us"])).unwrap();
    machine.plant("proc/sys/net/core/busy_read", "70");
    let drifts = applied.check().unwrap();
    assert_eq!(drifts.len(), 1);
    let text = drifts[0].to_string();
    assert!(text.contains("busy-poll=50us") && text.contains("'50'") && text.contains("'70'"), "{text}");
    assert_eq!(applied.revert().unwrap(), drifts);
    assert_eq!(machine.text("proc/sys/net/core/busy_read"), "70");
    assert_eq!(machine.text("proc/sys/net/core/busy_poll"), "0");
    assert_eq!(machine.text("proc/sys/kernel/randomize_va_space"), "2");
}

#[test]
fn a_foreign_group_is_not_touched() {
    let machine = Machine::xeon();
    let plan = planned(&machine, &["cpu.set=0"]);
    fs::create_dir(machine.root.path().join("sys/fs/cgroup/cpuset/taillight")).unwrap();
    let before = machine.snapshot();
    let error = engine(&machine).apply(&plan).err().unwrap().to_string();
    assert!(error.contains("not created by Taillight"), "{error}");
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn what_the_processes_started_leaves_the_group_with_them() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let applied = engine(&machine).apply(&planned(&machine, &["cpu.quota=200%"])).unwrap();
    // The process starts another, which begins in its group; and ends.
    let groups = machine.text(&format!("proc/{PID}/cgroup"));
    machine.plant("proc/4243/cgroup", &groups);
    machine.plant("sys/fs/cgroup/cpu,cpuacct/taillight/cgroup.procs", "4243");
    fs::remove_dir_all(machine.root.path().join(format!("proc/{PID}"))).unwrap();
    assert_eq!(applied.revert().unwrap(), []);
    assert_eq!(machine.text("proc/4243/cgroup"), groups.replace("cpuacct:/taillight", "cpuacct:/"));
    let after = machine.snapshot();
    assert!(!after.contains_key("sys/fs/cgroup/cpu,cpuacct/taillight") && before.len() > after.len() - 4);
}

#[test]
fn one_engine_at_a_time_and_no_leftovers() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let plan = planned(&machine, &["aslr=off", "cpu.set=0"]);
    let first = engine(&machine);
    assert!(matches!(
        Engine::open(machine.state.path(), machine.kernel()),
        Err(Error::Busy { pid: Some(_), .. })
    ));
    let applied = first.apply(&plan).unwrap();
    drop(first);
    assert!(status(machine.state.path()).unwrap().running);
    // Like a crash: the journal stays, and the changes too.
    std::mem::forget(applied);
    let folder = crate::folder();
    for entry in fs::read_dir(machine.state.path()).unwrap().flatten() {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let next = Engine::open(folder.path(), machine.kernel()).unwrap();
    assert!(matches!(next.refuse_leftovers(), Err(Error::Unfinished { .. })));
    let refused = next.apply(&plan).err().unwrap();
    assert!(
        matches!(refused, Error::Unfinished { .. }) && refused.to_string().contains("taillight tune undo")
    );
    let undone = next.undo().unwrap();
    assert_eq!((undone.put_back.len(), undone.drifts.len(), undone.gone.len()), (3, 0, 0));
    assert_eq!(machine.snapshot(), before);
    assert_eq!(next.undo().unwrap(), Default::default());
    next.refuse_leftovers().unwrap();
}

#[test]
fn a_journal_of_which_all_is_reverted_does_not_block() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let plan = planned(&machine, &["aslr=off", "cpu.set=0"]);
    let first = engine(&machine);
    let applied = first.apply(&plan).unwrap();
    let journals = || {
        let files = fs::read_dir(machine.state.path()).unwrap().flatten().map(|entry| entry.path());
        files.filter(|file| file.extension().is_some_and(|end| end == "journal")).collect::<Vec<_>>()
    };
    let [journal] = &journals()[..] else { panic!("{:?}", journals()) };
    let text = fs::read_to_string(journal).unwrap();
    applied.revert().unwrap();
    // Like a kill between the last revert and the removal of the file, and just before that revert.
    let put_back = |of: std::ops::Range<usize>| -> String {
        of.map(|index| format!("{{\"put-back\":{{\"index\":{index}}}}}\n")).collect()
    };
    fs::write(journal, format!("{text}{}", put_back(1..plan.len()))).unwrap();
    assert!(matches!(first.refuse_leftovers(), Err(Error::Unfinished { .. })));
    fs::write(journal, format!("{text}{}", put_back(0..plan.len()))).unwrap();
    first.refuse_leftovers().unwrap();
    assert_eq!((journals().len(), machine.snapshot()), (0, before));
}

#[test]
fn what_could_not_be_reverted_stops_the_same_program_too() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let plan = planned(&machine, &["aslr=off"]);
    {
        let kernel = machine.kernel().with(Fault::Dies(0));
        let engine = Engine::open(machine.state.path(), kernel).unwrap();
        let error = engine.apply(&plan).err().unwrap();
        assert!(error.to_string().contains("taillight tune undo"), "{error}");
        let pid = std::process::id();
        assert!(matches!(engine.refuse_leftovers(), Err(Error::Unfinished { pid: of, .. }) if of == pid));
    }
    assert_eq!(engine(&machine).undo().unwrap().put_back, ["aslr=off"]);
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn nothing_is_confined_where_no_process_runs() {
    for line in [None, Some("4242 (server) Z 1")] {
        let machine = Machine::xeon();
        let plans = [planned(&machine, &["cpu.quota=50%"]), planned(&machine, &["cache.ways=0-3"])];
        fs::remove_dir_all(machine.root.path().join(format!("proc/{PID}"))).unwrap();
        if let Some(line) = line {
            machine.plant(&format!("proc/{PID}/stat"), line);
        }
        let before = machine.snapshot();
        for plan in plans {
            let error = engine(&machine).apply(&plan).err().unwrap();
            let none = error.to_string().contains("none of the processes");
            assert!(matches!(error, Error::Failed(_)) && none, "{error}");
            assert_eq!(machine.snapshot(), before);
        }
    }
}

#[test]
fn knobs_may_be_left_in_force_and_others_set_on_top() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let engine = engine(&machine);
    engine.apply(&planned(&machine, &["aslr=off"])).unwrap().keep().unwrap();
    drop(engine.apply(&planned(&machine, &["busy-poll=50us"])).unwrap());
    drop(engine);
    assert_eq!(machine.text("proc/sys/kernel/randomize_va_space"), "0");
    let status = status(machine.state.path()).unwrap();
    assert!(!status.running && status.journals.len() == 1 && status.journals[0].kept);
    let next = Engine::open(machine.state.path(), machine.kernel()).unwrap();
    drop(next.apply(&planned(&machine, &["busy-poll=50us"])).unwrap());
    assert_eq!(next.undo().unwrap().put_back, ["aslr=off"]);
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn the_next_boot_discards_the_journal() {
    let machine = Machine::xeon();
    engine(&machine).apply(&planned(&machine, &["aslr=off"])).unwrap().keep().unwrap();
    machine.plant("proc/sys/kernel/random/boot_id", "another");
    machine.plant("proc/sys/kernel/randomize_va_space", "2");
    let undone = engine(&machine).undo().unwrap();
    assert_eq!((undone.of_earlier_boots, undone.put_back.len()), (1, 0));
    assert!(status(machine.state.path()).unwrap().journals.is_empty());
}

#[test]
fn moments_come_in_their_order() {
    let machine = Machine::xeon();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watcher = {
        let seen = Arc::clone(&seen);
        Box::new(move |moment| seen.lock().unwrap().push(moment))
    };
    let engine = Engine::watched(machine.state.path(), machine.kernel(), Some(watcher)).unwrap();
    engine.apply(&planned(&machine, &["aslr=off"])).unwrap().revert().unwrap();
    let expect = [Moment::Announced(0), Moment::Made(0), Moment::Noted(0), Moment::PutBack(0)];
    assert_eq!(*seen.lock().unwrap(), expect);
}

#[test]
fn overhead_leaves_the_machine_as_it_was() {
    let machine = Machine::xeon();
    let before = machine.snapshot();
    let plan = planned(&machine, &["cpu.set=0", "net.rate=1gbit", "cache.ways=0-1@2"]);
    let mut told = 0;
    let engine = engine(&machine);
    let found = knobs::overhead::measure(&engine, &plan, 20, |done| {
        told = done;
        std::ops::ControlFlow::Continue(())
    });
    let found = found.unwrap();
    assert_eq!((found.times, told), (20, 20));
    assert!(found.least_us > 0.0 && found.least_us <= found.mean_us && found.mean_us <= found.most_us);
    assert_eq!(machine.snapshot(), before);
    let early = knobs::overhead::measure(&engine, &plan, 20, |_| std::ops::ControlFlow::Break(())).unwrap();
    assert_eq!(early.times, 1);
    assert_eq!(machine.snapshot(), before);
}
