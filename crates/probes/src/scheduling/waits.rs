//! Waits in the run queue and for locks, each one timed by programs in the kernel (`src/bpf/scheduling.bpf.c`).

use std::io;

use crate::histogram::Histogram;
#[cfg(feature = "bpf")]
use crate::kernel::{Programs, empty, lever, other};

/// The programs, where they could be had.
#[derive(Default)]
pub(super) struct Waits {
    #[cfg(feature = "bpf")]
    programs: Option<Programs>,
    #[cfg(feature = "bpf")]
    before: Vec<Histogram>,
}

#[cfg(feature = "bpf")]
impl Waits {
    /// Loads them. Errors: why not, with what to do.
    pub(super) fn open(pids: &[u32]) -> Result<Waits, String> {
        const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scheduling.bpf.o"));
        const ORDER: [&str; 5] =
            ["on_sys_exit", "on_sys_enter", "on_sched_switch", "on_sched_wakeup", "on_sched_wakeup_new"];
        let programs = Programs::load(PROGRAMS, &ORDER, pids, &[]).map_err(|error| lever(&error))?;
        Ok(Waits { programs: Some(programs), before: Vec::new() })
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        let Some(programs) = &mut self.programs else { return Ok(()) };
        programs.configure(&[], 0).map_err(other)?;
        self.before = programs.histograms(2).map_err(other)?;
        programs.attach().map(|_| ())
    }

    /// What was seen since [`Waits::resume`]: in the run queue, and for locks.
    pub(super) fn pause(&mut self) -> Option<[Histogram; 2]> {
        let programs = self.programs.as_mut()?;
        programs.detach();
        for name in ["ready", "waiting"] {
            empty(&programs.map(name).ok()?, |_, _| {}).ok()?;
        }
        let now = programs.histograms(2).ok()?;
        let since: Vec<Histogram> = now.iter().zip(&self.before).map(|(now, then)| now.since(then)).collect();
        since.try_into().ok()
    }
}

#[cfg(not(feature = "bpf"))]
impl Waits {
    /// Says that this build cannot.
    pub(super) fn open(_: &[u32]) -> Result<Waits, String> {
        Err("a build with the feature `bpf`, and root".into())
    }

    #[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
    pub(super) fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn pause(&mut self) -> Option<[Histogram; 2]> {
        None
    }
}
