use serde::{Deserialize, Serialize};

use crate::mounts::mounts;
use crate::tree::Tree;

/// The control groups, by which the kernel divides processors and memory; versions 1 and 2 may be mounted side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroups {
    /// The trees of groups that are mounted.
    pub hierarchies: Vec<Hierarchy>,
    /// Controllers that the kernel has and that no mounted tree holds.
    pub unmounted: Vec<String>,
}

/// One tree of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hierarchy {
    /// 1 or 2.
    pub version: u32,
    /// Its mount point.
    pub mount: String,
    /// Its controllers: `cpuset`, `cpu`, `memory`.
    pub controllers: Vec<String>,
    /// Controllers that groups below the root have (version 2: `cgroup.subtree_control`; version 1: all).
    pub delegated: Vec<String>,
}

impl Cgroups {
    pub(crate) fn read(tree: &Tree) -> Cgroups {
        let known = known(&tree.text("proc/cgroups").unwrap_or_default());
        let mut hierarchies: Vec<Hierarchy> = Vec::new();
        for mount in mounts(tree) {
            // A tree mounted twice is one tree.
            let seen = |other: &Hierarchy| other.mount == mount.at;
            if hierarchies.iter().any(seen) {
                continue;
            }
            let (version, controllers, delegated) = match mount.kind.as_str() {
                "cgroup" => {
                    let own: Vec<String> = mount.options.into_iter().filter(|o| known.contains(o)).collect();
                    (1, own.clone(), own)
                }
                "cgroup2" => {
                    let words = |file: &str| tree.words(format!("{}/{file}", mount.at));
                    (2, words("cgroup.controllers"), words("cgroup.subtree_control"))
                }
                _ => continue,
            };
            hierarchies.push(Hierarchy { version, mount: mount.at, controllers, delegated });
        }
        let held = |name: &String| hierarchies.iter().any(|h| h.controllers.contains(name));
        Cgroups { unmounted: known.into_iter().filter(|name| !held(name)).collect(), hierarchies }
    }

    /// The tree that holds `controller`.
    pub fn holding(&self, controller: &str) -> Option<&Hierarchy> {
        self.hierarchies.iter().find(|h| h.controllers.iter().any(|name| name == controller))
    }
}

/// The controllers that are switched on: first word of each row whose last is not 0. Source: `cgroups(7)`.
fn known(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let on = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        (words.len() == 4 && words[3] != "0").then(|| words[0].to_owned())
    };
    rows.filter_map(on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_controllers() {
        let check = |text: &str, expect: &[&str]| assert_eq!(known(text), expect, "{text}");
        check(
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t1\t1\nmemory\t0\t1\t0\n",
            &["cpuset"],
        );
        check("", &[]);
        check("cpu\n", &[]);
    }
}
