//! Clock frequency, turbo, power and SMT.

use super::Planner;
use crate::knob::{Knob, Switch};
use crate::{Error, Syntax};

const CPUS: &str = "/sys/devices/system/cpu";

impl Planner<'_> {
    pub(super) fn smt(&mut self, switch: Switch) -> Result<(), Error> {
        let of_processors =
            ["cpu.set", "cache.ways", "irq.affinity", "rps", "xps", "frequency.governor", "frequency"];
        self.goes_before("the processors that are online", &of_processors)?;
        // The kernel's list of offline processors also has numbers that this machine lacks.
        let is_off = |cpu: &&usize| self.text(&format!("{CPUS}/cpu{cpu}/online")).as_deref() == Some("0");
        let off = self.host.cpu.offline.as_slice().iter().find(is_off);
        if let (Some("on"), false, Some(cpu)) = (self.host.cpu.smt_control.as_deref(), switch.is_on(), off) {
            let limit = format!("processor {cpu} is off by itself, and would be on once this is undone");
            return Err(
                self.unsupported(limit, "switch it on first, or choose threads by cpu.set=cores:N instead")
            );
        }
        match self.host.cpu.smt_control.as_deref() {
            Some("on" | "off") => {
                self.write(format!("{CPUS}/smt/control").into(), &switch.to_string(), Syntax::Text)
            }
            Some("forceoff") if !switch.is_on() => Ok(()),
            state => {
                let limit = match state {
                    Some("notsupported") => "the processor, or the hypervisor, has no SMT".to_owned(),
                    Some(state) => format!("the kernel says {state}"),
                    None => "the kernel cannot switch it".to_owned(),
                };
                Err(self.unsupported(limit, "choose threads by cpu.set=cores:N instead"))
            }
        }
    }

    pub(super) fn governor(&mut self, name: &str) -> Result<(), Error> {
        self.need_cpufreq()?;
        let offered = &self.host.frequency.governors;
        if !offered.iter().any(|governor| governor == name) {
            let limit = format!("the driver offers {}", offered.join(", "));
            return Err(self.unsupported(limit, "choose one of those"));
        }
        self.of_each_processor("scaling_governor", name)
    }

    pub(super) fn frequency(&mut self, khz: Option<u64>) -> Result<(), Error> {
        self.need_cpufreq()?;
        for cpu in self.host.cpu.online.clone().as_slice() {
            let folder = format!("{CPUS}/cpu{cpu}/cpufreq");
            let read = |file: &str| self.text(&format!("{folder}/{file}"))?.parse::<u64>().ok();
            let (Some(least), Some(most)) = (read("cpuinfo_min_freq"), read("cpuinfo_max_freq")) else {
                let limit = format!("processor {cpu} does not say its frequencies");
                return Err(self.unsupported(limit, "leave it out"));
            };
            let khz = khz.unwrap_or(most);
            if !(least..=most).contains(&khz) {
                let limit = format!("processor {cpu} runs at {least} to {most} kHz");
                return Err(self.unsupported(limit, "choose one between"));
            }
            // The kernel keeps the lower bound below the upper one at every moment.
            let raise_first = read("scaling_max_freq").is_some_and(|now| khz >= now);
            let order = ["scaling_max_freq", "scaling_min_freq"];
            let order = if raise_first { order } else { [order[1], order[0]] };
            for file in order {
                self.write(format!("{folder}/{file}").into(), &khz.to_string(), Syntax::Text)?;
            }
        }
        Ok(())
    }

    pub(super) fn turbo(&mut self, switch: Switch) -> Result<(), Error> {
        if !switch.is_on() && self.knobs.iter().any(|other| matches!(other, Knob::Frequency(None))) {
            let limit = "frequency=max asks for a clock that there is with turbo only".to_owned();
            return Err(self.usage(limit, "leave one of the two out, or name the frequency"));
        }
        let (intel, generic) = (format!("{CPUS}/intel_pstate/no_turbo"), format!("{CPUS}/cpufreq/boost"));
        if self.text(&intel).is_some() {
            // `no_turbo` is inverted.
            let value = if switch.is_on() { "0" } else { "1" };
            return self.write(intel.into(), value, Syntax::Text);
        }
        if self.text(&generic).is_some() {
            let value = if switch.is_on() { "1" } else { "0" };
            return self.write(generic.into(), value, Syntax::Text);
        }
        let limit = "no driver here switches it (intel_pstate/no_turbo, cpufreq/boost)";
        Err(self.unsupported(limit, "set it in the firmware, or leave it out: in a guest the host decides"))
    }

    pub(super) fn power_cap(&mut self, cap: u64) -> Result<(), Error> {
        let zones = &self.host.frequency.power_zones;
        let is_package =
            |name: &Option<String>| name.as_deref().is_some_and(|name| name.starts_with("package"));
        let packages: Vec<_> = zones.iter().filter(|zone| is_package(&zone.name)).cloned().collect();
        if packages.is_empty() {
            let limit = "the kernel shows no package whose power it can cap (RAPL)";
            return Err(self.unsupported(limit, "leave it out"));
        }
        for zone in packages {
            if let Some(most) = zone.most_uw.filter(|most| *most > 0 && cap > *most) {
                let limit = format!("{} takes at most {} W", zone.zone, most / 1_000_000);
                return Err(self.unsupported(limit, "choose less"));
            }
            let file = format!("/sys/class/powercap/{}/constraint_0_power_limit_uw", zone.zone);
            self.write(file.into(), &cap.to_string(), Syntax::Text)?;
        }
        Ok(())
    }

    fn need_cpufreq(&self) -> Result<(), Error> {
        if self.host.frequency.driver.is_some() {
            return Ok(());
        }
        let limit = "the kernel has no driver for the processors' frequency";
        Err(self.unsupported(limit, "leave it out: in a guest the host decides"))
    }

    fn of_each_processor(&mut self, file: &str, value: &str) -> Result<(), Error> {
        for cpu in self.host.cpu.online.clone().as_slice() {
            self.write(format!("{CPUS}/cpu{cpu}/cpufreq/{file}").into(), value, Syntax::Text)?;
        }
        Ok(())
    }
}
