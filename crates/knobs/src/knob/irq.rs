//! Interrupts of a network device, and the daemon that moves them.

use super::{About, Cpus, Definition, Knob};
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Kernel, Syntax};

const DAEMON: &str = "irqbalance";

/// `irq.affinity=0-3`: the device's interrupts, spread over these processors queue by queue.
pub(super) const IRQ_AFFINITY: Definition<Cpus> = Definition {
    about: About {
        name: "irq.affinity",
        does: "the processors of the device's interrupts, queue by queue",
        syntax: "processors, such as irq.affinity=0-3",
        source: "IISWC'17 §III-B, §IV-B: 8 cores for 8 queues; ANCS'19 §III-B",
    },
    read: Cpus::read,
    write: Cpus::to_string,
    plan: |cpus, planner| {
        let cpus = planner.processors(cpus)?;
        let kept_off = |s: &Knob| matches!(s, Knob::Irqbalance(Irqbalance::Off | Irqbalance::Exclude));
        if planner.daemon()?.is_some() && !planner.knobs.iter().any(kept_off) {
            let limit = "irqbalance runs, and would move the interrupts again within 10 s";
            return Err(planner.usage(limit, "add irqbalance=off or irqbalance=exclude"));
        }
        // A queue's interrupts for both directions go to one processor, whose cache then holds the connection.
        for (queue, number) in planner.interrupts()? {
            let cpu = cpus.as_slice()[queue % cpus.len()];
            let file = format!("/proc/irq/{number}/smp_affinity_list").into();
            planner.write(file, &cpu.to_string(), Syntax::Text)?;
        }
        Ok(())
    },
};

units::named! {
    /// `irqbalance=off`, `=exclude`: the daemon that moves interrupts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Irqbalance {
        /// It runs as the host starts it.
        On = "on",
        /// It does not run.
        Off = "off",
        /// It runs and leaves the device's interrupts alone.
        Exclude = "exclude",
    }
}

pub(super) const IRQBALANCE: Definition<Irqbalance> = Definition {
    about: About {
        name: "irqbalance",
        does: "the daemon that moves interrupts",
        syntax: "irqbalance=on, off or exclude",
        source: "ANCS'19 §III-B, §IV-B: on and off",
    },
    read: Irqbalance::named,
    write: |mode| mode.name().into(),
    plan: |mode, planner| {
        let running = planner.daemon()?;
        let run = match (mode, running) {
            (Irqbalance::Off, _) => None,
            (Irqbalance::On, Some(line)) => Some(line),
            (Irqbalance::On, None) => Some(vec![DAEMON.to_owned()]),
            (Irqbalance::Exclude, None) => return Ok(()),
            (Irqbalance::Exclude, Some(line)) => {
                let mut line: Vec<String> = line.into_iter().filter(|word| word != "--foreground").collect();
                let numbers = planner.interrupts()?;
                line.extend(numbers.iter().map(|(_, number)| format!("--banirq={number}")));
                Some(line)
            }
        };
        planner.push(Step::Daemon { name: DAEMON.into(), run });
        Ok(())
    },
};

impl Planner<'_> {
    fn daemon(&self) -> Result<Option<Vec<String>>, Error> {
        self.here.daemon(DAEMON).map_err(|e| Error::of_io(DAEMON, "the processes cannot be listed", &e))
    }

    /// The device's interrupts with the number of the queue that each belongs to, by queue.
    fn interrupts(&self) -> Result<Vec<(usize, u32)>, Error> {
        let device = self.device()?;
        let nic = self.host.nic(device);
        let all = nic.map(|nic| nic.interrupts.as_slice()).unwrap_or_default();
        let mut found: Vec<(usize, u32)> = all.iter().filter_map(|i| Some((i.queue?, i.interrupt))).collect();
        found.sort_unstable();
        if found.is_empty() {
            let limit =
                format!("{device} has no interrupts of its own: it is missing, or the kernel plays it");
            let hint = "name the card: --device, or target.device in an experiment";
            return Err(self.unsupported(limit, hint));
        }
        Ok(found)
    }
}
