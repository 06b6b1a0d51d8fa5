//! The task of each agent's generator.

use spec::{Agents, ProbeSet, Spec, TargetName, Workload};

use crate::task::Task;

/// The specification of generator number `share` of `shares`: its part of the connections and clients, without settings
/// of this machine only. The rate stays whole: its arrivals are divided among all generators, so that together they are
/// one process.
///
/// `workload` has the values that are only known here.
pub(super) fn of(task: &Task, workload: &Workload, share: usize, shares: usize) -> Spec {
    let mut spec = task.spec.clone();
    let part = |all: u32| (all as usize / shares + usize::from(share < all as usize % shares)) as u32;
    // They act on the server's machine instead of the client's, or are applied before it starts.
    (spec.knobs, spec.client_knobs, spec.probes) = (Vec::new(), Vec::new(), ProbeSet::default());
    spec.target =
        spec::Target { server: TargetName::External(task.servers().join(",")), ..spec::Target::default() };
    let load = &mut spec.generator;
    load.connections = part(load.connections);
    load.clients = load.clients.map(part);
    load.cpus = load.agents.agents_cpus.clone();
    load.agents = Agents::default();
    spec.workload = workload.clone();
    spec.workload.divide(&part);
    spec
}
