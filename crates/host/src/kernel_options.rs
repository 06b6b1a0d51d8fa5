use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::tree::Tree;

/// The options that an ability depends on, without `CONFIG_`.
const OF_INTEREST: [&str; 29] = [
    "BPF_SYSCALL",
    "BRIDGE",
    "CFS_BANDWIDTH",
    "CGROUPS",
    "CPU_FREQ",
    "DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
    "FUNCTION_TRACER",
    "HOTPLUG_SMT",
    "HUGETLBFS",
    "HZ",
    "IFB",
    "IO_URING",
    "KPROBES",
    "KPROBE_EVENTS",
    "NET_CLS_BPF",
    "NET_CLS_U32",
    "NET_NS",
    "NET_RX_BUSY_POLL",
    "NET_SCH_FQ",
    "NET_SCH_HTB",
    "NET_SCH_INGRESS",
    "NET_SCH_NETEM",
    "NET_SCH_TBF",
    "NO_HZ_FULL",
    "RFS_ACCEL",
    "RPS",
    "VETH",
    "X86_CPU_RESCTRL",
    "XPS",
];

/// A configuration is some 250 KiB of text; a longer file is not one.
const LONGEST: u64 = 8 << 20;

/// The kernel's build options of interest: `y`, `m` (a module), a number, or `n`. Empty if neither `/proc/config.gz`
/// nor `/boot/config-RELEASE` can be read.
pub(crate) fn kernel_options(tree: &Tree, release: Option<&str>) -> BTreeMap<String, String> {
    let packed = fs::File::open(tree.at("proc/config.gz")).ok().and_then(|file| {
        let mut text = String::new();
        GzDecoder::new(file).take(LONGEST).read_to_string(&mut text).ok()?;
        Some(text)
    });
    let text = packed.or_else(|| tree.text(format!("boot/config-{}", release?)));
    text.as_deref().map(parse).unwrap_or_default()
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let set = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
        Some((name, value))
    });
    let set: BTreeMap<&str, &str> = set.collect();
    if set.is_empty() {
        return BTreeMap::new();
    }
    let value = |name: &&str| ((*name).to_owned(), (*set.get(name).unwrap_or(&"n")).to_owned());
    OF_INTEREST.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_options() {
        let options =
            parse("#\n# comment\nCONFIG_RPS=y\nCONFIG_VETH=m\n# CONFIG_KPROBES is not set\nCONFIG_HZ=250\n");
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(options.get(name).map(String::as_str), expect, "{name}");
        };
        check("RPS", Some("y"));
        check("VETH", Some("m"));
        check("KPROBES", Some("n"));
        check("HZ", Some("250"));
        check("NOT_OF_INTEREST", None);
        assert!(parse("").is_empty());
        assert!(OF_INTEREST.is_sorted());
    }
}
