//! The limits of control groups, such as a container's or a unit's: memory and processor time.

use std::path::Path;

use anyhow::{Result, bail};
use host::{Limit, Limits};
use rustix::fs::statfs;
use units::Bytes;

use crate::budget::FREE;
use crate::config::Config;

/// Memory of the process in addition to its items: code, tables, and for each thread its event loop and the rounding of
/// its partition. Source: `docs/reference/memory.md`; idle, `sphinxd` has 1.3 MiB with one thread and 49 MiB with 32.
/// Units: bytes.
const PROCESS: u64 = 1 << 20;
const THREAD: u64 = 3 << 20;
/// Type number of tmpfs, whose files count as memory of their group. Source: statfs(2).
const TMPFS: u64 = 0x0102_1994;

/// Memory that the server takes at the start in addition to that of `-m`. Units: bytes.
fn overhead(config: &Config) -> u64 {
    PROCESS + THREAD * config.cpus.len() as u64
}

/// The most that `-m` can be under the limits. Units: bytes.
pub(crate) fn most(config: &Config, limits: &Limits) -> Option<u64> {
    let limit = limits.memory.as_ref().filter(|_| counts(config))?;
    Some(limit.most.saturating_sub(overhead(config)))
}

/// Checks that the memory fits under the limits: the kernel would end the server once it uses more.
///
/// Errors: it does not; both figures, and what would fit.
pub(crate) fn check_memory(config: &Config, limits: &Limits) -> Result<()> {
    let Some(limit) = limits.memory.as_ref().filter(|_| counts(config)) else { return Ok(()) };
    if config.memory.0.saturating_add(overhead(config)) <= limit.most {
        return Ok(());
    }
    let fits = match limit.most.saturating_sub(overhead(config)) >> 20 {
        0 => String::new(),
        mebibytes => format!("give at most -m {mebibytes}, or "),
    };
    bail!(
        "-m {} does not fit: {} allows {} of memory, and the server needs {} of it for itself; {fits}raise the limit",
        config.memory,
        limit.file,
        Bytes(limit.most),
        Bytes(overhead(config)),
    );
}

/// What may end or slow the server later, although its memory fits.
pub(crate) fn memory_warning(config: &Config, limits: &Limits) -> Option<String> {
    let buffers = config.connection_memory.saturating_add(2 * FREE * config.connections) as u64;
    let needed = config.memory.0.saturating_add(overhead(config)).saturating_add(buffers);
    let within = |limit: &Limit<u64>| !counts(config) || needed <= limit.most;
    let (limit, what) = [(&limits.memory, "ends the server"), (&limits.memory_high, "slows the server down")]
        .into_iter()
        .find_map(|(limit, what)| Some((limit.as_ref().filter(|limit| !within(limit))?, what)))?;
    Some(format!(
        "the server may come to need {}, of which {} are -m and {} buffers of connections, and beyond {} ({}) the kernel {what}; \
         give less with -m, --connection-memory or -c, or raise the limit",
        Bytes(needed),
        config.memory,
        Bytes(buffers),
        Bytes(limit.most),
        limit.file,
    ))
}

/// Whether the memory of items counts for the group: a file on a disk is written back, and huge pages count elsewhere.
fn counts(config: &Config) -> bool {
    let Some(file) = &config.memory_file else { return true };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    statfs(file).or_else(|_| statfs(folder)).is_ok_and(|found| found.f_type as u64 == TMPFS)
}

/// The default number of threads on this number of processors: no more than a quota gives processor time to.
pub(crate) fn threads(processors: usize, quota: Option<&Limit<f64>>) -> usize {
    quota.map_or(processors, |quota| processors.min((quota.most.ceil() as usize).max(1)))
}

/// The effect of a quota on this number of threads, of which `asked` says whether the user chose it.
pub(crate) fn quota_warning(
    threads: usize,
    asked: bool,
    processors: usize,
    quota: Option<&Limit<f64>>,
) -> Option<String> {
    let Limit { most, file } = quota?;
    let enough = self::threads(threads, quota);
    if asked && threads > enough {
        return Some(format!(
            "{threads} threads share the time of {most:.2} processors ({file}), and all stop when it is used up; -t {enough} or a \
             higher quota has a shorter tail"
        ));
    }
    (!asked && threads < processors).then(|| {
        format!(
            "{threads} of {processors} processors {} a thread, as {file} allows the time of {most:.2}; more threads are had with -t",
            if threads == 1 { "has" } else { "have" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn limits(memory: Option<u64>, high: Option<u64>) -> Limits {
        let limit = |mebibytes: u64, file: &str| Limit { most: mebibytes * MIB, file: file.into() };
        Limits {
            memory: memory.map(|memory| limit(memory, "/g/memory.max")),
            memory_high: high.map(|high| limit(high, "/g/memory.high")),
            ..Limits::default()
        }
    }

    #[test]
    fn memory_that_does_not_fit_is_refused_with_both_figures() {
        let check = |memory: u64, threads: usize, limit: Option<u64>, expect: Option<&str>| {
            let config =
                Config { memory: Bytes(memory * MIB), cpus: vec![0; threads], ..Config::for_tests() };
            let said = check_memory(&config, &limits(limit, None)).err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), expect, "{memory} {threads} {limit:?}");
        };
        check(64, 1, None, None);
        check(64, 1, Some(68), None);
        check(
            64,
            1,
            Some(67),
            Some(
                "-m 64 MiB does not fit: /g/memory.max allows 67 MiB of memory, and the server needs 4 MiB of it for itself; \
                 give at most -m 63, or raise the limit",
            ),
        );
        check(64, 4, Some(77), None);
        let of_four = "-m 64 MiB does not fit: /g/memory.max allows 64 MiB of memory, and the server needs 13 MiB of it for \
                       itself; give at most -m 51, or raise the limit";
        check(64, 4, Some(64), Some(of_four));
        let tiny = "-m 64 MiB does not fit: /g/memory.max allows 4 MiB of memory, and the server needs 4 MiB of it for itself; \
                    raise the limit";
        check(64, 1, Some(4), Some(tiny));
        check(
            1 << 20,
            1,
            Some(1024),
            Some(
                "-m 1024 GiB does not fit: /g/memory.max allows 1 GiB of memory, and the server needs 4 MiB of it for itself; \
             give at most -m 1020, or raise the limit",
            ),
        );
        let config = Config { memory: Bytes(64 * MIB), ..Config::for_tests() };
        assert_eq!(most(&config, &limits(Some(128), None)), Some(124 * MIB));
        assert_eq!(
            (most(&config, &limits(None, None)), most(&config, &limits(Some(1), None))),
            (None, Some(0))
        );
        // The file's memory counts on tmpfs only.
        for (file, refused) in [("/proc/x", false), ("/dev/shm/x", true), ("/nowhere/x", false)] {
            let config = Config { memory_file: Some(file.into()), ..config.clone() };
            let shm = statfs("/dev/shm").is_ok_and(|found| found.f_type as u64 == TMPFS);
            assert_eq!(check_memory(&config, &limits(Some(8), None)).is_err(), refused && shm, "{file}");
        }
    }

    #[test]
    fn buffers_that_do_not_fit_are_a_warning() {
        // 64 MiB, 4 MiB for itself, 32 MiB and 100 × 32 KiB of buffers.
        let config = Config { memory: Bytes(64 * MIB), ..Config::for_tests() };
        let check = |memory: Option<u64>, high: Option<u64>, expect: &[&str]| {
            let said = memory_warning(&config, &limits(memory, high));
            assert_eq!(said.is_some(), !expect.is_empty(), "{said:?}");
            expect.iter().for_each(|part| assert!(said.as_ref().unwrap().contains(part), "{said:?}"));
        };
        check(None, None, &[]);
        check(Some(104), Some(104), &[]);
        check(
            Some(103),
            None,
            &["64 MiB are -m", "35.12 MiB buffers", "103 MiB (/g/memory.max)", "ends the"],
        );
        check(Some(200), Some(80), &["80 MiB (/g/memory.high)", "slows the server down"]);
    }

    #[test]
    fn threads_have_time_to_run_in() {
        let quota = |most: f64| Limit { most, file: "/g/cpu.max".into() };
        let check = |processors: usize, most: f64, expect: usize| {
            assert_eq!(threads(processors, Some(&quota(most))), expect, "{processors} {most}");
        };
        check(64, 0.05, 1);
        check(64, 0.5, 1);
        check(64, 1.0, 1);
        check(64, 1.5, 2);
        check(64, 8.0, 8);
        check(2, 8.0, 2);
        check(1, 0.5, 1);
        assert_eq!(threads(64, None), 64);
        let said = |threads, asked, processors, most| {
            quota_warning(threads, asked, processors, Some(&quota(most))).unwrap_or_default()
        };
        assert!(said(1, false, 64, 0.5).starts_with("1 of 64 processors has a thread, as /g/cpu.max allows"));
        assert!(
            said(4, true, 64, 0.5).starts_with("4 threads share the time of 0.50 processors (/g/cpu.max)")
        );
        assert_eq!((said(2, false, 2, 8.0), said(1, true, 64, 0.5)), (String::new(), String::new()));
        assert_eq!(quota_warning(64, true, 2, None), None);
    }
}
