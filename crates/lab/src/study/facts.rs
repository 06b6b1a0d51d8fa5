//! Facts about the host that decide whether a part of a study can be measured here.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::LazyLock;

use app::App;
use launch::find_program;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::DefinitionError;
use crate::allowed_cpus;
use crate::target::SHIPPED;

/// The facts that a study may ask for; the default describes an empty machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Processors that this process may use.
    pub cores: usize,
    /// Whether two of them share a core.
    pub smt: bool,
    /// Whether cache ways can be given out.
    pub resctrl: bool,
    /// Whether the processor's own counters can be read.
    pub counters: bool,
    /// Whether a driver sets the processors' clock.
    pub frequency: bool,
    /// Whether this process may change the host.
    pub root: bool,
    /// Receive queues of the network device that has most of them.
    pub queues: usize,
    /// Memory that is available.
    pub memory: Bytes,
    /// Room on the disk where temporary files are made; `None` of a machine that does not tell.
    pub disk: Option<Bytes>,
    /// The reason why a request's stages cannot be followed in the kernel; `None` if they can.
    pub no_stages: Option<String>,
    /// Installed programs, among those that studies may need.
    pub programs: Vec<String>,
}

/// An agent's description of its machine for a coordinator that starts servers there. Sent as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machinery {
    /// The machine.
    pub host: host::Host,
    /// The reason why a request's stages cannot be followed in its kernel; `None` if they can.
    pub no_stages: Option<String>,
}

impl Machinery {
    /// That of this machine. Cost: some 100 ms, in which the programs of a probe are loaded for a trial.
    pub fn here() -> Machinery {
        Machinery { host: host::Host::here(), no_stages: probes::no_stages() }
    }
}

/// A program that a study may ask for.
struct KnownProgram {
    name: String,
    program: String,
    /// Folders searched in addition to `PATH`.
    folders: Vec<PathBuf>,
    /// The Debian package that has it.
    package: String,
}

impl KnownProgram {
    fn is_there(&self) -> bool {
        find_program(&self.program).is_some()
            || self.folders.iter().any(|folder| folder.join(&self.program).is_file())
    }
}

/// Programs other than the applications': the name, the program, its package.
const PROGRAMS: [(&str, &str, &str); 4] = [
    ("lxc", "lxc-start", "lxc"),
    ("podman", "podman", "podman"),
    ("docker", "dockerd", "docker.io"),
    ("irqbalance", "irqbalance", "irqbalance"),
];

/// All of them: those, and the programs of the applications that this program brings along.
static KNOWN: LazyLock<Vec<KnownProgram>> = LazyLock::new(|| {
    let known = |name: &str, program: &str, package: &str, folders: &[PathBuf]| KnownProgram {
        name: name.into(),
        program: program.into(),
        folders: folders.into(),
        package: package.into(),
    };
    let services = SHIPPED.iter().flat_map(|app| &app.services);
    let installed = services.filter(|service| service.program.embedded.is_none() && !service.program.built);
    let of_apps = installed.map(|service| {
        let program = &service.program;
        let package = program.package.as_ref().unwrap_or(&program.name);
        known(&program.name, &program.name, package, &program.folders)
    });
    let others = PROGRAMS.iter().map(|(name, program, package)| known(name, program, package, &[]));
    let mut all: Vec<KnownProgram> = of_apps.chain(others).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    all
});

/// Whether a study may ask for the program `name`, or the application whose programs are made from source.
pub(super) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|known| known.name == name) || made().any(|app| app.name == name)
}

/// The applications whose programs are made from source.
fn made() -> impl Iterator<Item = &'static App> {
    SHIPPED.iter().map(AsRef::as_ref).filter(|app: &&App| !app.builds.is_empty())
}

impl Facts {
    /// Facts of this machine, described by `host`.
    pub fn here(host: &host::Host) -> Facts {
        let programs = KNOWN.iter().filter(|known| known.is_there());
        let is_built = |app: &&App| app.not_built(&[app.built_folder()]).is_empty();
        let made = made().filter(is_built).map(|app| app.name.clone());
        Facts {
            cores: allowed_cpus().len(),
            no_stages: probes::no_stages(),
            programs: programs.map(|known| known.name.clone()).chain(made).collect(),
            ..Facts::of(host)
        }
    }

    /// Facts of the machine on which an agent runs the servers.
    pub fn told(machine: &Machinery) -> Facts {
        let there = |reason: &String| format!("on the machine of the server's agent: {reason}");
        Facts { no_stages: machine.no_stages.as_ref().map(there), ..Facts::of(&machine.host) }
    }

    /// Facts of another machine, limited to its description.
    pub fn of(host: &host::Host) -> Facts {
        let programs = KNOWN.iter().filter(|known| {
            let file = Some(OsStr::new(&known.program));
            host.software.iter().any(|one| one.name == known.name || one.path.file_name() == file)
        });
        Facts {
            cores: host.cpu.allowed.len(),
            smt: host.cpu.smt_on(),
            resctrl: gives_out_ways(host),
            counters: host.observing.hardware_counters,
            frequency: host.frequency.driver.is_some(),
            root: host.privileges.root,
            queues: host
                .nics
                .iter()
                .filter(|nic| nic.is_hardware())
                .map(|nic| nic.receive.len())
                .max()
                .unwrap_or(0),
            memory: Bytes(host.memory.available_bytes.unwrap_or(0)),
            disk: host.storage.free_bytes.map(Bytes),
            no_stages: Some("whether its kernel can be looked into is known on that machine only".into()),
            programs: programs.map(|known| known.name.clone()).collect(),
        }
    }

    /// The unmet part of `need` on this host, with the remedy; `None` if the host meets it.
    ///
    /// Errors: the need is unknown.
    pub fn lacks(&self, need: &str) -> Result<Option<String>, DefinitionError> {
        let need = need.trim();
        let unless = |has: bool, reason: String| Ok((!has).then_some(reason));
        if let Some(KnownProgram { name, program, package, .. }) =
            KNOWN.iter().find(|known| known.name == need)
        {
            let reason =
                format!("there is no {program} on this machine; install it (apt-get install {package})");
            return unless(self.programs.contains(name), reason);
        }
        if let Some(App { name, .. }) = made().find(|app| app.name == need) {
            let reason = format!("the programs of {name} are not made; `taillight {name} build` does");
            return unless(self.programs.contains(name), reason);
        }
        if let Some((name, least)) = need.split_once(">=") {
            let wrong =
                || DefinitionError(format!("needs '{need}': '{least}' is not an amount, such as 4 or 8GiB"));
            let count = || least.trim().parse::<usize>().map_err(|_| wrong());
            let bytes = || least.trim().parse::<Bytes>().map_err(|_| wrong());
            match name.trim() {
                "cores" => {
                    let (least, here) = (count()?, self.cores);
                    let reason = format!("it needs {least} processors and this machine gives {here}");
                    return unless(here >= least, reason);
                }
                "queues" => {
                    let (least, here) = (count()?, self.queues);
                    let reason = format!(
                        "it needs a network device with {least} receive queues and the best one here has {here}"
                    );
                    return unless(here >= least, reason);
                }
                "memory" => {
                    let (least, here) = (bytes()?, self.memory);
                    return unless(here >= least, format!("it needs {least} of memory and {here} are free"));
                }
                "disk" => {
                    let least = bytes()?;
                    // If the room is unknown, a lack of it shows when the files are made.
                    let Some(here) = self.disk.filter(|here| *here < least) else { return Ok(None) };
                    return Ok(Some(format!(
                        "it needs {least} on the disk where temporary files are made and {here} are free"
                    )));
                }
                _ => {}
            }
        }
        let known = [
            (
                "smt",
                self.smt,
                "no two processors of this machine share a core, or SMT is off: the firmware or, in a virtual \
                 machine, the host decides that",
            ),
            (
                "resctrl",
                self.resctrl,
                "the kernel offers no cache allocation (resctrl): it takes an Intel Xeon with CAT or its like, \
                 not hidden by a hypervisor",
            ),
            (
                "counters",
                self.counters,
                "the processor's own counters are not shown: it takes a machine without a hypervisor, or one that passes \
                 them on (vPMU)",
            ),
            (
                "frequency",
                self.frequency,
                "no driver sets the processors' clock (cpufreq): it takes a machine without a hypervisor",
            ),
            ("root", self.root, "it changes the host, which takes root"),
        ];
        if let Some((_, has, reason)) = known.into_iter().find(|(name, ..)| *name == need) {
            return unless(has, reason.into());
        }
        if need == "stages" {
            return Ok(self.no_stages.clone());
        }
        let programs = KNOWN.iter().map(|known| &known.name).chain(made().map(|app| &app.name));
        Err(DefinitionError(format!(
            "needs '{need}': not known; write smt, resctrl, counters, frequency, root, stages, cores>=N, queues>=N, memory>=SIZE, disk>=SIZE, or one of {}",
            programs.cloned().collect::<Vec<_>>().join(", ")
        )))
    }
}

/// Whether the kernel was built with it and the processor has it: mounted, or told by its flags.
fn gives_out_ways(host: &host::Host) -> bool {
    let has = |flag: &str| host.cpu.features.iter().any(|feature| feature == flag);
    host.resctrl.offered && (host.resctrl.mount.is_some() || has("cat_l3") || has("cat_l2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big() -> Facts {
        Facts {
            cores: 44,
            smt: true,
            resctrl: true,
            counters: true,
            frequency: true,
            root: true,
            queues: 8,
            memory: Bytes(64 << 30),
            disk: Some(Bytes(1 << 40)),
            no_stages: None,
            programs: vec!["memcached".into(), "movies".into()],
        }
    }

    #[test]
    fn a_need_is_there_or_says_what_lacks() {
        let small = Facts {
            cores: 2,
            smt: false,
            resctrl: false,
            counters: false,
            frequency: false,
            root: false,
            queues: 1,
            memory: Bytes(1 << 30),
            disk: Some(Bytes(80 << 30)),
            no_stages: Some("it takes root".into()),
            programs: Vec::new(),
        };
        let check = |need: &str, words: &str| {
            assert_eq!(big().lacks(need).unwrap(), None, "{need}");
            let reason = small.lacks(need).unwrap().unwrap();
            assert!(reason.contains(words), "{need}: {reason}");
        };
        check("memcached", "apt-get install memcached");
        check("movies", "`taillight movies build` does");
        check("cores>=8", "it needs 8 processors and this machine gives 2");
        check("queues>=4", "the best one here has 1");
        check("memory >= 8GiB", "it needs 8 GiB of memory and 1 GiB are free");
        check("disk>=200GiB", "it needs 200 GiB on the disk where temporary files are made and 80 GiB");
        check("smt", "share a core");
        check("resctrl", "CAT");
        check("counters", "vPMU");
        check("frequency", "(cpufreq)");
        check("root", "takes root");
        check("stages", "it takes root");
    }

    #[test]
    fn another_machine_is_known_by_what_it_tells() {
        let here = host::Host::here();
        let told: host::Host = serde_json::from_value(serde_json::to_value(&here).unwrap()).unwrap();
        let (there, own) = (Facts::of(&told), Facts::here(&here));
        assert_eq!((there.cores, there.smt, there.root), (own.cores, own.smt, own.root));
        let known = |facts: &Facts, name: &str| facts.programs.iter().any(|there| there == name);
        for name in ["memcached", "nginx", "lxc", "podman"] {
            assert_eq!(known(&there, name), known(&own, name), "{name}");
        }
        assert_eq!(there.disk.is_some(), own.disk.is_some());
        // One that does not tell its disk may have room.
        assert_eq!(Facts::default().lacks("disk>=1000GiB").unwrap(), None);
        assert!(there.lacks("stages").unwrap().unwrap().contains("on that machine only"));
        // Its agent tells that, too.
        let check = |no_stages: Option<&str>, expect: Option<&str>| {
            let machine = Machinery { host: here.clone(), no_stages: no_stages.map(Into::into) };
            let told: Machinery = serde_json::from_str(&serde_json::to_string(&machine).unwrap()).unwrap();
            assert_eq!(Facts::told(&told).lacks("stages").unwrap().as_deref(), expect);
        };
        check(None, None);
        check(Some("it takes root"), Some("on the machine of the server's agent: it takes root"));
    }

    #[test]
    fn an_unknown_need_is_refused() {
        for need in ["cores>=x", "gpu", "disks>=4", ""] {
            let error = big().lacks(need).unwrap_err().to_string();
            assert!(error.contains(&format!("needs '{need}'")), "{error}");
        }
    }

    #[test]
    fn cache_ways_take_a_kernel_and_a_processor_that_have_them() {
        let check = |offered: bool, mount: Option<&str>, feature: &str, expect: bool| {
            let mut host = host::Host::here();
            (host.resctrl.offered, host.resctrl.mount) = (offered, mount.map(Into::into));
            host.cpu.features = vec!["fpu".into(), feature.into()];
            assert_eq!(Facts::of(&host).resctrl, expect, "{offered} {mount:?} {feature}");
        };
        check(false, None, "cat_l3", false);
        check(true, None, "cdp_l3", false);
        check(true, None, "cat_l3", true);
        check(true, None, "cat_l2", true);
        check(true, Some("/sys/fs/resctrl"), "", true);
    }
}
