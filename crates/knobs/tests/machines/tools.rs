//! Stand-ins for the programs that knobs run: `tc`, `ethtool`, `swapon`. Their state is in files.

use std::fs;
use std::io;
use std::path::Path;

/// Their output before any change.
const QDISC: &str = "qdisc mq 0: root";
const FILES: &[(&str, &str)] = &[
    ("qdiscs", QDISC),
    ("classes", ""),
    ("channels", "8"),
    ("spread", "8"),
    ("ntuple", "off"),
    ("rules", ""),
];

pub(crate) fn plant(root: &Path) {
    fs::create_dir_all(root.join("played/msr")).unwrap();
    for (name, text) in FILES {
        fs::write(root.join("played").join(name), text).unwrap();
    }
}

pub(crate) fn only_shows(words: &[&str]) -> bool {
    matches!(words, ["tc", _, "show", ..] | ["ethtool", "-l" | "-x" | "-k" | "-n", _] | ["cat", _])
}

pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<String> {
    let file = |name: &str| root.join("played").join(name);
    let read = |name: &str| fs::read_to_string(file(name)).unwrap();
    let set = |name: &str, text: &str| fs::write(file(name), text).map(|()| String::new());
    let refuse = || Err(io::Error::other(format!("{words:?} is refused")));
    match words {
        ["tc", "qdisc", "show", ..] => Ok(format!("{}\n", read("qdiscs"))),
        ["tc", "class", "show", ..] => Ok(format!("{}\n", read("classes"))),
        ["tc", "qdisc", "add", ..] if read("qdiscs") != QDISC => refuse(),
        ["tc", "qdisc", "add", "dev", _, "root", "handle", handle, "htb", ..] => {
            set("qdiscs", &format!("qdisc htb {handle} root refcnt 9 r2q 10"))
        }
        ["tc", "qdisc", "add", "dev", _, "root", "handle", handle, "tbf", "rate", rate, ..] => {
            set("qdiscs", &format!("qdisc tbf {handle} root refcnt 9 rate {}", rounded(rate)))
        }
        ["tc", "qdisc", "del", ..] if read("qdiscs") == QDISC => refuse(),
        ["tc", "qdisc", "del", ..] => set("classes", "").and_then(|_| set("qdiscs", QDISC)),
        ["tc", "class", "add", "dev", _, "parent", _, "classid", class, "htb", "rate", rate, ..] => {
            set("classes", &format!("class htb {class} root prio 0 rate {}", rounded(rate)))
        }
        ["tc", "class", "del", ..] => set("classes", ""),
        ["ethtool", "-l", _] => Ok(format!(
            "Pre-set maximums:\nCombined:\t63\nCurrent hardware settings:\nCombined:\t{}\n",
            read("channels")
        )),
        ["ethtool", "-L", _, "combined", n] => set("channels", n),
        ["ethtool", "-x", _] => {
            let queues: usize = read("spread").parse().unwrap();
            let row = |row: usize| {
                let entries: String = (0..8).map(|i| format!(" {:>5}", (row * 8 + i) % queues)).collect();
                format!("{:>5}: {entries}\n", row * 8)
            };
            let rows: String = (0..16).map(row).collect();
            Ok(format!(
                "RX flow hash indirection table for eth0 with 8 RX ring(s):\n{rows}RSS hash key:\n00\n"
            ))
        }
        ["ethtool", "-X", _, "equal", n] => set("spread", n),
        ["ethtool", "-k", _] => Ok(format!("Features for eth0:\nntuple-filters: {}\n", read("ntuple"))),
        ["ethtool", "-K", _, "ntuple", word] => set("ntuple", word),
        ["ethtool", "-n", _] => Ok(read("rules")),
        ["ethtool", "-N", _, "flow-type", "tcp4", "dst-port", port, "action", queue, "loc", place] => {
            let rule = format!(
                "Filter: {place}\n\tDest port: {port} mask: 0x0\n\tAction: Direct to queue {queue}\n"
            );
            set("rules", &format!("{}{rule}", read("rules")))
        }
        ["ethtool", "-N", _, "delete", place] => {
            let all = read("rules");
            let others = all.split_inclusive("Filter: ").collect::<String>();
            let rest: String = others
                .split("Filter: ")
                .filter(|rule| !rule.is_empty() && rule.lines().next() != Some(place))
                .map(|rule| format!("Filter: {rule}"))
                .collect();
            set("rules", &rest)
        }
        ["cat", path] => fs::read_to_string(root.join(path.trim_start_matches('/'))),
        ["swapoff", device] => swap(root, device, None),
        ["swapon", device] => swap(root, device, Some("-2")),
        ["swapon", priority, device] => swap(root, device, priority.strip_prefix("--priority=")),
        _ => panic!("no fake for {words:?}"),
    }
}

fn swap(root: &Path, device: &str, priority: Option<&str>) -> io::Result<String> {
    let path = root.join("proc/swaps");
    let text = fs::read_to_string(&path)?;
    let rest: String =
        text.lines().filter(|line| !line.starts_with(device)).map(|line| format!("{line}\n")).collect();
    let own = priority.map_or(String::new(), |priority| format!("{device} partition 8388604 0 {priority}\n"));
    fs::write(path, format!("{rest}{own}")).map(|()| String::new())
}

/// Rates as `tc` prints them: in the largest unit that leaves a whole number.
fn rounded(rate: &str) -> String {
    let bits: u64 = rate.strip_suffix("bit").unwrap().parse().unwrap();
    match bits {
        n if n.is_multiple_of(1_000_000_000) => format!("{}Gbit", n / 1_000_000_000),
        n if n.is_multiple_of(1_000_000) => format!("{}Mbit", n / 1_000_000),
        n if n.is_multiple_of(1_000) => format!("{}Kbit", n / 1_000),
        n => format!("{n}bit"),
    }
}
