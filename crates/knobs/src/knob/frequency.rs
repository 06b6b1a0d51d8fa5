//! Clock frequency, turbo, power and SMT.

use super::quantity::{self, KILOHERTZ, MICROWATTS};
use super::value::{Switch, word};
use super::{About, Definition, Knob};
use crate::plan::Planner;
use crate::{Error, Syntax};

const CPUS: &str = "/sys/devices/system/cpu";

/// `smt=off`: several logical processors on one core.
pub(super) const SMT: Definition<Switch> = Definition {
    about: About {
        name: "smt",
        does: "several logical processors on one core",
        syntax: "smt=on or off",
        source: "IISWC'17 §III-B: off; §V-B.2: what they are worth",
    },
    read: Switch::named,
    write: Switch::write,
    plan: |switch, planner| {
        let of_processors =
            ["cpu.set", "cache.ways", "irq.affinity", "rps", "xps", "frequency.governor", "frequency"];
        planner.goes_before("the processors that are online", &of_processors)?;
        // The kernel's list of offline processors also has numbers that this machine lacks.
        let is_off = |cpu: &&usize| planner.text(&format!("{CPUS}/cpu{cpu}/online")).as_deref() == Some("0");
        let off = planner.host.cpu.offline.as_slice().iter().find(is_off);
        if let (Some("on"), false, Some(cpu)) = (planner.host.cpu.smt_control.as_deref(), switch.is_on(), off)
        {
            let limit = format!("processor {cpu} is off by itself, and would be on once this is undone");
            return Err(planner
                .unsupported(limit, "switch it on first, or choose threads by cpu.set=cores:N instead"));
        }
        match planner.host.cpu.smt_control.as_deref() {
            Some("on" | "off") => {
                planner.write(format!("{CPUS}/smt/control").into(), switch.name(), Syntax::Text)
            }
            Some("forceoff") if !switch.is_on() => Ok(()),
            state => {
                let limit = match state {
                    Some("notsupported") => "the processor, or the hypervisor, has no SMT".to_owned(),
                    Some(state) => format!("the kernel says {state}"),
                    None => "the kernel cannot switch it".to_owned(),
                };
                Err(planner.unsupported(limit, "choose threads by cpu.set=cores:N instead"))
            }
        }
    },
};

/// `frequency.governor=performance`.
pub(super) const GOVERNOR: Definition<String> = Definition {
    about: About {
        name: "frequency.governor",
        does: "the rule for the clock",
        syntax: "a name, such as frequency.governor=performance",
        source: "ISPASS'16 §IV-C.3: the highest frequency on all of the server's cores",
    },
    read: word,
    write: String::clone,
    plan: |governor, planner| {
        planner.need_cpufreq()?;
        let offered = &planner.host.frequency.governors;
        if !offered.contains(governor) {
            let limit = format!("the driver offers {}", offered.join(", "));
            return Err(planner.unsupported(limit, "choose one of those"));
        }
        for cpu in planner.host.cpu.online.as_slice() {
            let file = format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor");
            planner.write(file.into(), governor, Syntax::Text)?;
        }
        Ok(())
    },
};

/// `frequency=2.2GHz`, `frequency=max`: a fixed clock frequency. Units: kHz; `None` is the highest.
pub(super) const FREQUENCY: Definition<Option<u64>> = Definition {
    about: About {
        name: "frequency",
        does: "a fixed clock",
        syntax: "a clock frequency or max, such as frequency=2.2GHz",
        source: "ISPASS'16 §IV-C.3: the highest; CAL'18 §4.2: lower ones",
    },
    read: |value| {
        if value == "max" { Some(None) } else { quantity::read(value, KILOHERTZ).map(Some) }
    },
    write: |khz| khz.map_or("max".into(), |khz| quantity::write(khz, KILOHERTZ)),
    plan: |khz, planner| {
        planner.need_cpufreq()?;
        for cpu in planner.host.cpu.online.as_slice() {
            let folder = format!("{CPUS}/cpu{cpu}/cpufreq");
            let read = |file: &str| planner.text(&format!("{folder}/{file}"))?.parse::<u64>().ok();
            let (Some(least), Some(most)) = (read("cpuinfo_min_freq"), read("cpuinfo_max_freq")) else {
                let limit = format!("processor {cpu} does not say its frequencies");
                return Err(planner.unsupported(limit, "leave it out"));
            };
            let khz = khz.unwrap_or(most);
            if !(least..=most).contains(&khz) {
                let limit = format!("processor {cpu} runs at {least} to {most} kHz");
                return Err(planner.unsupported(limit, "choose one between"));
            }
            // The kernel keeps the lower bound below the upper one at every moment.
            let raise_first = read("scaling_max_freq").is_some_and(|now| khz >= now);
            let order = ["scaling_max_freq", "scaling_min_freq"];
            let order = if raise_first { order } else { [order[1], order[0]] };
            for file in order {
                planner.write(format!("{folder}/{file}").into(), &khz.to_string(), Syntax::Text)?;
            }
        }
        Ok(())
    },
};

/// `turbo=off`: clock frequencies above the nominal one.
pub(super) const TURBO: Definition<Switch> = Definition {
    about: About {
        name: "turbo",
        does: "clock frequencies above the nominal one",
        syntax: "turbo=on or off",
        source: "ours, because they depend on temperature and on what the other cores do",
    },
    read: Switch::named,
    write: Switch::write,
    plan: |switch, planner| {
        if !switch.is_on() && planner.knobs.iter().any(|other| matches!(other, Knob::Frequency(None))) {
            let limit = "frequency=max asks for a clock that there is with turbo only".to_owned();
            return Err(planner.usage(limit, "leave one of the two out, or name the frequency"));
        }
        // `no_turbo` is inverted.
        for (file, on, off) in [("intel_pstate/no_turbo", "0", "1"), ("cpufreq/boost", "1", "0")] {
            let file = format!("{CPUS}/{file}");
            if planner.text(&file).is_some() {
                return planner.write(file.into(), if switch.is_on() { on } else { off }, Syntax::Text);
            }
        }
        let limit = "no driver here switches it (intel_pstate/no_turbo, cpufreq/boost)";
        Err(planner
            .unsupported(limit, "set it in the firmware, or leave it out: in a guest the host decides"))
    },
};

/// `power.cap=90W`: the limit of each package (RAPL). Units: µW.
pub(super) const POWER_CAP: Definition<u64> = Definition {
    about: About {
        name: "power.cap",
        does: "the power of each package",
        syntax: "watts, such as power.cap=90W",
        source: "CAL'18 §4.2: RAPL",
    },
    read: |value| quantity::read(value, MICROWATTS),
    write: |cap| quantity::write(*cap, MICROWATTS),
    plan: |cap, planner| {
        let cap = *cap;
        let zones = &planner.host.frequency.power_zones;
        let is_package =
            |name: &Option<String>| name.as_deref().is_some_and(|name| name.starts_with("package"));
        let packages: Vec<_> = zones.iter().filter(|zone| is_package(&zone.name)).cloned().collect();
        if packages.is_empty() {
            let limit = "the kernel shows no package whose power it can cap (RAPL)";
            return Err(planner.unsupported(limit, "leave it out"));
        }
        for zone in packages {
            if let Some(most) = zone.most_uw.filter(|most| *most > 0 && cap > *most) {
                let limit = format!("{} takes at most {} W", zone.zone, most / 1_000_000);
                return Err(planner.unsupported(limit, "choose less"));
            }
            let file = format!("/sys/class/powercap/{}/constraint_0_power_limit_uw", zone.zone);
            planner.write(file.into(), &cap.to_string(), Syntax::Text)?;
        }
        Ok(())
    },
};

impl Planner<'_> {
    fn need_cpufreq(&self) -> Result<(), Error> {
        if self.host.frequency.driver.is_some() {
            return Ok(());
        }
        let limit = "the kernel has no driver for the processors' frequency";
        Err(self.unsupported(limit, "leave it out: in a guest the host decides"))
    }
}
