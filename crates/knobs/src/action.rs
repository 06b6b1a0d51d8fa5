use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Namespace, Reading, State, Syntax};

/// One change of the host, as plain data: it can be printed, stored in a journal, and undone from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// The knob that it serves, as a reader writes it.
    #[serde(alias = "setting")]
    pub knob: String,
    /// The change.
    pub step: Step,
    /// Whether it goes with a folder that an earlier action made, so that it needs no revert of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scratch: bool,
}

/// A change that the engine can make, read back and undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the other fields are their names")]
pub enum Step {
    /// Writes a value into a kernel file. Undone by writing its previous text.
    Write {
        file: PathBuf,
        value: String,
        /// How to compare two readings of the file.
        #[serde(rename = "form")]
        syntax: Syntax,
        /// The network namespace in which the file is opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<Namespace>,
    },
    /// Makes a folder: a control group. Undone by removing it.
    Directory { path: PathBuf },
    /// Hands a controller to the groups below (`cgroup.subtree_control`). Undone by taking it back.
    Enable { file: PathBuf, word: String },
    /// Moves processes into a control group. Undone by moving each back into its previous group, and the processes
    /// started since into the group of the first.
    Move {
        pids: Vec<u32>,
        /// The mount point of the hierarchy.
        mount: PathBuf,
        /// The controller that names the hierarchy in `/proc/PID/cgroup`; empty in cgroup v2.
        controller: String,
        /// The group, from the mount on: `/taillight`.
        group: String,
    },
    /// Puts all threads of processes into the resctrl group of a folder. They leave it with the group.
    Tasks { pids: Vec<u32>, group: PathBuf },
    /// Runs a command, whose effect another command shows.
    Tool {
        show: Vec<String>,
        /// Finds the value in the output of `show`.
        reading: Reading,
        /// Sets the value; `{}` is its placeholder.
        set: Vec<String>,
        /// Removes the thing.
        unset: Vec<String>,
        /// The value; `None`: the thing must not exist.
        want: Option<String>,
        /// The network namespace that it runs in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<Namespace>,
    },
    /// Writes a model-specific register.
    Register { cpu: usize, register: u32, value: u64 },
    /// Paces connections that are accepted below the control group of a folder, each by its client's address. Undone by
    /// detaching the program that does it.
    Pace { group: PathBuf },
    /// Runs a daemon with a command line, or stops it (`None`).
    Daemon { name: String, run: Option<Vec<String>> },
}

impl Action {
    /// The equivalent shell command.
    pub fn typed(&self) -> String {
        match &self.step {
            Step::Write { file, value, namespace, .. } => {
                within(namespace.as_ref(), &format!("echo {} > {}", quoted(value), file.display()), true)
            }
            Step::Directory { path } => format!("mkdir {}", path.display()),
            Step::Enable { file, word } => format!("echo +{word} > {}", file.display()),
            Step::Move { pids, mount, group, .. } => {
                into_file(pids, &below(mount, group).join("cgroup.procs"), "$pid", "")
            }
            Step::Tasks { pids, group } => {
                into_file(pids, &group.join("tasks"), "$tid", "for tid in $(ls /proc/$pid/task); do ")
            }
            Step::Tool { set, unset, want, namespace, .. } => {
                let words: Vec<String> =
                    command(set, unset, want.as_deref()).iter().map(|word| in_shell(word)).collect();
                within(namespace.as_ref(), &words.join(" "), false)
            }
            Step::Register { cpu, register, value } => format!("wrmsr -p {cpu} {register:#x} {value:#x}"),
            Step::Pace { group } => {
                format!("bpftool cgroup attach {} sock_ops name taillight_pace multi", group.display())
            }
            Step::Daemon { name, run: None } => format!("systemctl stop {name}"),
            Step::Daemon { name, run: Some(run) } => format!("systemctl stop {name}; {}", run.join(" ")),
        }
    }

    /// The command that reads it back.
    pub fn read_back(&self) -> String {
        match &self.step {
            Step::Write { file, namespace, .. } => {
                within(namespace.as_ref(), &format!("cat {}", file.display()), true)
            }
            Step::Directory { path } => format!("ls -d {}", path.display()),
            Step::Enable { file, .. } => format!("cat {}", file.display()),
            Step::Move { pids, .. } => match pids.as_slice() {
                [pid] => format!("cat /proc/{pid}/cgroup"),
                _ => "cat /proc/$pid/cgroup".into(),
            },
            Step::Tasks { group, .. } => format!("cat {}", group.join("tasks").display()),
            Step::Tool { show, namespace, .. } => within(namespace.as_ref(), &show.join(" "), false),
            Step::Register { cpu, register, .. } => format!("rdmsr -p {cpu} {register:#x}"),
            Step::Pace { group } => format!("bpftool cgroup list {}", group.display()),
            Step::Daemon { name, .. } => format!("pgrep -a {name}"),
        }
    }

    /// Why the state `before` could not be restored, so that the action is refused.
    pub(crate) fn cannot_restore(&self, before: &State) -> Option<String> {
        match &self.step {
            Step::Tool { show, unset, .. } if before.is_none() && unset.is_empty() && !self.scratch => {
                Some(format!("`{}` does not say what is set now", show.join(" ")))
            }
            step => step.cannot_restore(before),
        }
    }

    /// How to undo it, in words.
    pub fn undone(&self) -> String {
        if self.scratch {
            return "goes with the folder".into();
        }
        match &self.step {
            Step::Write { .. } | Step::Register { .. } => "the value before is written".into(),
            Step::Directory { path } => format!("rmdir {}", path.display()),
            Step::Enable { file, word } => format!("echo -{word} > {}", file.display()),
            Step::Move { .. } => "each process goes back into its group".into(),
            Step::Tasks { .. } => "goes with the group".into(),
            Step::Tool { set, unset, .. } if unset.is_empty() => {
                format!("{} with the value before", set.join(" "))
            }
            Step::Tool { unset, want: Some(_), .. } => unset.join(" "),
            Step::Tool { set, want: None, .. } => set.join(" "),
            Step::Pace { .. } => "the program is detached".into(),
            Step::Daemon { .. } => "it runs again as before".into(),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.typed())
    }
}

/// `group` below `mount`; a group begins with a slash.
pub(crate) fn below(mount: &Path, group: &str) -> PathBuf {
    mount.join(group.trim_start_matches('/'))
}

/// The command that sets a value.
pub(crate) fn command(set: &[String], unset: &[String], value: Option<&str>) -> Vec<String> {
    let Some(value) = value else { return unset.to_vec() };
    let fill = |word: &String| match word.as_str() {
        // The kernel's own priorities are negative, and cannot be set. Source: swapon(2).
        "{priority}" => value.parse::<u32>().ok().map(|priority| format!("--priority={priority}")),
        _ => Some(word.replace("{}", value)),
    };
    set.iter().filter_map(fill).collect()
}

fn into_file(pids: &[u32], file: &Path, what: &str, inner: &str) -> String {
    let file = file.display();
    let end = if inner.is_empty() { "" } else { "; done" };
    match pids {
        [pid] if inner.is_empty() => format!("echo {pid} > {file}"),
        _ => {
            let pids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            format!("for pid in {pids}; do {inner}echo {what} > {file}{end}; done")
        }
    }
}

fn within(namespace: Option<&Namespace>, line: &str, needs_shell: bool) -> String {
    let Some(namespace) = namespace else { return line.to_owned() };
    let shell = if needs_shell { format!("sh -c '{line}'") } else { line.to_owned() };
    match namespace.name() {
        Some(name) => format!("ip netns exec {name} {shell}"),
        None => format!("nsenter --net={} {shell}", namespace.file.display()),
    }
}

/// A word of a command, as a shell takes it for one.
fn in_shell(word: &str) -> String {
    if word.contains(char::is_whitespace) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.into()
    }
}

fn quoted(value: &str) -> String {
    let value = value.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:=/+".contains(c);
    if !value.is_empty() && value.chars().all(plain) { value.into() } else { format!("\"{value}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn is_shown_as_it_would_be_typed() {
        let check = |step: Step, expect: [&str; 3]| {
            let action = Action { knob: "x=1".into(), step, scratch: false };
            assert_eq!([action.typed(), action.read_back(), action.undone()], expect);
        };
        let write = |value: &str, namespace| Step::Write {
            file: "/proc/sys/a/b".into(),
            value: value.into(),
            syntax: Syntax::Text,
            namespace,
        };
        let before = "the value before is written";
        check(write("1", None), ["echo 1 > /proc/sys/a/b", "cat /proc/sys/a/b", before]);
        check(write("1 2\n", None), ["echo \"1 2\" > /proc/sys/a/b", "cat /proc/sys/a/b", before]);
        let named = Namespace { file: "/run/netns/a".into(), inode: 1 };
        check(
            write("1", Some(named)),
            [
                "ip netns exec a sh -c 'echo 1 > /proc/sys/a/b'",
                "ip netns exec a sh -c 'cat /proc/sys/a/b'",
                before,
            ],
        );
        let tool = Step::Tool {
            show: words("tc qdisc show dev d"),
            reading: Reading::Qdisc { handle: "1:".into() },
            set: words("tc qdisc add dev d root handle 1: {}"),
            unset: words("tc qdisc del dev d root"),
            want: Some("htb".into()),
            namespace: Some(Namespace { file: "/proc/7/ns/net".into(), inode: 1 }),
        };
        check(
            tool,
            [
                "nsenter --net=/proc/7/ns/net tc qdisc add dev d root handle 1: htb",
                "nsenter --net=/proc/7/ns/net tc qdisc show dev d",
                "tc qdisc del dev d root",
            ],
        );
        check(
            Step::Move {
                pids: vec![7, 8],
                mount: "/c".into(),
                controller: String::new(),
                group: "/t".into(),
            },
            [
                "for pid in 7 8; do echo $pid > /c/t/cgroup.procs; done",
                "cat /proc/$pid/cgroup",
                "each process goes back into its group",
            ],
        );
        check(
            Step::Tasks { pids: vec![7], group: "/r/t".into() },
            [
                "for pid in 7; do for tid in $(ls /proc/$pid/task); do echo $tid > /r/t/tasks; done; done",
                "cat /r/t/tasks",
                "goes with the group",
            ],
        );
        check(
            Step::Register { cpu: 2, register: 0xc91, value: 15 },
            ["wrmsr -p 2 0xc91 0xf", "rdmsr -p 2 0xc91", before],
        );
    }

    #[test]
    fn fills_in_values() {
        let check = |set: &str, value: Option<&str>, expect: &str| {
            assert_eq!(command(&words(set), &words("off"), value).join(" "), expect);
        };
        check("a {} b{}", Some("1"), "a 1 b1");
        check("a {}", None, "off");
        check("swapon {priority} /dev/x", Some("5"), "swapon --priority=5 /dev/x");
        check("swapon {priority} /dev/x", Some("on"), "swapon /dev/x");
    }
}
