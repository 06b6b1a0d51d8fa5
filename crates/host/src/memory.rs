use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// The memory and its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// All memory that the kernel manages.
    pub total_bytes: Option<u64>,
    /// Memory available without swapping.
    pub available_bytes: Option<u64>,
    /// Swap space; 0 means that too little memory ends in a kill rather than in slowness.
    pub swap_bytes: Option<u64>,
    /// The size of a huge page.
    pub huge_page_bytes: Option<u64>,
    /// Huge pages set apart.
    pub huge_pages: Option<u64>,
    /// Free huge pages.
    pub huge_pages_free: Option<u64>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub transparent_huge_pages: Option<String>,
    /// The pools of huge pages, one for each size that the processor offers.
    pub huge_page_pools: Vec<HugePagePool>,
    /// Whether the kernel moves pages towards the processors that use them; each look costs page faults.
    pub numa_balancing: Option<bool>,
}

/// Huge pages of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HugePagePool {
    /// The size of each.
    pub page_bytes: u64,
    /// The number reserved.
    pub pages: u64,
    /// The number free.
    pub free: u64,
}

impl Memory {
    pub(crate) fn read(tree: &Tree) -> Memory {
        let info = |key: &str| tree.field("proc/meminfo", key);
        let bytes = |key: &str| kibibytes(&info(key)?);
        let count = |key: &str| info(key)?.parse().ok();
        Memory {
            total_bytes: bytes("MemTotal"),
            available_bytes: bytes("MemAvailable"),
            swap_bytes: bytes("SwapTotal"),
            huge_page_bytes: bytes("Hugepagesize"),
            huge_pages: count("HugePages_Total"),
            huge_pages_free: count("HugePages_Free"),
            transparent_huge_pages: tree.choice("sys/kernel/mm/transparent_hugepage/enabled"),
            huge_page_pools: pools(tree),
            numa_balancing: tree.value::<u8>("proc/sys/kernel/numa_balancing").map(|on| on != 0),
        }
    }
}

fn pools(tree: &Tree) -> Vec<HugePagePool> {
    const POOLS: &str = "sys/kernel/mm/hugepages";
    let read_one = |name: &String| {
        let kibibytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        Some(HugePagePool {
            page_bytes: kibibytes.checked_mul(1024)?,
            pages: tree.value(format!("{POOLS}/{name}/nr_hugepages"))?,
            free: tree.value(format!("{POOLS}/{name}/free_hugepages")).unwrap_or_default(),
        })
    };
    let mut pools: Vec<HugePagePool> = tree.names(POOLS).iter().filter_map(read_one).collect();
    pools.sort_by_key(|pool| pool.page_bytes);
    pools
}

/// Reads `24684092 kB`; the kernel's kB is 1024 bytes. Source: `proc_meminfo(5)`.
pub(crate) fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_amounts() {
        let check = |text: &str, expect: Option<u64>| assert_eq!(kibibytes(text), expect, "{text}");
        check("24684092 kB", Some(25_276_510_208));
        check("0 kB", Some(0));
        check("7", None);
        check("18446744073709551615 kB", None);
    }
}
