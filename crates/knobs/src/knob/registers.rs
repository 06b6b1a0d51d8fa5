//! Cache ways by the processor's own registers, as the paper's tool set them, on a kernel without resctrl.
//!
//! Class n's mask is in `IA32_L3_QOS_MASK_n`, once for each last-level cache, of which a package may have several; a
//! processor's class in the upper half of `IA32_PQR_ASSOC`. Source: Intel, Software Developer's Manual 3B, 17.19.4;
//! IISWC'17 §V-A.

use std::collections::BTreeSet;

use super::cache::check_mask;
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Kernel};
use host::CacheAllocation;
use units::CpuList;

const L3_QOS_MASK_0: u32 = 0xc90;
const PQR_ASSOC: u32 = 0xc8f;
/// Classes that every processor with this feature has. Source: the first of them, the E5-2600 v3, has 4.
const CLASSES: u32 = 4;

impl Planner<'_> {
    pub(super) fn ways_by_registers(&mut self, mask: u64, cpus: Option<CpuList>) -> Result<(), Error> {
        let Some(cpus) = cpus else {
            let limit = "registers bind ways to processors, not to processes";
            return Err(self.usage(limit, "name processors: cache.ways=0-3@2"));
        };
        let last = self.host.caches.iter().filter(|cache| cache.level == 3).find_map(|cache| cache.ways);
        let Some(ways) = last else {
            return Err(self.unsupported("the cache does not say how many ways it has", "leave it out"));
        };
        let l3 = CacheAllocation { ways, min_bits: 2, closids: CLASSES, ..CacheAllocation::default() };
        check_mask(&self.knob, mask, &l3)?;
        let online = self.host.cpu.online.as_slice().iter();
        let class_of = |cpu: &usize| self.register(*cpu, PQR_ASSOC).map(|value| (value >> 32) as u32);
        let in_use = online.map(class_of).collect::<Result<Vec<u32>, Error>>()?;
        let free = (1..CLASSES).find(|class| !in_use.contains(class) && *class > self.classes);
        let Some(class) = free else {
            let limit = format!("the {CLASSES} classes are all in use");
            return Err(self.unsupported(limit, "use fewer knobs"));
        };
        self.classes = class;
        for cpu in self.one_of_each_cache(&cpus) {
            self.push(Step::Register { cpu, register: L3_QOS_MASK_0 + class, value: mask });
        }
        for cpu in cpus.as_slice().iter().copied() {
            let before = self.register(cpu, PQR_ASSOC)?;
            // The lower half counts the cache's use, and is not ours.
            let value = u64::from(class) << 32 | before & u64::from(u32::MAX);
            self.push(Step::Register { cpu, register: PQR_ASSOC, value });
        }
        Ok(())
    }

    fn register(&self, cpu: usize, register: u32) -> Result<u64, Error> {
        let value = self.here.register(cpu, register);
        value.map_err(|e| {
            Error::of_io(&self.knob, &format!("register {register:#x} of processor {cpu} cannot be read"), &e)
        })
    }

    fn one_of_each_cache(&self, cpus: &CpuList) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let is_first = |cpu: &usize| {
            let read = |file: &str| self.text(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}"));
            let cache = read("cache/index3/shared_cpu_list").or_else(|| read("topology/physical_package_id"));
            seen.insert(cache)
        };
        cpus.as_slice().iter().copied().filter(is_first).collect()
    }
}
