//! The machine that a study is planned for: what its axes are derived from.

use host::Host;
use units::CpuList;

use crate::cores_of;

/// The servers' machine, as far as a study's plan depends on it, and where the load comes from.
///
/// Source of the division: IISWC'17 §III-B keeps a core for each queue of the network card, and has its clients on
/// other machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The logical processors of each physical core that may be used, the cores of the card's memory node first.
    pub(super) cores: Vec<Vec<usize>>,
    pub(super) nodes: usize,
    /// Receive queues of the network card that has most of them.
    pub(super) queues: usize,
    /// Ways of the last-level cache; 0 if unknown.
    pub(super) ways: u32,
    pub(super) memory_bytes: u64,
    /// Room on the disk for temporary files; 0 if unknown.
    pub(super) disk_bytes: u64,
    /// The nominal clock, which no turbo exceeds, and the lowest that can be set; 0 if unknown. Units: MHz.
    pub(super) clock_mhz: (u64, u64),
    /// The clocks that can be set, if the driver lists them. Units: MHz.
    clocks_mhz: Vec<u64>,
    pub(super) load: LoadFrom,
    /// Cores for interrupts, if set by hand.
    kept: Option<usize>,
}

/// The machine that generates a study's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadFrom {
    /// On the servers' machine, over loopback: no interrupts of a card, and the generator takes some cores.
    Here,
    /// On other machines: the card's interrupts take some cores, and the servers have all others.
    Elsewhere,
}

impl Machine {
    /// This machine, with the load generated on it.
    pub fn here() -> Machine {
        Machine::of(&Host::here(), LoadFrom::Here)
    }

    /// The machine of a record, in the format of `taillight host --json`.
    pub fn of(host: &Host, load: LoadFrom) -> Machine {
        let card = host.nics.iter().filter(|nic| nic.is_hardware()).max_by_key(|nic| nic.receive.len());
        let near = card.and_then(|nic| nic.numa_node);
        let node_of =
            |cpu: usize| host.numa.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.node);
        let mut cores = cores_of(&host.cpu);
        cores.sort_by_key(|core| {
            let node = node_of(core[0]);
            (node.is_some() && near.is_some() && node != near, node, core[0])
        });
        let ways = host.caches.iter().filter_map(|cache| Some((cache.level, cache.ways?))).max();
        Machine {
            cores,
            nodes: host.numa.len().max(1),
            queues: card.map_or(0, |nic| nic.receive.len()),
            ways: ways.map_or(0, |(_, ways)| ways),
            memory_bytes: host.memory.available_bytes.unwrap_or(0),
            disk_bytes: host.storage.free_bytes.unwrap_or(0),
            clock_mhz: (nominal_mhz(host), host.frequency.hardware_min_khz.unwrap_or(0) / 1000),
            clocks_mhz: host.frequency.frequencies_khz.iter().map(|khz| khz / 1000).collect(),
            load,
            kept: None,
        }
    }

    /// The same with `cores` of them kept for interrupts; one at least is left.
    #[must_use]
    pub fn keeping(&self, cores: usize) -> Machine {
        Machine { kept: Some(cores.min(self.cores.len().saturating_sub(1))), ..self.clone() }
    }

    /// Logical processors that may be used.
    pub fn processors(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }

    /// Logical processors of a core.
    pub fn smt(&self) -> usize {
        self.cores.iter().map(Vec::len).max().unwrap_or(1)
    }

    /// The clock nearest to this one that they can be set to. Units: MHz.
    pub fn nearest_clock_mhz(&self, mhz: u64) -> u64 {
        let (nominal, lowest) = self.clock_mhz;
        let nearest = self.clocks_mhz.iter().filter(|clock| **clock <= nominal);
        let nearest = nearest.min_by_key(|clock| clock.abs_diff(mhz));
        nearest.copied().unwrap_or(mhz.min(nominal).max(lowest))
    }

    /// Cores that are kept for the card's interrupts: one for each queue, at most a quarter of all. Over loopback there
    /// are none.
    pub fn interrupts(&self) -> usize {
        match (self.kept, self.load) {
            (Some(kept), _) => kept,
            (None, LoadFrom::Here) => 0,
            (None, LoadFrom::Elsewhere) => self.queues.min(self.cores.len() / 4),
        }
    }

    /// Cores not reserved for interrupts.
    pub fn free(&self) -> usize {
        self.cores.len() - self.interrupts()
    }

    /// The most cores that servers can have by themselves: all that are free; where the load is generated on this machine,
    /// all but one.
    pub fn most(&self) -> usize {
        match self.load {
            LoadFrom::Here => self.free().saturating_sub(1).max(1),
            LoadFrom::Elsewhere => self.free(),
        }
    }

    /// Cores that a server may have without being limited by the generator: all free cores; if the load is generated on
    /// this machine, a third of them, as a request costs a generator of this kind up to twice as much as a cache.
    pub fn server(&self) -> usize {
        match self.load {
            LoadFrom::Here => (self.free() / 3).max(1),
            LoadFrom::Elsewhere => self.free(),
        }
    }

    /// One processor of each of `n` cores, after the first `skip` free ones; fewer if there are not enough.
    pub(super) fn of_cores(&self, n: usize, skip: usize) -> CpuList {
        self.free_cores().skip(skip).take(n).map(|core| core[0]).collect()
    }

    /// `n` processors counted core by core, so that siblings are used up first; fewer if there are not enough.
    pub(super) fn siblings(&self, n: usize) -> CpuList {
        self.free_cores().flatten().take(n).copied().collect()
    }

    /// The second processors of the first `n` free cores; none where a core has but one.
    pub(super) fn seconds(&self, n: usize) -> CpuList {
        self.free_cores().take(n).filter_map(|core| core.get(1).copied()).collect()
    }

    /// The processors of the first `n` cores that are kept for interrupts.
    pub(super) fn of_interrupts(&self, n: usize) -> CpuList {
        self.cores[..self.interrupts().min(n)].iter().flatten().copied().collect()
    }

    /// One processor of each core beyond the first `n` free ones; the last processor if no core is left.
    pub(super) fn rest(&self, n: usize) -> CpuList {
        let rest: CpuList = self.free_cores().skip(n).map(|core| core[0]).collect();
        match rest.is_empty() {
            true => self.cores.last().and_then(|core| core.last()).copied().into_iter().collect(),
            false => rest,
        }
    }

    fn free_cores(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.cores.iter().skip(self.interrupts())
    }
}

/// The clock in the model's name, `Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz`; otherwise the highest clock that can be
/// set, unless the processor has a turbo. 0 if no driver sets clocks.
fn nominal_mhz(host: &Host) -> u64 {
    let frequency = &host.frequency;
    if frequency.driver.is_none() {
        return 0;
    }
    let told = host.cpu.model.as_deref().and_then(|model| {
        let (_, clock) = model.rsplit_once("@ ")?;
        let ghz: f64 = clock.trim().strip_suffix("GHz")?.parse().ok()?;
        (0.1..100.0).contains(&ghz).then(|| (1000.0 * ghz).round() as u64)
    });
    let highest = || frequency.hardware_max_khz.filter(|_| frequency.turbo != Some(true));
    told.unwrap_or_else(|| highest().unwrap_or(0) / 1000)
}

#[cfg(test)]
mod tests;
