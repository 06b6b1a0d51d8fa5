//! Fates of the slots in the processor's pipeline, if the kernel names the events: Intel's processors from Sandy
//! Bridge to Cascade Lake.

use std::fs;
use std::path::Path;

use perf_event_open_sys::bindings as perf;
use results::probes::Counter;

use super::Source;

/// The kernel's description of the processor's events.
const PROCESSOR: &str = "sys/bus/event_source/devices/cpu";

const TOTAL: &str = "slots";
const ISSUED: &str = "slots_issued";
const RETIRED: &str = "slots_retired";
const FETCH_BUBBLES: &str = "fetch_bubbles";
const RECOVERY_BUBBLES: &str = "recovery_bubbles";

/// Names here and in the kernel.
const EVENTS: [(&str, &str); 5] = [
    (TOTAL, "topdown-total-slots"),
    (ISSUED, "topdown-slots-issued"),
    (RETIRED, "topdown-slots-retired"),
    (FETCH_BUBBLES, "topdown-fetch-bubbles"),
    (RECOVERY_BUBBLES, "topdown-recovery-bubbles"),
];

/// The events of the machine whose files are below `root`: all, or an empty list if one is missing.
pub(super) fn sources(root: &Path) -> Vec<Source> {
    let folder = root.join(PROCESSOR);
    let text = |file: String| fs::read_to_string(folder.join(file)).ok();
    let source = |&(name, event): &(&'static str, &str)| {
        let number = config(&text(format!("events/{event}"))?, |term| text(format!("format/{term}")))?;
        // The default is 1.
        let scale = text(format!("events/{event}.scale")).map_or(Some(1), |text| text.trim().parse().ok())?;
        Some(Source { kind: perf::PERF_TYPE_RAW, number, name, in_kernel: false, scale })
    };
    EVENTS.iter().map(source).collect::<Option<_>>().unwrap_or_default()
}

/// The number of an event such as `event=0x9c,umask=0x1`, for whose terms `format` returns the bits; `None` if it
/// cannot be parsed.
///
/// Source: `Documentation/ABI/testing/sysfs-bus-event_source-devices-format` of the kernel.
fn config(event: &str, format: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let mut number = 0;
    for term in event.trim().split(',') {
        // A term without a value is a flag that is set.
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let is_plain =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        let format = format(Some(name).filter(|_| is_plain)?)?;
        let bits = format.trim().strip_prefix("config:")?;
        let (low, high) = bits.split_once('-').unwrap_or((bits, bits));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        if high < low || high > 63 || value.checked_shr(high - low + 1).unwrap_or(0) > 0 {
            return None;
        }
        number |= value << low;
    }
    Some(number)
}

/// Whether a counter is one of these, which are meaningless alone.
pub(super) fn is_one(name: &str) -> bool {
    EVENTS.iter().any(|(own, _)| *own == name)
}

/// The shares of the four fates of a slot; empty without the events.
///
/// Source: A. Yasin, *A Top-Down Method for Performance Analysis and Counters Architecture*, ISPASS 2014, level 1.
pub(super) fn shares(of: impl Fn(&str) -> Option<f64>) -> Vec<Counter> {
    let all = || {
        let total = of(TOTAL).filter(|slots| *slots > 0.0)?;
        let (issued, retired) = (of(ISSUED)? / total, of(RETIRED)? / total);
        let (fetch, recovery) = (of(FETCH_BUBBLES)? / total, of(RECOVERY_BUBBLES)? / total);
        // Counters that share a register are scaled, so a small share may come out negative.
        let wrong = (issued - retired + recovery).max(0.0);
        let back = (1.0 - fetch - wrong - retired).max(0.0);
        Some([
            ("frontend_bound_share", fetch),
            ("backend_bound_share", back),
            ("retiring_share", retired),
            ("bad_speculation_share", wrong),
        ])
    };
    let counter = |(name, value): (&str, f64)| Counter { name: name.into(), value };
    all().into_iter().flatten().map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a Haswell's kernel with SMT. Source: `arch/x86/events/intel/core.c` (`hsw_events_attrs`).
    fn haswell() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15"),
            ("format/any", "config:21"),
            ("format/cmask", "config:24-31"),
            ("events/topdown-total-slots", "event=0x3c,umask=0x0,any=1"),
            ("events/topdown-total-slots.scale", "2"),
            ("events/topdown-slots-issued", "event=0xe,umask=0x1"),
            ("events/topdown-slots-retired", "event=0xc2,umask=0x2"),
            ("events/topdown-fetch-bubbles", "event=0x9c,umask=0x1"),
            ("events/topdown-recovery-bubbles", "event=0xd,umask=0x3,cmask=1,any=1"),
            ("events/topdown-recovery-bubbles.scale", "2"),
        ];
        for (file, text) in files {
            let path = root.path().join(PROCESSOR).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    #[test]
    fn events_are_those_that_the_kernel_names() {
        let root = haswell();
        let all: Vec<(&str, u64, u64)> =
            sources(root.path()).iter().map(|source| (source.name, source.number, source.scale)).collect();
        let expect = [
            (TOTAL, 0x20_003c, 2),
            (ISSUED, 0x010e, 1),
            (RETIRED, 0x02c2, 1),
            (FETCH_BUBBLES, 0x019c, 1),
            (RECOVERY_BUBBLES, 0x0120_030d, 2),
        ];
        assert_eq!(all, expect);
        fs::remove_file(root.path().join(PROCESSOR).join("events/topdown-slots-issued")).unwrap();
        assert!(sources(root.path()).is_empty(), "all or none");
    }

    #[test]
    fn what_is_not_understood_is_no_event() {
        let check = |event: &str, bits: &str, expect: Option<u64>| {
            assert_eq!(config(event, |_| Some(bits.to_owned())), expect, "{event} {bits}");
        };
        check("event=0x3c", "config:0-7", Some(0x3c));
        check("any", "config:21", Some(1 << 21));
        check("event=0x1ff", "config:0-7", None);
        check("event=1", "config1:0-7", None);
        check("event=1", "config:7-0", None);
        check("event=1", "config:0-64", None);
        check("event=0xffffffffffffffff", "config:0-63", Some(u64::MAX));
        check("event=x", "config:0-7", None);
        check("../x=1", "config:0-7", None);
        check("", "config:0-7", None);
        assert_eq!(config("event=1", |_| None), None);
    }

    #[test]
    fn slots_have_four_fates() {
        let counts = |name: &str| match name {
            TOTAL => Some(1000.0),
            ISSUED => Some(300.0),
            RETIRED => Some(220.0),
            FETCH_BUBBLES => Some(400.0),
            _ => Some(20.0),
        };
        let near = |got: f64, expect: f64| assert!((got - expect).abs() < 1e-9, "{got} {expect}");
        let all = shares(counts);
        let of = |name: &str| all.iter().find(|counter| counter.name == name).unwrap().value;
        near(of("frontend_bound_share"), 0.4);
        near(of("retiring_share"), 0.22);
        near(of("bad_speculation_share"), 0.1);
        near(of("backend_bound_share"), 0.28);
        assert!(shares(|name| counts(name).filter(|_| name != ISSUED)).is_empty());
        assert!(shares(|_| Some(0.0)).is_empty());
    }
}
