use std::fs;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use units::CpuList;

use crate::config::list;

/// Which processors to leave to interrupts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The processors with interrupts in `/proc/interrupts`.
    Busy,
    Listed(Vec<usize>),
}

/// A processor serves interrupts if it took at least one in this many device interrupts. If they are spread over a
/// whole large machine each processor takes fewer; if they are bound to some, those take far more.
const ONE_IN: u64 = 20;

impl FromStr for Leave {
    type Err = units::ParseError;

    fn from_str(text: &str) -> Result<Leave, units::ParseError> {
        match text {
            "auto" => Ok(Leave::Busy),
            list => list.parse().map(|cpus: CpuList| Leave::Listed(cpus.as_slice().to_vec())),
        }
    }
}

impl Leave {
    /// The processors of `cpus` that remain.
    ///
    /// Errors: none remain.
    pub(crate) fn take_from(&self, cpus: &[usize]) -> Result<Vec<usize>> {
        let leave = match self {
            Leave::Listed(cpus) => cpus.clone(),
            Leave::Busy => {
                let text = fs::read_to_string("/proc/interrupts").context("cannot read /proc/interrupts")?;
                busy(&text)
            }
        };
        let left: Vec<usize> = cpus.iter().copied().filter(|cpu| !leave.contains(cpu)).collect();
        ensure!(
            !left.is_empty(),
            "--no-irq-cpus leaves no processor to run on: {} serve interrupts; bind interrupts to fewer, or name \
             those to leave out: --no-irq-cpus=0",
            list(&leave)
        );
        Ok(left)
    }
}

/// The processors that take the interrupts of devices, by the text of `/proc/interrupts`.
///
/// Shape of the text: a line of `CPUn` for each processor, then for each interrupt its name, a count per processor, and
/// words. Only interrupts with a number belong to devices; the others are timers and calls between processors, which
/// every processor takes.
fn busy(text: &str) -> Vec<usize> {
    let mut lines = text.lines();
    let heads = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<usize> = heads.filter_map(|head| head.strip_prefix("CPU")?.parse().ok()).collect();
    let mut counts = vec![0u64; cpus.len()];
    for line in lines {
        let Some((name, rest)) = line.split_once(':') else { continue };
        if name.trim().parse::<u32>().is_err() {
            continue;
        }
        for (sum, count) in counts.iter_mut().zip(rest.split_whitespace()) {
            *sum += count.parse::<u64>().unwrap_or(0);
        }
    }
    let all: u64 = counts.iter().sum();
    let takes = |count: u64| count > 0 && count.saturating_mul(ONE_IN) >= all;
    cpus.into_iter().zip(counts).filter_map(|(cpu, count)| takes(count).then_some(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_who_takes_the_interrupts_of_devices() {
        let check = |text: &str, expect: &[usize]| assert_eq!(busy(text), expect);
        check(
            "            CPU0       CPU1       CPU2       CPU4\n\
             \x20  1:          9          0          0          0   IO-APIC    1-edge      i8042\n\
             \x20 24:          0      90000          0        500   PCI-MSI 1-edge      eth0-TxRx-0\n\
             \x20 25:          0          0          0      70000   PCI-MSI 2-edge      eth0-TxRx-1\n\
             LOC:    1000000    1000000    1000000    1000000   Local timer interrupts\n\
             ERR:          0\n",
            &[1, 4],
        );
        check("  CPU0 CPU1\n NMI: 5 5 Non-maskable interrupts\n", &[]);
        check("", &[]);
        check("CPU0\n 7: x\n 8\n", &[]);
    }

    #[test]
    fn takes_them_out_of_the_set() {
        let listed: Leave = "0-1,3".parse().unwrap();
        assert_eq!(listed.take_from(&[0, 1, 2, 3, 4]).unwrap(), [2, 4]);
        let error = listed.take_from(&[1]).unwrap_err().to_string();
        assert!(error.contains("leaves no processor to run on: 0,1,3 serve interrupts"), "{error}");
        assert_eq!("auto".parse::<Leave>().unwrap(), Leave::Busy);
        assert!("x".parse::<Leave>().is_err());
    }
}
