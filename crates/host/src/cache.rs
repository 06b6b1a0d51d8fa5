use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use units::CpuList;

/// One kind of processor cache; all of a kind are taken to be alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: String,
    /// The size of each.
    pub size_bytes: u64,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// The number of such caches.
    pub count: usize,
    /// The logical processors that share the first of them.
    pub shared_by: CpuList,
    /// The size of a cache line.
    pub line_bytes: Option<u32>,
}

impl Cache {
    /// One entry for each level and kind, nearest first.
    pub(crate) fn read(tree: &Tree, online: &CpuList) -> Vec<Cache> {
        let mut kinds: BTreeMap<(u32, String), (Cache, Vec<CpuList>)> = BTreeMap::new();
        for cpu in online.as_slice() {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache");
            for index in tree.numbered(&folder, "index") {
                let Some((cache, shared_by)) = read_one(tree, &format!("{folder}/index{index}")) else {
                    continue;
                };
                let key = (cache.level, cache.kind.clone());
                let (first, all) = kinds.entry(key).or_insert_with(|| (cache, Vec::new()));
                if !all.contains(&shared_by) {
                    all.push(shared_by);
                }
                first.count = all.len();
            }
        }
        kinds.into_values().map(|(cache, _)| cache).collect()
    }
}

fn read_one(tree: &Tree, folder: &str) -> Option<(Cache, CpuList)> {
    let shared_by: CpuList = tree.value(format!("{folder}/shared_cpu_list"))?;
    let cache = Cache {
        level: tree.value(format!("{folder}/level"))?,
        kind: tree.text(format!("{folder}/type"))?,
        size_bytes: size_bytes(&tree.text(format!("{folder}/size"))?)?,
        // Some hypervisors say 0 for "unknown".
        ways: tree.value(format!("{folder}/ways_of_associativity")).filter(|&ways| ways > 0),
        count: 0,
        line_bytes: tree.value(format!("{folder}/coherency_line_size")),
        shared_by: shared_by.clone(),
    };
    Some((cache, shared_by))
}

/// Reads `48K`, as the kernel prints sizes.
fn size_bytes(text: &str) -> Option<u64> {
    match text.strip_suffix(['K', 'M']) {
        Some(number) if text.ends_with('K') => Some(number.parse::<u64>().ok()? << 10),
        Some(number) => Some(number.parse::<u64>().ok()? << 20),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes() {
        let check = |text: &str, expect: Option<u64>| assert_eq!(size_bytes(text), expect, "{text}");
        check("48K", Some(49_152));
        check("2M", Some(2_097_152));
        check("512", Some(512));
        check("K", None);
        check("1G", None);
    }
}
