use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use launch::Form;
use units::Bytes;

use super::Files;

/// How a server that is started here is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// This program, which is started once more as the embedded server.
    pub exe: PathBuf,
    /// What stands around it.
    pub form: Form,
    /// The address that a bare one listens on; the others have addresses of their own.
    pub listen: IpAddr,
    /// A build of one's own, of memcached, nginx, `taillight` or `sphinxd`, in place of the one that is found.
    pub binary: Option<PathBuf>,
    /// An image of the user's that podman or docker runs, with `memcached`, `nginx` or `sphinxd` in it.
    pub image: Option<String>,
    /// Servers among which threads, memory and processors are divided.
    pub instances: usize,
    /// Threads that serve, or worker processes, of all instances together.
    pub threads: usize,
    /// Memory for items, of all instances together.
    pub memory: Bytes,
    /// Connections that will be made to each instance.
    pub connections: usize,
    /// The processors that they may run on.
    pub cpus: Vec<usize>,
    /// Which threads of Sphinx work on which keys, as its `--sharing` takes it.
    pub sharing: Option<String>,
    /// Further arguments, such as `-o no_lru_maintainer`; of nginx settings, such as `gzip=6`.
    pub extra: Vec<String>,
    /// What a web server serves.
    pub files: Option<Files>,
}

impl ServerOptions {
    /// One bare server of one thread with 1 GiB, on the first processor.
    pub fn new(exe: &Path) -> ServerOptions {
        ServerOptions {
            exe: exe.into(),
            form: Form::Bare,
            listen: Ipv4Addr::LOCALHOST.into(),
            binary: None,
            image: None,
            instances: 1,
            threads: 1,
            memory: Bytes(1 << 30),
            connections: 64,
            cpus: crate::allowed_cpus()[..1].to_vec(),
            sharing: None,
            extra: Vec::new(),
            files: None,
        }
    }

    /// Those of instance number `place`, for it alone.
    pub(super) fn of_instance(&self, place: usize) -> ServerOptions {
        let instances = self.instances.max(1);
        ServerOptions {
            instances: 1,
            threads: part(self.threads, place, instances).max(1),
            memory: Bytes(self.memory.0 / instances as u64),
            cpus: part_of_cpus(&self.cpus, place, instances),
            ..self.clone()
        }
    }

    /// The connections that it must take at once: servers count listeners and the like among them.
    pub(super) fn connection_limit(&self) -> usize {
        (self.connections + 64).max(1024)
    }
}

/// Part number `place` of `whole`, cut as evenly as can be; the first parts take the rest.
fn part(whole: usize, place: usize, parts: usize) -> usize {
    whole / parts + usize::from(place < whole % parts)
}

/// The processors of instance number `place`: its own ones where there are enough, else one that others have, too.
fn part_of_cpus(cpus: &[usize], place: usize, instances: usize) -> Vec<usize> {
    if cpus.is_empty() {
        return Vec::new();
    }
    if cpus.len() < instances {
        return vec![cpus[place % cpus.len()]];
    }
    let before: usize = (0..place).map(|other| part(cpus.len(), other, instances)).sum();
    cpus[before..before + part(cpus.len(), place, instances)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instances_share_what_there_is() {
        let check = |threads: usize, cpus: &[usize], instances: usize, expect: &[(usize, &[usize])]| {
            let options = ServerOptions {
                instances,
                threads,
                memory: Bytes(64 << 20),
                cpus: cpus.to_vec(),
                ..ServerOptions::new(Path::new("/x"))
            };
            let parts: Vec<ServerOptions> = (0..instances).map(|place| options.of_instance(place)).collect();
            let found: Vec<(usize, &[usize])> =
                parts.iter().map(|part| (part.threads, &part.cpus[..])).collect();
            assert_eq!(found, expect);
            assert!(parts.iter().all(|part| part.memory.0 == (64 << 20) / instances as u64));
            assert!(parts.iter().all(|part| part.instances == 1));
        };
        check(4, &[0, 1, 2, 3], 1, &[(4, &[0, 1, 2, 3])]);
        check(4, &[0, 1, 2, 3], 2, &[(2, &[0, 1]), (2, &[2, 3])]);
        check(4, &[5], 2, &[(2, &[5]), (2, &[5])]);
        check(1, &[0, 1], 3, &[(1, &[0]), (1, &[1]), (1, &[0])]);
        check(5, &[0, 1, 2], 2, &[(3, &[0, 1]), (2, &[2])]);
    }

    proptest! {
        #[test]
        fn no_processor_is_forgotten(count in 1usize..40, instances in 1usize..40) {
            let cpus: Vec<usize> = (0..count).collect();
            let mut given: Vec<usize> = (0..instances).flat_map(|p| part_of_cpus(&cpus, p, instances)).collect();
            prop_assert_eq!(given.len(), count.max(instances));
            given.sort_unstable();
            given.dedup();
            prop_assert_eq!(given, cpus);
        }
    }
}
