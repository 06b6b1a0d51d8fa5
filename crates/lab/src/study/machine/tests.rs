use super::*;

impl Machine {
    /// A machine with these cores and queues.
    pub(in crate::study) fn planted(cores: Vec<Vec<usize>>, queues: usize, load: LoadFrom) -> Machine {
        Machine {
            cores,
            nodes: 1,
            queues,
            ways: 0,
            memory_bytes: 1 << 34,
            disk_bytes: 0,
            clock_mhz: (0, 0),
            clocks_mhz: Vec::new(),
            load,
            kept: None,
        }
    }

    pub(in crate::study) fn two_cores() -> Machine {
        Machine::planted(vec![vec![0], vec![1]], 1, LoadFrom::Here)
    }
}

fn record(name: &str) -> Host {
    let (_, text) = host::records::ALL.iter().find(|(known, _)| *known == name).unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_papers_xeon_is_divided_as_the_paper_says() {
    let there = Machine::of(&record("xeon"), LoadFrom::Elsewhere);
    assert_eq!((there.cores.len(), there.processors(), there.smt(), there.nodes), (44, 88, 2, 2));
    assert_eq!((there.queues, there.interrupts(), there.free(), there.ways), (8, 8, 36, 20));
    assert_eq!((there.most(), there.server()), (36, 36));
    assert_eq!(there.of_interrupts(8).to_string(), "0-7,44-51");
    assert_eq!(there.of_cores(7, 0).to_string(), "8-14");
    assert_eq!(there.seconds(7).to_string(), "52-58");
    assert_eq!(there.siblings(7).to_string(), "8-11,52-54");
    assert_eq!(there.clock_mhz, (2200, 1200));
    let here = Machine::of(&record("xeon"), LoadFrom::Here);
    assert_eq!((here.interrupts(), here.most(), here.server()), (0, 43, 14));
    let thunderx = Machine::of(&record("thunderx"), LoadFrom::Elsewhere);
    assert_eq!((thunderx.cores.len(), thunderx.smt(), thunderx.free(), thunderx.ways), (48, 1, 40, 16));
}

#[test]
fn the_nominal_clock_is_told_or_the_highest_without_turbo() {
    let check = |model: &str, driver: Option<&str>, turbo: Option<bool>, expect: u64| {
        let mut host = record("xeon");
        host.cpu.model = Some(model.into());
        (host.frequency.driver, host.frequency.turbo) = (driver.map(str::to_owned), turbo);
        assert_eq!(Machine::of(&host, LoadFrom::Here).clock_mhz.0, expect, "{model} {driver:?} {turbo:?}");
    };
    check("Xeon E5-2660 v3 @ 2.60GHz", Some("acpi-cpufreq"), Some(true), 2600);
    check("Xeon E5-2660 v3 @ 2.60GHz", None, None, 0);
    check("a processor", Some("cppc_cpufreq"), None, 3600);
    check("a processor", Some("intel_pstate"), Some(true), 0);
    check("x @ -3GHz", Some("cppc_cpufreq"), Some(false), 3600);
    check("x @ 9e99GHz", Some("cppc_cpufreq"), Some(false), 3600);
}

#[test]
fn a_clock_is_one_that_can_be_set() {
    let mut host = record("xeon");
    let nearest = |host: &Host, mhz: u64| Machine::of(host, LoadFrom::Here).nearest_clock_mhz(mhz);
    let check = |host: &Host, expect: [u64; 4]| {
        assert_eq!([100, 1500, 1870, 9000].map(|mhz| nearest(host, mhz)), expect);
    };
    check(&host, [1200, 1500, 1870, 2200]);
    host.frequency.frequencies_khz = vec![2_201_000, 2_200_000, 1_800_000, 1_200_000];
    check(&host, [1200, 1800, 1800, 2200]);
    host.frequency.driver = None;
    host.frequency.frequencies_khz.clear();
    host.frequency.hardware_min_khz = None;
    check(&host, [0; 4]);
}

#[test]
fn a_small_machine_has_no_cores_to_spare() {
    let machine = |n: usize, load| Machine::planted((0..n).map(|core| vec![core]).collect(), 8, load);
    let check = |n: usize, load, interrupts: usize, most: usize, server: usize| {
        let machine = machine(n, load);
        assert_eq!(
            (machine.interrupts(), machine.most(), machine.server()),
            (interrupts, most, server),
            "{n}"
        );
    };
    check(1, LoadFrom::Here, 0, 1, 1);
    check(2, LoadFrom::Here, 0, 1, 1);
    check(4, LoadFrom::Here, 0, 3, 1);
    check(2, LoadFrom::Elsewhere, 0, 2, 2);
    check(8, LoadFrom::Elsewhere, 2, 6, 6);
    assert_eq!(machine(2, LoadFrom::Here).rest(2).to_string(), "1");
    assert_eq!(machine(2, LoadFrom::Here).of_cores(7, 0).to_string(), "0-1");
}
