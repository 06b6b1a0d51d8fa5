use serde::{Deserialize, Serialize};

use crate::knob::quantity;

/// How to find a value in the output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Reading {
    /// `tc qdisc show`: the kind of the queueing discipline with this handle, such as `7a11:`.
    Qdisc { handle: String },
    /// `tc qdisc show`, `tc class show`: the rate of the discipline or class with this handle. Units: bits per second.
    Rate { handle: String },
    /// `there` if a line of the output has these words, one after the other, such as `local 198.18.0.0/22`.
    Line { has: String },
    /// `ethtool -l`: combined queues now.
    Channels,
    /// `ethtool -k`: a feature, such as `ntuple-filters`.
    Feature { name: String },
    /// `ethtool -x`: the number of queues over which the table spreads evenly.
    Spread,
    /// `ethtool -n`: port and queue of the rule at this place.
    Rule { place: u32 },
    /// `/proc/swaps`: the priority of this space, or `on` if the kernel chose it.
    Swap { device: String },
}

/// Units of the rates that `tc` prints, in bits per second.
const TC_RATES: &[(&str, u64)] =
    &[("Tbit", 1_000_000_000_000), ("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("Kbit", 1_000), ("bit", 1)];

/// The value of [`Reading::Spread`] for a table that was written by hand.
pub(crate) const UNEVEN: &str = "uneven";

impl Reading {
    /// The value in `text`; `None` if it has no such value.
    pub(crate) fn find(&self, text: &str) -> Option<String> {
        match self {
            Reading::Qdisc { handle } => Some(tc_line(text, handle)?[1].to_owned()),
            Reading::Rate { handle } => {
                let words = tc_line(text, handle)?;
                let at = words.iter().position(|word| *word == "rate")?;
                Some(quantity::read(words.get(at + 1)?, TC_RATES)?.to_string())
            }
            Reading::Line { has } => {
                let words =
                    |text: &str| format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
                text.lines().any(|line| words(line).contains(&words(has))).then(|| "there".into())
            }
            Reading::Channels => {
                let (_, now) = text.split_once("Current hardware settings:")?;
                now.lines().find_map(|line| Some(line.trim().strip_prefix("Combined:")?.trim().to_owned()))
            }
            Reading::Feature { name } => text.lines().find_map(|line| {
                let value = line.trim().strip_prefix(name)?.strip_prefix(':')?;
                value.split_whitespace().next().map(str::to_owned)
            }),
            Reading::Spread => Some(spread(text)?.map_or(UNEVEN.into(), |queues| queues.to_string())),
            Reading::Rule { place } => rule(text, *place),
            Reading::Swap { device } => text.lines().skip(1).find_map(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let on = fields.first() == Some(&device.as_str());
                let priority = fields.last().filter(|p| p.parse::<u32>().is_ok()).copied().unwrap_or("on");
                on.then(|| priority.to_owned())
            }),
        }
    }

    /// Whether two values mean the same: `tc` rounds rates for reading.
    pub(crate) fn same(&self, found: &str, expected: &str) -> bool {
        match (self, found.parse::<f64>(), expected.parse::<f64>()) {
            (Reading::Rate { .. }, Ok(found), Ok(expected)) => (found - expected).abs() <= expected * 1e-3,
            _ => found == expected,
        }
    }

    /// Why a value that was found could not be restored.
    pub(crate) fn cannot_restore(&self, before: Option<&str>) -> Option<&'static str> {
        match (self, before) {
            (Reading::Spread, Some(UNEVEN)) => {
                Some("the card's table was set by hand, and could not be reverted")
            }
            (Reading::Rule { .. }, Some(_)) => Some("the card has a rule at this place already"),
            (Reading::Qdisc { .. } | Reading::Rate { .. }, Some(_)) => {
                Some("the device has a discipline of this handle already")
            }
            _ => None,
        }
    }
}

/// The words of `qdisc htb 7a11: root …`.
fn tc_line<'a>(text: &'a str, handle: &str) -> Option<Vec<&'a str>> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.into_iter().find(|words| words.get(2) == Some(&handle))
}

/// The queues of an indirection table, if entry i is i modulo their number; `None` inside: it is another table.
fn spread(text: &str) -> Option<Option<usize>> {
    let rows = text.lines().skip_while(|line| !line.contains("indirection table")).skip(1);
    let mut table: Vec<usize> = Vec::new();
    for line in rows.take_while(|line| line.trim().starts_with(|c: char| c.is_ascii_digit())) {
        let (_, entries) = line.split_once(':')?;
        table.extend(entries.split_whitespace().map_while(|entry| entry.parse::<usize>().ok()));
    }
    let queues = table.iter().max()?.checked_add(1)?;
    Some(table.iter().enumerate().all(|(i, queue)| i % queues == *queue).then_some(queues))
}

fn rule(text: &str, place: u32) -> Option<String> {
    let rules = text.split("Filter:").skip(1);
    let found = rules.into_iter().find(|rule| rule.trim_start().lines().next() == Some(&place.to_string()));
    let field = |name: &str| {
        let after = found?.split_once(name)?.1.trim_start();
        Some(after.chars().take_while(char::is_ascii_digit).collect::<String>())
    };
    found?;
    Some(format!("{}:{}", field("Dest port:").unwrap_or_default(), field("queue").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QDISCS: &str = "\
qdisc noqueue 0: dev lo root refcnt 2
qdisc htb 7a11: root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000
qdisc tbf 7a12: root refcnt 2 rate 9570Kbit burst 128Kb lat 50ms
";
    const CHANNELS: &str = "\
Channel parameters for eth0:
Pre-set maximums:
RX:\t\tn/a
Combined:\t63
Current hardware settings:
RX:\t\tn/a
Combined:\t8
";
    const TABLE: &str = "\
RX flow hash indirection table for eth0 with 8 RX ring(s):
    0:      0     1     2     3     0     1     2     3
    8:      0     1     2     3     0     1     2     3
RSS hash key:
Operation not supported
";
    const RULES: &str = "\
8 RX rings available
Total 1 rules

Filter: 100
\tRule Type: TCP over IPv4
\tSrc port: 0 mask: 0xffff
\tDest port: 11211 mask: 0x0
\tAction: Direct to queue 3
";

    #[test]
    fn finds_values() {
        let check = |reading: Reading, text: &str, expect: Option<&str>| {
            assert_eq!(reading.find(text).as_deref(), expect, "{reading:?}");
        };
        let handle = |text: &str| text.to_owned();
        check(Reading::Qdisc { handle: handle("7a11:") }, QDISCS, Some("htb"));
        check(Reading::Qdisc { handle: handle("7a13:") }, QDISCS, None);
        check(Reading::Rate { handle: handle("7a12:") }, QDISCS, Some("9570000"));
        let class = "class htb 7a11:1 root prio 0 rate 1Gbit ceil 1Gbit burst 125000b cburst 125000b\n";
        check(Reading::Rate { handle: handle("7a11:1") }, class, Some("1000000000"));
        check(Reading::Rate { handle: handle("7a11:1") }, "class htb 7a11:1 root rate lots\n", None);
        let line = |has: &str| Reading::Line { has: has.into() };
        check(line("tbf 7a12:"), QDISCS, Some("there"));
        check(line("tbf 7a1"), QDISCS, None);
        check(line("x"), "", None);
        check(Reading::Channels, CHANNELS, Some("8"));
        check(Reading::Channels, "", None);
        let ntuple = || Reading::Feature { name: "ntuple-filters".into() };
        check(ntuple(), "Features for eth0:\nntuple-filters: off [fixed]\n", Some("off"));
        check(ntuple(), "rx-checksumming: on\n", None);
        check(Reading::Spread, TABLE, Some("4"));
        check(Reading::Spread, &TABLE.replace("3\n", "0\n"), Some("uneven"));
        check(Reading::Spread, "no such thing", None);
        check(Reading::Rule { place: 100 }, RULES, Some("11211:3"));
        check(Reading::Rule { place: 10 }, RULES, None);
        let swaps = "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n/swap file 1 0 5\n";
        check(Reading::Swap { device: "/dev/sda2".into() }, swaps, Some("on"));
        check(Reading::Swap { device: "/swap".into() }, swaps, Some("5"));
        check(Reading::Swap { device: "/dev/sdb".into() }, swaps, None);
    }

    #[test]
    fn reads_rates() {
        let check =
            |text: &str, expect: Option<u64>| assert_eq!(quantity::read(text, TC_RATES), expect, "{text}");
        check("1Gbit", Some(1_000_000_000));
        check("800bit", Some(800));
        check("1500Kbit", Some(1_500_000));
        check("bit", None);
        check("ébit", None);
        check("1Xbit", None);
    }

    #[test]
    fn compares_rates_as_tc_rounds_them() {
        let check = |a: &str, b: &str, same: bool| {
            assert_eq!(Reading::Rate { handle: "1:".into() }.same(a, b), same, "{a} {b}");
        };
        check("9570000", "9570123", true);
        check("9570000", "9600000", false);
        check("x", "x", true);
    }
}
