//! Ways of the last-level cache, by resctrl, or by the processor's registers on a kernel without resctrl.

use std::path::{Path, PathBuf};

use super::{About, Cpus, Definition};
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Kernel, Syntax};
use host::CacheAllocation;
use units::CpuList;

const FOLDER: &str = "/sys/fs/resctrl";

/// `cache.ways=0-3`, `cache.ways=0-3@2`: the last-level cache's ways that may be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheWays {
    /// The ways.
    pub ways: CpuList,
    /// For all processes on these processors; `None`: for the subject's processes.
    pub cpus: Option<Cpus>,
}

pub(super) const CACHE_WAYS: Definition<CacheWays> = Definition {
    about: About {
        name: "cache.ways",
        does: "the ways of the last-level cache that processes, or what runs on processors, may fill",
        syntax: "ways, and processors if not the subject's processes: cache.ways=0-3 or cache.ways=0-3@2",
        source: "IISWC'17 §V-A: Intel CAT, masks in registers",
    },
    read: |value| {
        let (ways, cpus) = match value.split_once('@') {
            None => (value, None),
            Some((ways, cpus)) => (ways, Some(Cpus::read(cpus)?)),
        };
        let ways: CpuList = ways.parse().ok()?;
        // Masks are 32 bits wide in the register, and 64 in no machine so far. Source: Intel SDM 3B, 17.19.4.
        ways.as_slice().iter().all(|way| *way < 32).then_some(CacheWays { ways, cpus })
    },
    write: |knob| {
        let cpus = knob.cpus.as_ref().map_or_else(String::new, |cpus| format!("@{cpus}"));
        format!("{}{cpus}", knob.ways)
    },
    plan: |knob, planner| {
        let cpus = knob.cpus.as_ref().map(|cpus| planner.processors(cpus)).transpose()?;
        if cpus.is_none() {
            planner.need_processes("name them: --pid PID; or name processors: cache.ways=0-3@2")?;
        }
        let mask = knob.ways.as_slice().iter().fold(0_u64, |bits, way| bits | 1 << way);
        let resctrl = &planner.host.resctrl;
        if let (Some(mount), Some(l3)) = (&resctrl.mount, &resctrl.l3) {
            check_mask(&planner.knob, mask, l3)?;
            return planner.group_of_ways(mask, cpus, &PathBuf::from(mount), l3);
        }
        if resctrl.offered && resctrl.mount.is_none() {
            let limit = format!("the kernel has resctrl, and it is not mounted at {FOLDER}");
            let hint = format!("mount -t resctrl resctrl {FOLDER}, and again");
            return Err(planner.unsupported(limit, hint));
        }
        if planner.host.cpu.has("cat_l3") && resctrl.msr {
            return planner.ways_by_registers(mask, cpus);
        }
        let limit = "neither resctrl nor registers of the processor give access to its cache's ways";
        let hint =
            "take a machine with Intel CAT, AMD QoS or Arm MPAM and a kernel with resctrl, or leave it out";
        Err(planner.unsupported(limit, hint))
    },
};

impl Planner<'_> {
    fn group_of_ways(
        &mut self,
        mask: u64,
        cpus: Option<CpuList>,
        mount: &Path,
        l3: &CacheAllocation,
    ) -> Result<(), Error> {
        let groups = self.groups_of_ways(mount);
        let room = l3.closids.saturating_sub(1 + groups.len() as u32);
        if self.classes >= room {
            let limit = format!("the cache has {} classes, and all are in use", l3.closids);
            return Err(self.unsupported(limit, "remove a group of resctrl, or use fewer knobs"));
        }
        // A processor belongs to one group; removing our group would put it into the root's, not back into the one
        // before.
        if let Some(cpus) = &cpus {
            for (group, own) in &groups {
                if let Some(cpu) = cpus.as_slice().iter().find(|cpu| own.contains(**cpu)) {
                    let limit = format!("processor {cpu} belongs to {} already", group.display());
                    return Err(Error::failed(
                        &self.knob,
                        limit,
                        "remove that group, or choose other processors",
                    ));
                }
            }
        }
        let name = match self.classes {
            0 => self.subject.name.clone(),
            n => format!("{}-{n}", self.subject.name),
        };
        self.classes += 1;
        let folder = mount.join(name);
        self.push(Step::Directory { path: folder.clone() });
        let line: Vec<String> = l3.domains.iter().map(|domain| format!("{domain}={mask:x}")).collect();
        self.write_inside(&folder, "schemata", &format!("L3:{}\n", line.join(";")), Syntax::Schemata);
        match cpus {
            Some(cpus) => self.write_inside(&folder, "cpus_list", &cpus.to_string(), Syntax::Text),
            None => {
                let step = Step::Tasks { pids: self.subject.pids.clone(), group: folder };
                self.moves.push(self.action(step, true));
            }
        }
        Ok(())
    }

    /// The existing groups, with their processors.
    fn groups_of_ways(&self, mount: &Path) -> Vec<(PathBuf, CpuList)> {
        let names = self.here.list(mount).unwrap_or_default();
        let folders =
            names.into_iter().filter(|name| !["info", "mon_data", "mon_groups"].contains(&name.as_str()));
        let group = |name: String| {
            let folder = mount.join(name);
            let cpus = self.here.read(&folder.join("cpus_list"), None).ok()?;
            Some((folder, CpuList::try_from(cpus).unwrap_or_default()))
        };
        folders.filter_map(group).collect()
    }
}

/// Checks a mask against the hardware's limits.
pub(super) fn check_mask(knob: &str, mask: u64, l3: &CacheAllocation) -> Result<(), Error> {
    let unsupported = |limit: String, hint: &str| Err(Error::unsupported(knob, limit, hint));
    if l3.code_and_data {
        return unsupported(
            "code and data have masks of their own here".into(),
            "mount resctrl without -o cdp",
        );
    }
    if mask >> l3.ways != 0 {
        return unsupported(format!("the cache has the ways 0-{}", l3.ways - 1), "choose among those");
    }
    if mask.count_ones() < l3.min_bits {
        let limit = format!("a class needs {} ways at least", l3.min_bits);
        return unsupported(limit, "choose more");
    }
    if !l3.sparse && !is_contiguous(mask) {
        return unsupported(
            "this hardware takes ways side by side only".into(),
            "choose a range, such as 0-3",
        );
    }
    Ok(())
}

fn is_contiguous(mask: u64) -> bool {
    let low = mask >> mask.trailing_zeros().min(63);
    low & low.wrapping_add(1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_masks_against_the_hardware() {
        let check = |ways: &str, sparse: bool, expect: Result<(), &str>| {
            let knob = format!("cache.ways={ways}");
            let CacheWays { ways, .. } = (CACHE_WAYS.read)(ways).unwrap();
            let mask = ways.as_slice().iter().fold(0, |bits, way| bits | 1 << way);
            let l3 =
                CacheAllocation { ways: 20, min_bits: 2, closids: 16, sparse, ..CacheAllocation::default() };
            let found = check_mask(&knob, mask, &l3).map_err(|e| e.to_string());
            match expect {
                Ok(()) => assert_eq!(found, Ok(())),
                Err(text) => assert!(found.as_ref().is_err_and(|e| e.contains(text)), "{found:?}"),
            }
        };
        check("0-3", false, Ok(()));
        check("16-19", false, Ok(()));
        check("0-19", false, Ok(()));
        check("20", false, Err("the ways 0-19"));
        check("3", false, Err("2 ways at least"));
        check("0,2", false, Err("side by side"));
        check("0,2", true, Ok(()));
    }
}
