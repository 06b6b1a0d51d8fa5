//! Waits in the run queue and for a futex, each timed by programs in the kernel (`src/bpf/scheduling.bpf.c`).

use std::io;

use crate::histogram::Histogram;
#[cfg(feature = "bpf")]
use crate::kernel::{Programs, empty, hint, other};

/// The programs, if they are available.
#[derive(Default)]
pub(super) struct Waits {
    #[cfg(feature = "bpf")]
    programs: Option<Programs>,
    #[cfg(feature = "bpf")]
    before: TimedWaits,
}

/// Waits that the programs timed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TimedWaits {
    /// Waits in the run queue, and for a futex.
    pub times: [Histogram; 2],
    /// Waits lost because a table was full, and events that the kernel did not pass on.
    pub lost: u64,
}

/// If more than this share of the waits was lost, the rest may not be representative.
const MAY_LOSE: f64 = 0.01;

impl TimedWaits {
    /// Description of the lost waits, if too many were lost.
    pub(super) fn loss(&self) -> Option<String> {
        let all = self.lost + self.times.iter().map(|times| times.count).sum::<u64>();
        (self.lost as f64 > MAY_LOSE * all as f64).then(|| {
            format!(
                "runqueue: {} of {all} waits or events were lost, since the kernel's tables were full or it skipped an event; \
                 limit {} %",
                self.lost,
                100.0 * MAY_LOSE
            )
        })
    }

    pub(super) fn add(&mut self, more: &TimedWaits) {
        self.times.iter_mut().zip(&more.times).for_each(|(sum, more)| sum.add(more));
        self.lost += more.lost;
    }
}

#[cfg(feature = "bpf")]
impl Waits {
    /// Loads the programs, with tables of other sizes. Errors: the reason, with a hint.
    pub(super) fn open(pids: &[u32], sizes: &[(&str, u32)]) -> Result<Waits, String> {
        const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scheduling.bpf.o"));
        const ORDER: [&str; 5] =
            ["on_sys_exit", "on_sys_enter", "on_sched_switch", "on_sched_wakeup", "on_sched_wakeup_new"];
        let programs = Programs::load(PROGRAMS, &ORDER, pids, sizes).map_err(|error| hint(&error))?;
        Ok(Waits { programs: Some(programs), before: TimedWaits::default() })
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        let Some(programs) = &mut self.programs else { return Ok(()) };
        programs.configure(&[], 0).map_err(other)?;
        self.before = seen(programs).map_err(other)?;
        programs.attach().map(|_| ())
    }

    /// Results since [`Waits::resume`].
    pub(super) fn pause(&mut self) -> Option<TimedWaits> {
        let programs = self.programs.as_mut()?;
        programs.detach();
        for name in ["ready", "waiting"] {
            empty(&programs.map(name).ok()?, |_, _| {}).ok()?;
        }
        let (now, then) = (seen(programs).ok()?, &self.before);
        Some(TimedWaits {
            times: std::array::from_fn(|i| now.times[i].since(&then.times[i])),
            lost: now.lost.saturating_sub(then.lost),
        })
    }
}

/// Totals since the programs were loaded.
#[cfg(feature = "bpf")]
fn seen(programs: &Programs) -> libbpf_rs::Result<TimedWaits> {
    let mut times = programs.histograms(2)?.into_iter();
    let [no_room]: [u64; 1] = programs.counts("no_room")?;
    Ok(TimedWaits {
        times: std::array::from_fn(|_| times.next().unwrap_or_default()),
        lost: no_room + programs.skipped(),
    })
}

#[cfg(not(feature = "bpf"))]
impl Waits {
    /// Fails, since this build lacks the feature.
    pub(super) fn open(_: &[u32], _: &[(&str, u32)]) -> Result<Waits, String> {
        Err("a build with the feature `bpf`, and root".into())
    }

    #[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
    pub(super) fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn pause(&mut self) -> Option<TimedWaits> {
        None
    }
}
