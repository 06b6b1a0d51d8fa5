use std::collections::BTreeSet;

use crate::tree::Tree;

/// The names of all processes, as the kernel keeps them (15 bytes); `None` if no process is visible.
///
/// Cost: one file for each process.
pub(crate) fn running(tree: &Tree) -> Option<BTreeSet<String>> {
    let names: BTreeSet<String> =
        tree.numbered("proc", "").iter().filter_map(|pid| tree.text(format!("proc/{pid}/comm"))).collect();
    (!names.is_empty()).then_some(names)
}
