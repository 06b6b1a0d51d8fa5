//! Random plans, complete or interrupted anywhere: the machine is as before, byte for byte.

use knobs::{Engine, Knob, plan_what_can_be};
use proptest::prelude::*;
use proptest::sample::subsequence;

use crate::Machine;
use crate::kernel::Fault;

/// Knobs with different names, so that any of them combine.
const SETTINGS: &[&str] = &[
    "cpu.set=1-6",
    "cpu.quota=150%",
    "memory.limit=512MiB",
    "disk.read=10MiB@/",
    "read-ahead=64KiB@/srv",
    "net.rate=100mbit",
    "cache.ways=0-3",
    "cache.ways=4-7@9-12",
    "irqbalance=off",
    "rps=0-39",
    "xps=all",
    "rfs=1000",
    "nic.spread=4",
    "nic.filters=on",
    "power.cap=90W",
    "turbo=off",
    "huge-pages=64",
    "huge-pages.transparent=never",
    "swap=off",
    "aslr=off",
    "congestion-control=reno",
    "busy-poll=50us",
    "sysctl.net.ipv4.ip_local_port_range=10240 65000",
];

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::None),
        (0..40_usize).prop_map(Fault::Refuses),
        (0..60_usize).prop_map(Fault::Dies)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_machine_is_as_before(
        arm: bool,
        words in subsequence(SETTINGS, 1..=6).prop_shuffle(),
        fault in fault(),
    ) {
        let machine = if arm { Machine::thunderx() } else { Machine::xeon() };
        let swaps = machine.text("proc/swaps");
        machine.plant("proc/swaps", &format!("{swaps}\n/dev/sda2 partition 8388604 0 5"));
        let before = machine.snapshot();
        let knobs: Vec<Knob> = words.iter().map(|word| word.parse().unwrap()).collect();
        let planned = plan_what_can_be(&knobs, &machine.host(), &machine.subject()).unwrap();
        {
            let kernel = machine.kernel().with(fault);
            let engine = Engine::open(machine.state.path(), kernel.clone()).unwrap();
            match engine.apply(&planned.actions) {
                Ok(applied) => {
                    prop_assert_eq!(applied.check().unwrap_or_default(), vec![]);
                    let reverted = applied.revert();
                    prop_assert!(matches!(fault, Fault::Dies(_) | Fault::Refuses(_)) || reverted.unwrap().is_empty());
                }
                Err(error) => prop_assert!(fault != Fault::None, "{error}"),
            }
            if fault == Fault::None {
                // The ThunderX runs no irqbalance to stop, and lacks some of the other knobs.
                let as_wanted = |knob: &str| arm && knob == "irqbalance=off";
                prop_assert!(kernel.changes() > 0 || planned.actions.iter().all(|action| as_wanted(&action.knob)));
            }
        }
        // The next process reverts the changes that a dead or refusing kernel could not.
        let engine = Engine::open(machine.state.path(), machine.kernel()).unwrap();
        let undone = engine.undo().unwrap();
        prop_assert_eq!(undone.drifts, vec![]);
        prop_assert_eq!(machine.snapshot(), before);
        prop_assert_eq!(engine.undo().unwrap(), Default::default());
    }
}
