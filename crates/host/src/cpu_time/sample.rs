use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Processor time by use. Units: ticks, see [`super::ticks_per_second`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Time in processes, in user mode and in system calls.
    pub process: u64,
    /// Time in interrupts, hard and soft.
    pub interrupt: u64,
    /// Doing nothing, with or without waiting for a disk.
    pub idle: u64,
    /// The part of idle time with a process waiting for a disk.
    pub disk: u64,
    /// Ready to run while the hypervisor ran another guest.
    pub steal: u64,
}

impl Ticks {
    /// The sum of all uses.
    pub fn all(&self) -> u64 {
        self.process + self.interrupt + self.idle + self.steal
    }

    /// Both together.
    pub fn plus(self, other: Ticks) -> Ticks {
        self.with(other, u64::saturating_add)
    }

    /// The difference since `earlier`; 0 for a counter that ran backwards, as the kernel's idle time may.
    pub fn since(self, earlier: Ticks) -> Ticks {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(self, other: Ticks, both: impl Fn(u64, u64) -> u64) -> Ticks {
        Ticks {
            process: both(self.process, other.process),
            interrupt: both(self.interrupt, other.interrupt),
            idle: both(self.idle, other.idle),
            disk: both(self.disk, other.disk),
            steal: both(self.steal, other.steal),
        }
    }
}

/// The counters of all processors at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// By number of the processor.
    pub cpus: BTreeMap<usize, Ticks>,
}

impl Sample {
    /// Reads `proc/stat` below `root`. Cost: about 12 µs on a machine of two processors.
    pub fn read(root: &Path) -> io::Result<Sample> {
        Ok(Sample::parse(&fs::read_to_string(root.join("proc/stat"))?))
    }

    /// Reads the text of `/proc/stat`. Source: `proc_stat(5)`; guest time is contained in user time.
    pub(crate) fn parse(stat: &str) -> Sample {
        let cpu = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split(' ');
            // In the summary line a space follows `cpu` instead of a number.
            let cpu: usize = words.next()?.parse().ok()?;
            let counts: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            // In order: user, nice, system, idle, iowait, irq, softirq, steal; old kernels lack the last ones.
            let sum = |fields: &[usize]| fields.iter().filter_map(|&i| counts.get(i)).sum();
            let ticks = Ticks {
                process: sum(&[0, 1, 2]),
                interrupt: sum(&[5, 6]),
                idle: sum(&[3, 4]),
                disk: sum(&[4]),
                steal: sum(&[7]),
            };
            Some((cpu, ticks))
        };
        Sample { cpus: stat.lines().filter_map(cpu).collect() }
    }

    /// The sum over all processors.
    pub fn total(&self) -> Ticks {
        self.cpus.values().fold(Ticks::default(), |sum, ticks| sum.plus(*ticks))
    }

    /// The time of each processor since `earlier`, summed over the processors that were online at both moments.
    pub fn since(&self, earlier: &Sample) -> Ticks {
        self.since_on(earlier, |_| true)
    }

    /// The same of the processors that `counts` names.
    pub fn since_on(&self, earlier: &Sample, counts: impl Fn(usize) -> bool) -> Ticks {
        let asked = self.cpus.iter().filter(|(cpu, _)| counts(**cpu));
        let both = asked.filter_map(|(cpu, now)| Some(now.since(*earlier.cpus.get(cpu)?)));
        both.fold(Ticks::default(), Ticks::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  30 3 300 3000 30 3 15 6 0 0\n\
                        cpu0 10 1 100 1000 10 1 5 2 7 0\n\
                        cpu1 20 2 200 2000 20 2 10 4 0 0\nintr 5\n";

    fn ticks(process: u64, interrupt: u64, idle: u64, disk: u64, steal: u64) -> Ticks {
        Ticks { process, interrupt, idle, disk, steal }
    }

    fn sample(cpus: &[Ticks]) -> Sample {
        Sample { cpus: cpus.iter().copied().enumerate().collect() }
    }

    #[test]
    fn reads_the_counters_of_each_processor() {
        let check = |text: &str, expect: &[Ticks]| assert_eq!(Sample::parse(text), sample(expect));
        check(STAT, &[ticks(111, 6, 1010, 10, 2), ticks(222, 12, 2020, 20, 4)]);
        check("cpu0 1 2 3 4\n", &[ticks(6, 0, 4, 0, 0)]);
        check("", &[]);
        assert_eq!(Sample::parse(STAT).total(), ticks(333, 18, 3030, 30, 6));
    }

    #[test]
    fn some_processors_are_told_from_the_others() {
        let before = sample(&[ticks(1, 1, 10, 0, 0), ticks(2, 2, 20, 0, 0), ticks(0, 0, 0, 0, 0)]);
        let after = sample(&[ticks(5, 1, 16, 0, 0), ticks(2, 4, 25, 0, 3), ticks(9, 0, 1, 0, 0)]);
        let check = |cpus: &[usize], expect: Ticks| {
            assert_eq!(after.since_on(&before, |cpu| cpus.contains(&cpu)), expect, "{cpus:?}");
        };
        check(&[0], ticks(4, 0, 6, 0, 0));
        check(&[1, 7], ticks(0, 2, 5, 0, 3));
        check(&[], Ticks::default());
        check(&[0, 1, 2], after.since(&before));
    }
}
