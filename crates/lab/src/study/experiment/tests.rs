use super::*;

fn read(text: &str) -> Result<Spec, DefinitionError> {
    super::read(text.parse().unwrap(), "experiment")
}

#[test]
fn what_is_left_out_is_filled_in() {
    assert_eq!(read("").unwrap(), Spec::default());
}

#[test]
fn everything_that_is_written_counts() {
    let text = "knobs = ['irqbalance=off']\n[target]\nserver = 'memcached'\nthreads = 2\ncpus = '0-1'\ndevice = 'eth1'\n\
                memory = '64MiB'\nargs = ['-o', 'no_lru_maintainer']\n[workload]\nkey_size = '40B'\nkeys = 1000\n\
                verify = true\n[generator]\ncpus = '1'\nconnections = 16\n[load]\nclosed = true\n\
                [qos]\ntarget = 'p99<2ms'\n[time]\nwindow = '2s'";
    let found = read(text).unwrap();
    let cache = spec::workload::Cache {
        key_size: "40".parse().unwrap(),
        keys: 1000,
        verify: Some(spec::workload::Verify::Checksum),
        ..Default::default()
    };
    assert_eq!(found.workload, spec::Workload::Cache(Box::new(cache)));
    assert_eq!((found.generator.connections, &found.load), (16, &Load::Closed));
    assert_eq!(found.target.cpus.to_string(), "0-1");
    assert_eq!((found.target.memory.0, found.target.device.as_deref()), (64 << 20, Some("eth1")));
    assert_eq!((knobs(&found), found.target.args.len()), (vec!["irqbalance=off".into()], 2));
    assert_eq!(found.time.window, units::Nanos::from_secs(2));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let check = |text: &str, expect: &str| {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    };
    check("[taget]", "experiment.taget: this key is not known; did you mean 'target'?");
    check("[workload]\nkey-sise = '30B'", "experiment.workload.key-sise: this key is not known");
    check("[target]\nform = 'lcx'", "lxc");
    check(
        "knobs = ['cpu.st=0']",
        "experiment.knobs: knob 'cpu.st=0': there is no 'cpu.st'; the nearest is 'cpu.set'",
    );
}

#[test]
fn a_bench_does_not_depend_on_the_load() {
    let share = |one: &str, other: &str| share_bench(&read(one).unwrap(), &read(other).unwrap());
    assert!(share("[load]\nshare = '10%'", "[load]\nrate = '5krps'\n[time]\nwindow = '1s'"));
    assert!(!share("[load]\nshare = '10%'", "[load]\nclosed = true"));
    assert!(!share("", "[workload]\nkeys = 5"));
    assert!(!share("", "[target]\nthreads = 2"));
    assert!(!share("", "knobs = ['smt=off']"));
    assert!(!share("", "[target]\ndevice = 'eth1'"));
}
