//! A plan as a reader checks it against a publication: the parameters, and where each point puts its threads.

use std::fmt::Write;

use results::study::{Effort, Parameter, X};
use spec::{Load, Spec};
use units::CpuList;

use super::parameter::words;
use super::{Definition, DefinitionError, Facts, LoadFrom, Machine};
use crate::Placement;
use crate::run::{Plan, Point, processors};

/// The measurements of a study on a machine, in words: parameters, placement and load of each series, and parts left
/// out.
///
/// Errors: as in [`Plan::of_study`].
pub fn outline(
    study: &Definition,
    effort: Effort,
    machine: &Machine,
    facts: &Facts,
) -> Result<String, DefinitionError> {
    let plan = Plan::of_study(study, effort, facts)?;
    let mut text = String::new();
    for parameter in &study.parameters {
        let _ = writeln!(text, "{}", parameter_line(parameter));
    }
    let points = plan.points.iter().map(|point| (point, ""));
    let pairs = plan.pairs.iter().flat_map(|pair| [(&pair.first, ""), (&pair.second, " beside")]);
    let mut groups: Vec<Group> = Vec::new();
    for (point, suffix) in points.chain(pairs) {
        let name = format!("{}{suffix}", point.series);
        let how = described(point, machine);
        match groups.iter_mut().find(|group| group.name == name && group.how == how) {
            Some(group) if group.places.contains(&point.x) => {}
            Some(group) => group.places.push(point.x.clone()),
            None => groups.push(Group { name, how, places: vec![point.x.clone()] }),
        }
    }
    for group in groups {
        let places: Vec<String> = group.places.iter().map(|x| place(x, &plan.unit)).collect();
        let _ = writeln!(text, "{} @ {}: {}", group.name, places.join(", "), group.how);
    }
    for skipped in &plan.skipped {
        let _ = writeln!(text, "left out: {}: {}", skipped.what, skipped.reason);
    }
    Ok(text)
}

/// Places of a series that differ only in the load or the workload.
struct Group {
    name: String,
    how: String,
    places: Vec<X>,
}

fn parameter_line(parameter: &Parameter) -> String {
    let value = words(&parameter.value);
    let published = match &parameter.published {
        Some(published) if *published == parameter.value => ", as published".into(),
        Some(published) => format!(", published: {}", words(published)),
        None => String::new(),
    };
    let by_hand = if parameter.set { ", set by hand" } else { "" };
    format!("{} = {value}: {}{published}{by_hand}", parameter.name, parameter.about)
}

fn place(x: &X, unit: &str) -> String {
    if matches!(x, X::Number(_)) && !unit.is_empty() { format!("{x} {unit}") } else { x.to_string() }
}

/// Server, threads, processors, load.
fn described(point: &Point, machine: &Machine) -> String {
    let spec = &point.experiment;
    let target = &spec.target;
    let threads = counted(target.threads.into(), "thread");
    let instances = match target.instances {
        1 => String::new(),
        n => format!(" in {n} instances"),
    };
    let form = if target.form == spec::Form::Bare { String::new() } else { format!(", {}", target.form) };
    let mut text = format!("{}{form}, {threads}{instances} {}", target.server, placed(spec, machine));
    let data = spec.workload.in_words();
    if !data.is_empty() {
        let _ = write!(text, "; {data}");
    }
    match &spec.load {
        Load::Share { of: Some(of), .. } => {
            let _ = write!(text, "; load: shares of the maximum of {of}");
        }
        Load::Peak => text.push_str("; load: the peak under QoS"),
        Load::Closed => text.push_str("; load: closed loop"),
        _ => {}
    }
    if !spec.knobs.is_empty() {
        let knobs: Vec<&str> = spec.knobs.iter().map(|knob| knob.as_str()).collect();
        let _ = write!(text, "; knobs {}", knobs.join(", "));
    }
    if !spec.client_knobs.is_empty() {
        let knobs: Vec<&str> = spec.client_knobs.iter().map(|knob| knob.as_str()).collect();
        let _ = write!(text, "; knobs of generators {}", knobs.join(", "));
    }
    text
}

/// The processors of server and generator, according to the plan.
fn placed(spec: &Spec, machine: &Machine) -> String {
    let Placement { server, generator } = processors::planned(spec, &machine.cores);
    let listed = |cpus: &[usize]| cpus.iter().copied().collect::<CpuList>().to_string();
    let server = format!("on {}", listed(&server));
    match machine.load {
        LoadFrom::Here => format!("{server}, generator on {}", listed(&generator)),
        LoadFrom::Elsewhere => server,
    }
}

fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use host::Host;

    use super::super::STUDIES;
    use super::*;

    fn record(name: &str) -> Host {
        let (_, text) = host::records::ALL.iter().find(|(known, _)| *known == name).unwrap();
        serde_json::from_str(text).unwrap()
    }

    /// A machine without SMT, with the programs that the studies need.
    fn small(cores: usize) -> Host {
        let mut host = record("thunderx");
        host.cpu.allowed = (0..cores).collect();
        host.cpu.cores.retain(|core| core.as_slice()[0] < cores);
        host.nics.retain(|nic| !nic.is_hardware());
        host
    }

    fn plans(host: &Host, load: LoadFrom, effort: Effort) -> String {
        let (machine, facts) = (Machine::of(host, load), Facts::of(host));
        let of = |study: &super::super::Embedded| {
            let definition = study.read(&machine, &[]).unwrap_or_else(|error| panic!("{error}"));
            let outline = outline(&definition, effort, &machine, &facts).unwrap();
            format!("{}: {}\n{outline}", study.folder, definition.source)
        };
        STUDIES.iter().map(of).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn users_of_the_social_network_suffice_for_what_a_machine_may_answer() {
        let host = small(16);
        let programs = ["nginx", "mariadbd", "php-fpm8.2", "memcached"].map(str::to_owned).to_vec();
        let facts = Facts { programs, disk: Some(units::Bytes(1 << 40)), ..Facts::of(&host) };
        let machine = Machine::of(&host, LoadFrom::Elsewhere);
        let mut checked = 0;
        for name in ["social-load", "social-ajax", "social-cache", "social-workers", "social-bottleneck"] {
            let study = STUDIES.iter().find(|study| study.name() == name).unwrap();
            let definition = study.read(&machine, &[]).unwrap();
            for effort in [Effort::Quick, Effort::Full] {
                for point in crate::Plan::of_study(&definition, effort, &facts).unwrap().points {
                    let spec::Workload::Social(social) = &point.experiment.workload else { panic!("{name}") };
                    // Twice the site's throughput per core here.
                    let sessions_per_s = 2.0 * machine.server() as f64 * 320.0 / 40.0;
                    let users = sessions_per_s * 39.0 * social.think_time.as_secs_f64();
                    let there = social.users.0;
                    assert!(
                        f64::from(there) >= users,
                        "{name} {effort:?}: {there} users, and {users} at once"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 20, "{checked}");
    }

    #[test]
    fn the_servers_of_a_quick_run_fit_into_a_small_machine() {
        for host in [small(2), record("xeon")] {
            let (machine, facts) = (Machine::of(&host, LoadFrom::Here), Facts::of(&host));
            for study in STUDIES {
                let definition = study.read(&machine, &[]).unwrap();
                let takes = crate::Plan::of_study(&definition, Effort::Quick, &facts).unwrap().memory();
                assert!(takes.0 <= 12 << 30, "{}: its servers take {takes} at once", study.folder);
            }
        }
    }

    #[test]
    fn on_the_papers_xeon() {
        insta::assert_snapshot!(plans(&record("xeon"), LoadFrom::Elsewhere, Effort::Full));
    }

    #[test]
    fn on_the_papers_thunderx() {
        insta::assert_snapshot!(plans(&record("thunderx"), LoadFrom::Elsewhere, Effort::Full));
    }

    #[test]
    fn on_the_xeon_alone() {
        insta::assert_snapshot!(plans(&record("xeon"), LoadFrom::Here, Effort::Quick));
    }

    #[test]
    fn on_four_cores() {
        insta::assert_snapshot!(plans(&small(4), LoadFrom::Here, Effort::Quick));
    }

    #[test]
    fn on_two_cores() {
        insta::assert_snapshot!(plans(&small(2), LoadFrom::Here, Effort::Quick));
    }

    #[test]
    fn every_claim_speaks_of_points_that_some_machine_measures() {
        let machines = [
            Machine::of(&record("xeon"), LoadFrom::Elsewhere),
            Machine::of(&record("xeon"), LoadFrom::Here),
            Machine::of(&small(2), LoadFrom::Here),
        ];
        for study in STUDIES {
            let read: Vec<Definition> =
                machines.iter().map(|machine| study.read(machine, &[]).unwrap()).collect();
            for claim in read.iter().flat_map(|definition| &definition.claims) {
                let same = |other: &&super::super::Claim| other.id == claim.id;
                let measured = read.iter().filter_map(|definition| definition.claims.iter().find(same));
                let told: Vec<_> = measured.map(|claim| claim.absent.clone()).collect();
                assert!(told.iter().any(Vec::is_empty), "{}: {}: {told:?}", study.folder, claim.id);
            }
        }
    }
}
