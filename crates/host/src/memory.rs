use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// The memory and its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// All that the kernel has.
    pub total_bytes: Option<u64>,
    /// What can be had without swapping.
    pub available_bytes: Option<u64>,
    /// Swap space; 0 means that too little memory ends in a kill rather than in slowness.
    pub swap_bytes: Option<u64>,
    /// The size of a huge page.
    pub huge_page_bytes: Option<u64>,
    /// Huge pages set apart.
    pub huge_pages: Option<u64>,
    /// Those of them that nobody uses.
    pub huge_pages_free: Option<u64>,
    /// When the kernel makes huge pages by itself: `always`, `madvise`, `never`.
    pub transparent_huge_pages: Option<String>,
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
        }
    }
}

/// Reads `24684092 kB`, where the kernel's kB is 1024 bytes. Source: `proc_meminfo(5)`.
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
