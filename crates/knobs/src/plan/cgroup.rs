//! Processors, their time and memory, by control groups of version 1 or 2.

use std::path::PathBuf;

use super::Planner;
use crate::action::{Action, Step};
use crate::knob::Cpus;
use crate::{Error, Kernel, Syntax};

/// The period of a quota: the kernel's default. A shorter one costs more timer interrupts; with a longer one a process
/// that has used its quota stops for longer. Units: µs.
const PERIOD_US: u64 = 100_000;
/// The least that the kernel takes. Units: µs.
const LEAST_QUOTA_US: u64 = 1_000;

/// A control group that the plan makes.
pub(super) struct Group {
    pub(super) folder: PathBuf,
    pub(super) version: u32,
    mount: PathBuf,
}

impl Planner<'_> {
    pub(super) fn cpu_set(&mut self, cpus: &Cpus) -> Result<(), Error> {
        let cpus = cpus.resolve(&self.knob, self.host, self.subject)?;
        let group = self.group("cpuset")?;
        if group.version == 1 {
            // A group of version 1 begins without any memory node, and takes no process before it has one.
            let all = group.mount.join("cpuset.mems");
            let nodes = self
                .here
                .read(&all, None)
                .map_err(|e| Error::of_io(&self.knob, "the memory nodes cannot be read", &e))?;
            self.write_inside(&group.folder, "cpuset.mems", nodes.trim(), Syntax::Text);
        }
        self.write_inside(&group.folder, "cpuset.cpus", &cpus.to_string(), Syntax::Text);
        Ok(())
    }

    pub(super) fn cpu_quota(&mut self, quota: u64) -> Result<(), Error> {
        let quota_us = quota.saturating_mul(PERIOD_US) / 10_000;
        if quota_us < LEAST_QUOTA_US {
            return Err(self.usage("the kernel gives no less than 1 ms in 100 ms", "write 1% or more"));
        }
        let group = self.group("cpu")?;
        if group.version == 1 {
            self.write_inside(&group.folder, "cpu.cfs_period_us", &PERIOD_US.to_string(), Syntax::Text);
            self.write_inside(&group.folder, "cpu.cfs_quota_us", &quota_us.to_string(), Syntax::Text);
        } else {
            self.write_inside(&group.folder, "cpu.max", &format!("{quota_us} {PERIOD_US}"), Syntax::Text);
        }
        Ok(())
    }

    pub(super) fn memory_limit(&mut self, limit: u64) -> Result<(), Error> {
        let group = self.group("memory")?;
        let file = if group.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
        self.write_inside(&group.folder, file, &limit.to_string(), Syntax::Bytes);
        Ok(())
    }

    /// The subject's group in the hierarchy that holds `controller`; it is made once, and the processes move into it
    /// last.
    ///
    /// Errors: no process is named; the host lacks the controller; the name is not valid for a group.
    pub(super) fn group(&mut self, controller: &str) -> Result<Group, Error> {
        self.need_processes("name them: --pid PID, or a command")?;
        let Some(tree) = self.host.cgroups.holding(controller) else {
            let limit = format!("no mounted control group has the controller {controller}");
            let hint = format!(
                "mount it, or use a kernel with it: {controller} is not among those of /proc/self/mounts"
            );
            return Err(self.unsupported(limit, hint));
        };
        let name = &self.subject.name;
        if name.is_empty() || name.contains(['/', '\n']) || name.starts_with('.') {
            return Err(self.usage(format!("'{name}' cannot be the name of a group"), "choose a plain word"));
        }
        let mount = PathBuf::from(&tree.mount);
        let folder = mount.join(name);
        let group = Group { folder: folder.clone(), version: tree.version, mount: mount.clone() };
        if tree.version == 2 {
            let enable = Step::Enable { file: mount.join("cgroup.subtree_control"), word: controller.into() };
            let enabled = self.actions.iter().any(|action| action.step == enable);
            if !enabled && !tree.delegated.iter().any(|name| name == controller) {
                // Before the group is made, so that its files are there.
                let at = self.actions.iter().position(|a| a.step == Step::Directory { path: folder.clone() });
                let action = Action { knob: self.knob.clone(), step: enable, scratch: false };
                self.actions.insert(at.unwrap_or(self.actions.len()), action);
            }
        }
        if self.made.insert(folder.clone()) {
            self.push(Step::Directory { path: folder });
            let key = if tree.version == 1 { controller } else { "" };
            let step = Step::Move {
                pids: self.subject.pids.clone(),
                mount,
                controller: key.into(),
                group: format!("/{name}"),
            };
            self.moves.push(Action { knob: self.knob.clone(), step, scratch: false });
        }
        Ok(group)
    }
}
