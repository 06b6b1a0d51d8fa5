//! Clock frequency, turbo, power and SMT.

use super::quantity::{self, KILOHERTZ, MICROWATTS};
use super::value::{Switch, word};
use super::{About, Definition, Knob};
use crate::plan::Planner;
use crate::{Error, Syntax};

const CPUS: &str = "/sys/devices/system/cpu";

/// `smt=off`: several logical processors on one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smt(pub Switch);

impl Definition for Smt {
    const ABOUT: About = About {
        name: "smt",
        does: "several logical processors on one core",
        syntax: "smt=on or off",
        source: "IISWC'17 §III-B: off; §V-B.2: what they are worth",
    };

    fn read(value: &str) -> Option<Smt> {
        Switch::named(value).map(Smt)
    }

    fn write(&self) -> String {
        self.0.name().into()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        let switch = self.0;
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
    }
}

/// `frequency.governor=performance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governor(pub String);

impl Definition for Governor {
    const ABOUT: About = About {
        name: "frequency.governor",
        does: "the rule for the clock",
        syntax: "a name, such as frequency.governor=performance",
        source: "ISPASS'16 §IV-C.3: the highest frequency on all of the server's cores",
    };

    fn read(value: &str) -> Option<Governor> {
        word(value).map(Governor)
    }

    fn write(&self) -> String {
        self.0.clone()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        planner.need_cpufreq()?;
        let offered = &planner.host.frequency.governors;
        if !offered.contains(&self.0) {
            let limit = format!("the driver offers {}", offered.join(", "));
            return Err(planner.unsupported(limit, "choose one of those"));
        }
        for cpu in planner.host.cpu.online.as_slice() {
            let file = format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor");
            planner.write(file.into(), &self.0, Syntax::Text)?;
        }
        Ok(())
    }
}

/// `frequency=2.2GHz`, `frequency=max`: a fixed clock frequency. Units: kHz; `None` is the highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequency(pub Option<u64>);

impl Definition for Frequency {
    const ABOUT: About = About {
        name: "frequency",
        does: "a fixed clock",
        syntax: "a clock frequency or max, such as frequency=2.2GHz",
        source: "ISPASS'16 §IV-C.3: the highest; CAL'18 §4.2: lower ones",
    };

    fn read(value: &str) -> Option<Frequency> {
        if value == "max" {
            Some(Frequency(None))
        } else {
            quantity::read(value, KILOHERTZ).map(|khz| Frequency(Some(khz)))
        }
    }

    fn write(&self) -> String {
        self.0.map_or("max".into(), |khz| quantity::write(khz, KILOHERTZ))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        planner.need_cpufreq()?;
        for cpu in planner.host.cpu.online.as_slice() {
            let folder = format!("{CPUS}/cpu{cpu}/cpufreq");
            let read = |file: &str| planner.text(&format!("{folder}/{file}"))?.parse::<u64>().ok();
            let (Some(least), Some(most)) = (read("cpuinfo_min_freq"), read("cpuinfo_max_freq")) else {
                let limit = format!("processor {cpu} does not say its frequencies");
                return Err(planner.unsupported(limit, "leave it out"));
            };
            let khz = self.0.unwrap_or(most);
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
    }
}

/// `turbo=off`: clock frequencies above the nominal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turbo(pub Switch);

impl Definition for Turbo {
    const ABOUT: About = About {
        name: "turbo",
        does: "clock frequencies above the nominal one",
        syntax: "turbo=on or off",
        source: "ours, because they depend on temperature and on what the other cores do",
    };

    fn read(value: &str) -> Option<Turbo> {
        Switch::named(value).map(Turbo)
    }

    fn write(&self) -> String {
        self.0.name().into()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        let switch = self.0;
        if !switch.is_on()
            && planner.knobs.iter().any(|other| matches!(other, Knob::Frequency(Frequency(None))))
        {
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
    }
}

/// `power.cap=90W`: the limit of each package (RAPL). Units: µW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCap(pub u64);

impl Definition for PowerCap {
    const ABOUT: About = About {
        name: "power.cap",
        does: "the power of each package",
        syntax: "watts, such as power.cap=90W",
        source: "CAL'18 §4.2: RAPL",
    };

    fn read(value: &str) -> Option<PowerCap> {
        quantity::read(value, MICROWATTS).map(PowerCap)
    }

    fn write(&self) -> String {
        quantity::write(self.0, MICROWATTS)
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        let cap = self.0;
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
    }
}

impl Planner<'_> {
    fn need_cpufreq(&self) -> Result<(), Error> {
        if self.host.frequency.driver.is_some() {
            return Ok(());
        }
        let limit = "the kernel has no driver for the processors' frequency";
        Err(self.unsupported(limit, "leave it out: in a guest the host decides"))
    }
}
