use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use units::CpuList;

/// The interrupts of devices, and irqbalance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interrupts {
    /// All that a driver has requested, by number.
    pub all: Vec<Interrupt>,
    /// Whether the daemon irqbalance runs, which moves interrupts. `None` if processes are not visible.
    pub irqbalance: Option<bool>,
    /// The default affinity of interrupts without one of their own.
    pub default_affinity: Option<CpuList>,
}

/// One interrupt of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interrupt {
    /// Its number, as in `/proc/irq/NUMBER`.
    pub number: u32,
    /// The driver's name for it: `eth0-TxRx-3`, `virtio2-input.0`.
    pub name: String,
    /// Its count since boot, over all processors.
    pub count: u64,
    /// The processors that may take it (`smp_affinity_list`).
    pub affinity: CpuList,
    /// The processors that take it: many controllers use only one.
    pub effective: CpuList,
}

impl Interrupts {
    pub(crate) fn read(tree: &Tree, running: Option<&BTreeSet<String>>) -> Interrupts {
        let mut all = parse(&tree.text("proc/interrupts").unwrap_or_default());
        for interrupt in &mut all {
            let folder = format!("proc/irq/{}", interrupt.number);
            interrupt.affinity = tree.value(format!("{folder}/smp_affinity_list")).unwrap_or_default();
            interrupt.effective = tree.value(format!("{folder}/effective_affinity_list")).unwrap_or_default();
        }
        Interrupts {
            all,
            irqbalance: running.map(|names| names.contains("irqbalance")),
            default_affinity: tree.mask("proc/irq/default_smp_affinity"),
        }
    }

    /// The interrupt with this number.
    pub fn number(&self, number: u32) -> Option<&Interrupt> {
        self.all.iter().find(|interrupt| interrupt.number == number)
    }
}

/// The numbered rows of `/proc/interrupts`; rows with letters (`NMI`, `LOC`) belong to no device.
fn parse(text: &str) -> Vec<Interrupt> {
    let mut lines = text.lines();
    let processors = lines.next().unwrap_or_default().split_whitespace().count();
    lines.filter_map(|line| row(line, processors)).collect()
}

/// Reads ` 38:  0  47708  PCI-MSIX-0000:00:03.0  1-edge  virtio2-input.0`: counts, controller, line and trigger, name.
fn row(line: &str, processors: usize) -> Option<Interrupt> {
    let (number, rest) = line.split_once(':')?;
    let number = number.trim().parse().ok()?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (counts, described) = words.split_at_checked(processors)?;
    let count =
        counts.iter().try_fold(0_u64, |sum, word| Some(sum.saturating_add(word.parse::<u64>().ok()?)))?;
    // Arm writes the trigger as a separate word, x86 after the line's number.
    let trigger = described.iter().position(|word| {
        let last = word.rsplit('-').next().unwrap_or(word);
        ["edge", "level", "fasteoi"].iter().any(|name| last.eq_ignore_ascii_case(name))
    });
    let name = described.get(trigger.map_or(described.len().saturating_sub(1), |at| at + 1)..)?.join(" ");
    (!name.is_empty()).then(|| Interrupt { number, name, count, ..Interrupt::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_rows_of_devices() {
        let check = |line: &str, expect: Option<(u32, &str, u64)>| {
            let found = parse(&format!("           CPU0       CPU1\n{line}\n"));
            let found = found.first().map(|i| (i.number, i.name.as_str(), i.count));
            assert_eq!(found, expect, "{line}");
        };
        check(" 24:    1    0  IO-APIC   5-edge      ACPI:Ged", Some((24, "ACPI:Ged", 1)));
        check(
            " 38:    2    3  PCI-MSIX-0000:00:03.0   1-edge  virtio2-input.0",
            Some((38, "virtio2-input.0", 5)),
        );
        check(
            " 16:    0    7  IO-APIC  16-fasteoi  ehci_hcd, i801_smbus",
            Some((16, "ehci_hcd, i801_smbus", 7)),
        );
        check(" 47:    1    1  ITS-MSI 1572865 Edge  eth0-rxtx-0", Some((47, "eth0-rxtx-0", 2)));
        check("  3:    1    1  XT-PIC  serial", Some((3, "serial", 2)));
        // No driver, no name.
        check(" 40:    0    0  ITS-MSI 7 Edge", None);
        check("NMI:    0    0  Non-maskable interrupts", None);
        check("ERR:    0", None);
        check(" 41:    x    0  IO-APIC 5-edge a", None);
        check(" 42:    1", None);
        check("", None);
    }
}
