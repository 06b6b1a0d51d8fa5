//! From settings to actions: what each setting means on this host.

mod cache;
mod cgroup;
mod frequency;
mod irq;
mod net;
mod nic;
mod queues;
mod registers;
mod system;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use host::Host;
use serde::{Deserialize, Serialize};

use crate::action::{Action, Step};
use crate::kernel::LocalKernel;
use crate::{Error, Kernel, Namespace, Setting, Subject, Syntax};

/// What a host's settings come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The actions, in the order in which they are made.
    pub actions: Vec<Action>,
    /// The settings that the host does not support.
    pub skipped: Vec<Skipped>,
}

/// A setting that the host does not support.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The setting.
    pub setting: String,
    /// Why, and what to do about it.
    pub reason: String,
}

/// What `settings` mean on `host` for `subject`, as a list of actions. Nothing is changed.
///
/// Errors: the first setting that the host does not support, or that lacks what it acts on.
pub fn plan(settings: &[Setting], host: &Host, subject: &Subject) -> Result<Vec<Action>, Error> {
    check_names(settings)?;
    let mut planner = Planner::new(settings, host, subject);
    for setting in settings {
        planner.add(setting)?;
    }
    Ok(planner.finish())
}

/// The same for a list that is meant for many hosts: what this one does not support is left out and named.
///
/// Errors: a setting lacks what it acts on.
pub fn plan_what_can_be(settings: &[Setting], host: &Host, subject: &Subject) -> Result<Planned, Error> {
    check_names(settings)?;
    let mut planner = Planner::new(settings, host, subject);
    let mut skipped = Vec::new();
    for setting in settings {
        let before = planner.clone();
        if let Err(error) = planner.add(setting) {
            if !error.is_unsupported() {
                return Err(error);
            }
            planner = before;
            skipped.push(Skipped { setting: setting.to_string(), reason: error.to_string() });
        }
    }
    Ok(Planned { actions: planner.finish(), skipped })
}

/// Settings of one name would undo each other, unless each is for something else.
fn check_names(settings: &[Setting]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for setting in settings {
        let several = matches!(setting, Setting::CacheWays { .. } | Setting::NicSteer { .. });
        if !seen.insert(setting.name()) && !several {
            let limit = format!("{} is set twice", setting.name());
            return Err(Error::usage(setting, limit, "leave one of the two out"));
        }
    }
    Ok(())
}

#[derive(Clone)]
struct Planner<'a> {
    here: LocalKernel,
    host: &'a Host,
    subject: &'a Subject,
    settings: &'a [Setting],
    /// The one that is being planned.
    setting: String,
    actions: Vec<Action>,
    /// Processes are moved at the end, when their groups are complete.
    moves: Vec<Action>,
    /// Control groups and classes of service that the plan makes.
    made: BTreeSet<PathBuf>,
    classes: u32,
}

impl<'a> Planner<'a> {
    fn new(settings: &'a [Setting], host: &'a Host, subject: &'a Subject) -> Planner<'a> {
        Planner {
            here: LocalKernel::new(&subject.root),
            host,
            subject,
            settings,
            setting: String::new(),
            actions: Vec::new(),
            moves: Vec::new(),
            made: BTreeSet::new(),
            classes: 0,
        }
    }

    fn add(&mut self, setting: &Setting) -> Result<(), Error> {
        self.setting = setting.to_string();
        match setting {
            Setting::CpuSet(cpus) => self.cpu_set(cpus),
            Setting::CpuQuota(quota) => self.cpu_quota(*quota),
            Setting::MemoryLimit(limit) => self.memory_limit(*limit),
            Setting::NetRate { bits, by } => self.net_rate(*bits, *by),
            Setting::CacheWays { ways, cpus } => self.cache_ways(ways, cpus.as_ref()),
            Setting::IrqAffinity(cpus) => self.irq_affinity(cpus),
            Setting::Irqbalance(balancing) => self.irqbalance(*balancing),
            Setting::Rps(cpus) => self.rps(cpus.as_ref()),
            Setting::Xps(cpus) => self.xps(cpus.as_ref()),
            Setting::Rfs(flows) => self.rfs(*flows),
            Setting::NicQueues(queues) => self.nic_queues(*queues),
            Setting::NicSpread(queues) => self.nic_spread(*queues),
            Setting::NicFilters(switch) => self.nic_filters(*switch),
            Setting::NicSteer { port, queue } => self.nic_steer(*port, *queue),
            Setting::Smt(switch) => self.smt(*switch),
            Setting::Governor(name) => self.governor(name),
            Setting::Frequency(khz) => self.frequency(*khz),
            Setting::Turbo(switch) => self.turbo(*switch),
            Setting::PowerCap(cap) => self.power_cap(*cap),
            Setting::HugePages(pages) => self.sysctl("vm.nr_hugepages", &pages.to_string(), Syntax::Count),
            Setting::TransparentHugePages(word) => self.transparent_huge_pages(word),
            Setting::SwapOff => self.swap_off(),
            Setting::Aslr(switch) => {
                // 2 draws stack, mappings and heap; 1, without the heap, is of the year 2005. Source: proc(5).
                let value = if switch.is_on() { "2" } else { "0" };
                self.sysctl("kernel.randomize_va_space", value, Syntax::Text)
            }
            Setting::CongestionControl(name) => self.congestion_control(name),
            Setting::BusyPoll(us) => self.busy_poll(*us),
            Setting::Sysctl { name, value } => self.sysctl(name, value, Syntax::Text),
        }
    }

    fn finish(mut self) -> Vec<Action> {
        self.actions.append(&mut self.moves);
        self.actions
    }

    fn unsupported(&self, limit: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::unsupported(&self.setting, limit, hint)
    }

    fn usage(&self, limit: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::usage(&self.setting, limit, hint)
    }

    /// Refuses to change a thing together with what is planned by how it is now.
    fn goes_before(&self, what: &str, others: &[&str]) -> Result<(), Error> {
        match self.settings.iter().find(|other| others.contains(&other.name().as_str())) {
            None => Ok(()),
            Some(other) => {
                let limit = format!("{what} change with it, and {other} is planned by those of now");
                Err(self.usage(limit, "apply it first, by a `taillight tune apply` of its own"))
            }
        }
    }

    /// Adds an action.
    fn push(&mut self, step: Step) {
        self.actions.push(Action { setting: self.setting.clone(), step, scratch: false });
    }

    /// Adds the writing of a file, which must be there.
    ///
    /// Errors: the host lacks the file.
    fn write(&mut self, file: PathBuf, value: &str, syntax: Syntax) -> Result<(), Error> {
        self.write_in(file, value, syntax, None)
    }

    fn write_in(
        &mut self,
        file: PathBuf,
        value: &str,
        syntax: Syntax,
        namespace: Option<Namespace>,
    ) -> Result<(), Error> {
        let read = self.here.read(&file, namespace.as_ref());
        read.map_err(|e| Error::of_io(&self.setting, &format!("{} cannot be read", file.display()), &e))?;
        self.push(Step::Write { file, value: value.into(), syntax, namespace });
        Ok(())
    }

    /// Adds the writing of a file in a folder that the plan makes.
    fn write_inside(&mut self, folder: &Path, name: &str, value: &str, syntax: Syntax) {
        let step = Step::Write { file: folder.join(name), value: value.into(), syntax, namespace: None };
        self.actions.push(Action { setting: self.setting.clone(), step, scratch: true });
    }

    /// The text of a file; `None` where there is none.
    fn text(&self, path: &str) -> Option<String> {
        self.here.read(Path::new(path), None).ok().map(|text| text.trim().to_owned())
    }

    fn namespace(&self) -> Result<Option<Namespace>, Error> {
        let Some(file) = &self.subject.net_namespace else { return Ok(None) };
        let namespace = Namespace::of(file);
        namespace.map(Some).map_err(|e| {
            Error::of_io(&self.setting, &format!("{} is not a network namespace", file.display()), &e)
        })
    }

    /// Errors: no process is named; `hint` says how one is.
    fn need_processes(&self, hint: &str) -> Result<(), Error> {
        match self.subject.pids.is_empty() {
            true => Err(self.usage("it acts on processes, and none is named", hint)),
            false => Ok(()),
        }
    }

    fn device(&self) -> Result<&'a str, Error> {
        let device = self.subject.net_device.as_deref();
        // The name becomes a part of paths and commands.
        let good = device
            .filter(|name| !name.is_empty() && !name.contains(['/', ' ']) && !name.starts_with(['.', '-']));
        good.ok_or_else(|| {
            let hint = "name one: --device eth0, or target.device in an experiment";
            self.usage("it acts on a network device, and none is named", hint)
        })
    }
}
