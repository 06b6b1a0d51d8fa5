//! Software steering: which processors handle a queue's received and sent packets.

use std::path::PathBuf;

use super::value::{cpus_or_off, write_cpus_or_off};
use super::{About, Cpus, Definition};
use crate::plan::Planner;
use crate::{Error, Kernel, Namespace, Syntax};
use units::CpuList;

/// The most flows that the kernel takes. Source: `rps_sock_flow_sysctl` in its `net/core/sysctl_net_core.c`.
const MOST_FLOWS: u32 = 1 << 29;
/// No card has more queues; a folder with more is damaged. Source: `MAX_TX_QUEUES`-like limits of drivers end at 2048.
const MOST_QUEUES: usize = 4096;

/// `rps=0-3`, `rps=off`: the processors that take over packets from the interrupt's processor.
pub(super) const RPS: Definition<Option<Cpus>> = Definition {
    about: About {
        name: "rps",
        does: "the processors that take packets from the interrupt's",
        syntax: "processors or off, such as rps=0-3",
        source: "Linux, scaling.rst: RPS; ANCS'19 §II names it kernel software steering",
    },
    read: cpus_or_off,
    write: write_cpus_or_off,
    plan: |cpus, planner| {
        let mask = match cpus {
            Some(cpus) => mask(&planner.processors(cpus)?),
            None => "0".into(),
        };
        let namespace = planner.namespace()?;
        for file in planner.queues("rx", "rps_cpus", &namespace)? {
            planner.write_in(file, &mask, Syntax::Mask, namespace.clone())?;
        }
        Ok(())
    },
};

/// `xps=0-3`, `xps=off`: outgoing queues matched to processors, one each.
pub(super) const XPS: Definition<Option<Cpus>> = Definition {
    about: About {
        name: "xps",
        does: "outgoing queues, matched to processors one by one",
        syntax: "processors or off, such as xps=0-3",
        source: "ISPASS'16 §IV-C.3: what a connection sends leaves by one queue; Linux, scaling.rst: XPS",
    },
    read: cpus_or_off,
    write: write_cpus_or_off,
    plan: |cpus, planner| {
        let cpus = cpus.as_ref().map(|cpus| planner.processors(cpus)).transpose()?;
        let namespace = planner.namespace()?;
        let files = planner.queues("tx", "xps_cpus", &namespace)?;
        // Each processor sends by one queue; queues differ by at most one processor.
        for (queue, file) in files.iter().enumerate() {
            let own = cpus.iter().flat_map(CpuList::as_slice).enumerate();
            let own: CpuList = own.filter(|(i, _)| i % files.len() == queue).map(|(_, cpu)| *cpu).collect();
            planner.write_in(file.clone(), &mask(&own), Syntax::Mask, namespace.clone())?;
        }
        Ok(())
    },
};

/// `rfs=32768`, `rfs=0`: flows that software steering follows to the processor that reads them.
pub(super) const RFS: Definition<u32> = Definition {
    about: About {
        name: "rfs",
        does: "flows that software steering follows to the processor that reads them",
        syntax: "a number of flows, such as rfs=32768",
        source: "Linux, scaling.rst: RFS, with 32768 for a moderately loaded server",
    },
    read: |value| value.parse().ok().filter(|flows| *flows <= MOST_FLOWS),
    write: u32::to_string,
    plan: |flows, planner| {
        let flows = *flows;
        let namespace = planner.namespace()?;
        let files = planner.queues("rx", "rps_flow_cnt", &namespace)?;
        // The kernel rounds both to powers of two; a queue gets its part of the whole. Source: scaling.rst.
        let whole = if flows == 0 { 0 } else { flows.next_power_of_two() };
        let part = if flows == 0 { 0 } else { (whole / files.len() as u32).max(1).next_power_of_two() };
        planner.sysctl("net.core.rps_sock_flow_entries", &whole.to_string(), Syntax::Text)?;
        for file in files {
            planner.write_in(file, &part.to_string(), Syntax::Text, namespace.clone())?;
        }
        Ok(())
    },
};

impl Planner<'_> {
    /// The file `name` of each of the device's queues.
    ///
    /// Errors: the device does not exist; it has a single transmit queue, and so no choice among them.
    fn queues(&self, kind: &str, name: &str, namespace: &Option<Namespace>) -> Result<Vec<PathBuf>, Error> {
        let device = self.device()?;
        let file =
            |queue: usize| PathBuf::from(format!("/sys/class/net/{device}/queues/{kind}-{queue}/{name}"));
        let is_there = |file: &PathBuf| self.here.read(file, namespace.as_ref()).is_ok();
        let files: Vec<PathBuf> = (0..MOST_QUEUES).map(file).take_while(is_there).collect();
        if files.is_empty() {
            let limit = format!("{device} has no {name}: it is missing, or has one queue of the kind only");
            return Err(self.unsupported(limit, "name another device by --device, or leave it out"));
        }
        Ok(files)
    }
}

/// A set of processors in hexadecimal, in groups of 32 bits, as the kernel reads it.
fn mask(cpus: &CpuList) -> String {
    let words = cpus.as_slice().last().map_or(1, |last| last / 32 + 1);
    let word = |at: usize| {
        cpus.as_slice().iter().filter(|cpu| *cpu / 32 == at).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    let (first, rest) = (word(words - 1), (0..words - 1).rev());
    rest.fold(format!("{first:x}"), |text, at| format!("{text},{:08x}", word(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_flows_that_the_kernel_takes() {
        let check = |value: &str, expect: Option<u32>| assert_eq!((RFS.read)(value), expect, "{value}");
        check("0", Some(0));
        check("32768", Some(32_768));
        check("536870912", Some(1 << 29));
        // Its next power of two would be beyond 32 bits, and 0 turns steering off.
        check("4294967295", None);
        check("x", None);
    }

    #[test]
    fn writes_masks() {
        let check = |cpus: &str, expect: &str| {
            let cpus = CpuList::try_from(cpus.to_owned()).unwrap();
            assert_eq!(mask(&cpus), expect, "{cpus}");
        };
        check("", "0");
        check("0", "1");
        check("0-3", "f");
        check("31", "80000000");
        check("32", "1,00000000");
        check("0,40,87", "800000,00000100,00000001");
    }
}
