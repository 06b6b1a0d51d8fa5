//! Software steering: which processors handle a queue's received and sent packets.

use std::path::PathBuf;

use super::Planner;
use crate::knob::Cpus;
use crate::{Error, Kernel, Namespace, Syntax};
use units::CpuList;

/// No card has more queues; a folder with more is damaged. Source: `MAX_TX_QUEUES`-like limits of drivers end at 2048.
const MOST_QUEUES: usize = 4096;

impl Planner<'_> {
    pub(super) fn rps(&mut self, cpus: Option<&Cpus>) -> Result<(), Error> {
        let mask = match cpus {
            Some(cpus) => mask(&cpus.resolve(&self.knob, self.host, self.subject)?),
            None => "0".into(),
        };
        let namespace = self.namespace()?;
        for file in self.queues("rx", "rps_cpus", &namespace)? {
            self.write_in(file, &mask, Syntax::Mask, namespace.clone())?;
        }
        Ok(())
    }

    pub(super) fn xps(&mut self, cpus: Option<&Cpus>) -> Result<(), Error> {
        let cpus = cpus.map(|cpus| cpus.resolve(&self.knob, self.host, self.subject)).transpose()?;
        let namespace = self.namespace()?;
        let files = self.queues("tx", "xps_cpus", &namespace)?;
        // Each processor sends by one queue; queues differ by at most one processor.
        for (queue, file) in files.iter().enumerate() {
            let own = cpus.iter().flat_map(CpuList::as_slice).enumerate();
            let own: CpuList = own.filter(|(i, _)| i % files.len() == queue).map(|(_, cpu)| *cpu).collect();
            self.write_in(file.clone(), &mask(&own), Syntax::Mask, namespace.clone())?;
        }
        Ok(())
    }

    pub(super) fn rfs(&mut self, flows: u32) -> Result<(), Error> {
        let namespace = self.namespace()?;
        let files = self.queues("rx", "rps_flow_cnt", &namespace)?;
        // The kernel rounds both to powers of two; a queue gets its part of the whole. Source: scaling.rst.
        let whole = if flows == 0 { 0 } else { flows.next_power_of_two() };
        let part = if flows == 0 { 0 } else { (whole / files.len() as u32).max(1).next_power_of_two() };
        self.sysctl("net.core.rps_sock_flow_entries", &whole.to_string(), Syntax::Text)?;
        for file in files {
            self.write_in(file, &part.to_string(), Syntax::Text, namespace.clone())?;
        }
        Ok(())
    }

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
