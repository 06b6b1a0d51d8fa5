//! Interrupts of a network device, and the daemon that moves them.

use super::Planner;
use crate::action::Step;
use crate::knob::{Balancing, Cpus};
use crate::{Error, Kernel, Knob, Syntax};

const DAEMON: &str = "irqbalance";

impl Planner<'_> {
    pub(super) fn irq_affinity(&mut self, cpus: &Cpus) -> Result<(), Error> {
        let cpus = cpus.resolve(&self.knob, self.host, self.subject)?;
        let kept_off = |s: &Knob| matches!(s, Knob::Irqbalance(Balancing::Off | Balancing::Exclude));
        if self.daemon()?.is_some() && !self.knobs.iter().any(kept_off) {
            let limit = "irqbalance runs, and would move the interrupts again within 10 s";
            return Err(self.usage(limit, "add irqbalance=off or irqbalance=exclude"));
        }
        // A queue's interrupts for both directions go to one processor, whose cache then holds the connection.
        for (queue, number) in self.interrupts()? {
            let cpu = cpus.as_slice()[queue % cpus.len()];
            let file = format!("/proc/irq/{number}/smp_affinity_list").into();
            self.write(file, &cpu.to_string(), Syntax::Text)?;
        }
        Ok(())
    }

    pub(super) fn irqbalance(&mut self, balancing: Balancing) -> Result<(), Error> {
        let running = self.daemon()?;
        let run = match (balancing, running) {
            (Balancing::Off, _) => None,
            (Balancing::On, Some(line)) => Some(line),
            (Balancing::On, None) => Some(vec![DAEMON.to_owned()]),
            (Balancing::Exclude, None) => return Ok(()),
            (Balancing::Exclude, Some(line)) => {
                let mut line: Vec<String> = line.into_iter().filter(|word| word != "--foreground").collect();
                let numbers = self.interrupts()?;
                line.extend(numbers.iter().map(|(_, number)| format!("--banirq={number}")));
                Some(line)
            }
        };
        self.push(Step::Daemon { name: DAEMON.into(), run });
        Ok(())
    }

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
