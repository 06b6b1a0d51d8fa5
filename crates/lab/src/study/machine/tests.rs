use super::*;

fn record(name: &str) -> Host {
    let (_, text) = host::records::ALL.iter().find(|(known, _)| *known == name).unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_papers_xeon_is_divided_as_the_paper_says() {
    let there = Machine::of(&record("xeon"), LoadFrom::Elsewhere);
    assert_eq!((there.cores(), there.processors(), there.smt(), there.nodes()), (44, 88, 2, 2));
    assert_eq!((there.queues(), there.interrupts(), there.free(), there.ways()), (8, 8, 36, 20));
    assert_eq!((there.most(), there.server()), (36, 36));
    assert_eq!(there.of_interrupts(8).to_string(), "0-7,44-51");
    assert_eq!(there.of_cores(7, 0).to_string(), "8-14");
    assert_eq!(there.seconds(7).to_string(), "52-58");
    assert_eq!(there.siblings(7).to_string(), "8-11,52-54");
    let here = Machine::of(&record("xeon"), LoadFrom::Here);
    assert_eq!((here.interrupts(), here.most(), here.server()), (0, 43, 14));
    let thunderx = Machine::of(&record("thunderx"), LoadFrom::Elsewhere);
    assert_eq!((thunderx.cores(), thunderx.smt(), thunderx.free(), thunderx.ways()), (48, 1, 40, 16));
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
