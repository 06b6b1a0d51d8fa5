//! The processors of an experiment's server and of its generator.

use host::{Cpu, Host};
use spec::{Cpus, Spec};
use units::CpuList;

use crate::{Error, Placement, cores_of};

/// Converts a number of cores to a list of processors of `there`, or of this machine; other values are returned
/// unchanged.
///
/// Errors: the machine has too few.
pub(super) fn told(cpus: &Cpus, there: Option<&Host>) -> Result<Cpus, Error> {
    match cpus {
        Cpus::Cores(_) | Cpus::Siblings(_) => {
            of_cores(cpus, &cores_of(&there.map_or_else(Cpu::here, |there| there.cpu.clone())))
        }
        _ => Ok(cpus.clone()),
    }
}

/// The same of a machine with these `cores`.
fn of_cores(cpus: &Cpus, cores: &[Vec<usize>]) -> Result<Cpus, Error> {
    let (all, wanted): (Vec<usize>, usize) = match cpus {
        Cpus::Cores(wanted) => (cores.iter().filter_map(|core| core.first().copied()).collect(), *wanted),
        Cpus::Siblings(wanted) => (cores.iter().flatten().copied().collect(), *wanted),
        _ => return Ok(cpus.clone()),
    };
    if all.len() < wanted {
        return Err(Error::TooFewProcessors { asked: cpus.to_string(), here: all.len() });
    }
    Ok(Cpus::List(all.into_iter().take(wanted).collect::<CpuList>()))
}

/// The processors that each side would get on a machine with these `cores`.
pub(crate) fn planned(experiment: &Spec, cores: &[Vec<usize>]) -> Placement {
    let asked = &experiment.target.cpus;
    let cpus = of_cores(asked, cores).unwrap_or_else(|_| asked.clone());
    placement(experiment, &cpus, cores, true)
}

/// The processors of each side, with the server's `cpus` resolved by [`told`]; `cores` are this machine's. A server on
/// another machine takes no processor of this machine.
pub(super) fn placement(experiment: &Spec, cpus: &Cpus, cores: &[Vec<usize>], is_here: bool) -> Placement {
    let asked = experiment.generator.cpus.as_ref().map(|list| list.as_slice());
    let threads = experiment.target.threads.max(experiment.target.instances) as usize;
    if !is_here {
        return Placement::new(cores, threads, Some(&[]), asked);
    }
    let apart = Placement::new(cores, threads, None, asked);
    match cpus {
        // By cores they are lists already.
        Cpus::Apart | Cpus::Cores(_) | Cpus::Siblings(_) => apart,
        Cpus::OfGenerator => Placement { server: apart.generator.clone(), generator: apart.generator },
        Cpus::List(list) => Placement::new(cores, threads, Some(list.as_slice()), asked),
        Cpus::PerThread => {
            // Also the generator's if there are not enough.
            let missing = threads.saturating_sub(apart.server.len());
            let mut server = apart.server;
            server.extend(apart.generator.iter().copied().take(missing));
            server.sort_unstable();
            Placement::new(cores, threads, Some(&server), asked)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_the_processors_that_its_experiment_names() {
        let check = |text: &str, allowed: &[usize], server: &[usize], generator: &[usize]| {
            let experiment = crate::testing::spec(text);
            let cores: Vec<Vec<usize>> = allowed.iter().map(|cpu| vec![*cpu]).collect();
            let placement = placement(&experiment, &experiment.target.cpus, &cores, true);
            assert_eq!((&placement.server[..], &placement.generator[..]), (server, generator), "{text}");
        };
        check("", &[0, 1], &[0], &[1]);
        check("target.threads = 2", &[0, 1], &[0], &[1]);
        check("target.threads = 2\ntarget.cpus = 'per-thread'", &[0, 1], &[0, 1], &[0, 1]);
        check("target.threads = 2\ntarget.cpus = 'per-thread'", &[0, 1, 2, 3], &[0, 1], &[2, 3]);
        check("target.instances = 2\ntarget.cpus = 'per-thread'", &[0, 1], &[0, 1], &[0, 1]);
        check("target.cpus = 'generator'", &[0, 1], &[1], &[1]);
        check("target.cpus = '0-1'", &[0, 1], &[0, 1], &[0, 1]);
        check("generator.cpus = '0'", &[0, 1], &[1], &[0]);
    }

    #[test]
    fn processors_are_told_by_cores_however_they_are_numbered() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        let machine = |cores: &[&str], allowed: &str| {
            let cores = cores.iter().map(|core| list(core)).collect();
            let cpu = host::Cpu { cores, allowed: list(allowed), ..host::Cpu::default() };
            Host { cpu, ..Host::default() }
        };
        // Second threads of a core are numbered from 4 on, or next to the first.
        let far = machine(&["0,4", "1,5", "2,6", "3,7"], "0-7");
        let near = machine(&["0-1", "2-3", "4-5", "6-7"], "0-7");
        let check = |host: &Host, cpus: &Cpus, expect: Result<&str, &str>| {
            let told = told(cpus, Some(host)).map_err(|e| e.to_string());
            match expect {
                Ok(text) => assert_eq!(told.unwrap(), Cpus::List(list(text))),
                Err(words) => assert!(told.as_ref().is_err_and(|e| e.contains(words)), "{told:?}"),
            }
        };
        check(&far, &Cpus::Cores(3), Ok("0-2"));
        check(&near, &Cpus::Cores(3), Ok("0,2,4"));
        check(&far, &Cpus::Siblings(5), Ok("0-2,4-5"));
        check(&near, &Cpus::Siblings(5), Ok("0-4"));
        check(&far, &Cpus::Cores(5), Err("cores:5 is unavailable: there are 4"));
        check(&near, &Cpus::Siblings(9), Err("siblings:9 is unavailable: there are 8"));
        // Of a core that this process may not use there is none.
        check(&machine(&["0-1", "2-3"], "1-2"), &Cpus::Cores(2), Ok("1-2"));
        check(&machine(&["0-1", "2-3"], "2-3"), &Cpus::Cores(2), Err("there are 1"));
        assert_eq!(told(&Cpus::Apart, Some(&far)).unwrap(), Cpus::Apart);
    }
}
