//! Which processors the server and the generator get.

use rustix::thread::{CpuSet, sched_getaffinity};

/// The processors of each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Of the server, one per thread where there are enough.
    pub server: Vec<usize>,
    /// Of the generator.
    pub generator: Vec<usize>,
}

impl Placement {
    /// The server on the first of the `allowed` processors, the generator on the last; never the same where there
    /// are two.
    ///
    /// `server` and `generator` are what the user asked for. Bounds: `allowed` is not empty.
    pub fn new(
        allowed: &[usize],
        server_threads: usize,
        server: Option<&[usize]>,
        generator: Option<&[usize]>,
    ) -> Placement {
        let free_of = |taken: &[usize]| -> Vec<usize> {
            let free: Vec<usize> = allowed.iter().copied().filter(|cpu| !taken.contains(cpu)).collect();
            if free.is_empty() { allowed.to_vec() } else { free }
        };
        let generator = match (generator, server) {
            (Some(generator), _) => generator.to_vec(),
            (None, server) => free_of(server.unwrap_or(&[])).last().copied().into_iter().collect(),
        };
        let server = server.map_or_else(
            || free_of(&generator).into_iter().take(server_threads.max(1)).collect(),
            <[usize]>::to_vec,
        );
        Placement { server, generator }
    }

    /// Whether server and generator have a processor in common.
    pub fn is_shared(&self) -> bool {
        self.server.iter().any(|cpu| self.generator.contains(cpu))
    }

    /// What a reader of the result must know.
    pub fn note(&self) -> String {
        let list = |cpus: &[usize]| {
            let names: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            format!("{} {}", if cpus.len() == 1 { "processor" } else { "processors" }, names.join(", "))
        };
        if self.is_shared() {
            return format!(
                "Server and generator share cores ({} and {}): each waits while the other runs, so response \
                 times are longer and the maximum lower than the server’s own. Compare only with results that \
                 share cores as well.",
                list(&self.server),
                list(&self.generator)
            );
        }
        format!("The server had {} to itself, the generator {}.", list(&self.server), list(&self.generator))
    }
}

/// The processors that this process may use, rising. Never empty.
pub fn allowed_cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap_or_default();
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_first_generator_last_and_apart_where_possible() {
        let check = |allowed: &[usize],
                     threads: usize,
                     asked: (Option<&[usize]>, Option<&[usize]>),
                     expect: (&[usize], &[usize])| {
            let placement = Placement::new(allowed, threads, asked.0, asked.1);
            assert_eq!(
                (&placement.server[..], &placement.generator[..]),
                expect,
                "{allowed:?} {threads} {asked:?}"
            );
        };
        check(&[0, 1], 1, (None, None), (&[0], &[1]));
        check(&[0, 1], 2, (None, None), (&[0], &[1]));
        check(&[2, 3, 7], 2, (None, None), (&[2, 3], &[7]));
        check(&[3], 1, (None, None), (&[3], &[3]));
        check(&[0, 1], 1, (Some(&[1]), None), (&[1], &[0]));
        check(&[0, 1], 1, (None, Some(&[0])), (&[1], &[0]));
        check(&[0, 1], 1, (Some(&[0, 1]), None), (&[0, 1], &[1]));
        check(&[0, 1], 1, (Some(&[1]), Some(&[1])), (&[1], &[1]));
    }

    #[test]
    fn says_plainly_that_cores_are_shared() {
        let check = |server: &[usize], generator: &[usize], shared: bool, expect: &str| {
            let placement = Placement { server: server.to_vec(), generator: generator.to_vec() };
            assert_eq!(placement.is_shared(), shared);
            assert!(placement.note().contains(expect), "{}", placement.note());
        };
        check(&[0], &[1], false, "The server had processor 0 to itself, the generator processor 1.");
        check(&[0, 1], &[1], true, "share cores (processors 0, 1 and processor 1)");
    }

    #[test]
    fn this_process_may_use_some_processor() {
        assert!(!allowed_cpus().is_empty());
    }
}
