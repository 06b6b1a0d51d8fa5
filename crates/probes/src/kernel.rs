//! Programs in the kernel: loaded once, attached while a probe is open.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, Program};

use crate::histogram::Histogram;

/// Maximum number of watched ports. `PORTS` in `src/bpf/watched.h`.
pub(crate) const PORTS: usize = 8;

/// The program that is attached to a static probe of the server, and the probe's provider and name.
const TOLD: &str = "on_turn";
const TURN: (&str, &str) = ("reactor", "turn");

/// The programs of one file.
pub(crate) struct Programs {
    object: Object,
    /// Order in which they are attached.
    order: &'static [&'static str],
    pids: Vec<u32>,
    /// The links of attached programs.
    links: Vec<Link>,
}

impl Programs {
    /// Loads the programs of the object file `bytes` that `order` names, detached at first. They will watch the
    /// processes `pids`. `sizes` overrides the number of entries of tables.
    ///
    /// Errors: this user lacks the privilege, or the kernel lacks a required feature.
    pub(crate) fn load(
        bytes: &[u8],
        order: &'static [&'static str],
        pids: &[u32],
        sizes: &[(&str, u32)],
    ) -> libbpf_rs::Result<Programs> {
        // Silences libbpf's log, which is for its developers; the error is returned as a value.
        libbpf_rs::set_print(None);
        let mut object = ObjectBuilder::default().open_memory(bytes)?;
        // An unused program may refer to a trace point that this kernel lacks.
        for mut program in object.progs_mut() {
            let is_wanted = order.iter().any(|name| program.name() == *name);
            program.set_autoload(is_wanted);
        }
        for mut map in object.maps_mut() {
            if let Some((_, size)) = sizes.iter().find(|(name, _)| map.name() == *name) {
                map.set_max_entries(*size)?;
            }
        }
        let programs = Programs { object: object.load()?, order, pids: pids.to_vec(), links: Vec::new() };
        let wanted = programs.map("wanted")?;
        for pid in pids {
            wanted.update(&pid.to_ne_bytes(), &[1], MapFlags::ANY)?;
        }
        Ok(programs)
    }

    pub(crate) fn map(&self, name: &str) -> libbpf_rs::Result<MapHandle> {
        let map = self.object.maps().find(|map| map.name() == name);
        let none = || io::Error::new(io::ErrorKind::NotFound, format!("there is no table {name}"));
        MapHandle::try_from(&map.ok_or_else(none)?)
    }

    /// Writes the programs' configuration, with at most [`PORTS`] ports: `struct config` in `src/bpf/watched.h`.
    ///
    /// Errors: there are more ports.
    pub(crate) fn configure(&self, ports: &[u16], checked_mask: u16) -> libbpf_rs::Result<()> {
        let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |meta| meta.ino()) as u32;
        let mut all = [0_u16; PORTS];
        let Some(first) = all.get_mut(..ports.len()) else {
            return Err(io::Error::other(format!("{} ports are more than {PORTS}", ports.len())).into());
        };
        first.copy_from_slice(ports);
        let mut config = Vec::new();
        config.extend(namespace.to_ne_bytes());
        config.extend((ports.len() as u32).to_ne_bytes());
        config.extend(all.iter().flat_map(|port| port.to_ne_bytes()));
        config.extend(u32::from(checked_mask).to_ne_bytes());
        self.map("configuration")?.update(&0_u32.to_ne_bytes(), &config, MapFlags::ANY)
    }

    /// Attaches the programs, one after the other. Returns whether the server reports its turns.
    pub(crate) fn attach(&mut self) -> io::Result<bool> {
        let mut tells = false;
        for name in self.order {
            let program = self.object.progs_mut().find(|program| program.name() == *name);
            let program = program.ok_or_else(|| io::Error::other(format!("there is no program {name}")))?;
            if *name != TOLD {
                self.links.push(program.attach().map_err(other)?);
                continue;
            }
            for pid in &self.pids {
                // A server without such probes is followed without them.
                let exe = format!("/proc/{pid}/exe");
                if let Ok(link) = program.attach_usdt(*pid as i32, exe, TURN.0, TURN.1) {
                    self.links.push(link);
                    tells = true;
                }
            }
        }
        Ok(tells)
    }

    /// Detaches the programs, the last first.
    pub(crate) fn detach(&mut self) {
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    /// The first `count` histograms, over all processors, since the programs were loaded.
    pub(crate) fn histograms(&self, count: usize) -> libbpf_rs::Result<Vec<Histogram>> {
        let map = self.map("histograms")?;
        let mut times = vec![Histogram::default(); count];
        for (i, sum) in times.iter_mut().enumerate() {
            let one = per_cpu(&map, i)?;
            one.iter().filter_map(|bytes| Histogram::read(bytes)).for_each(|one| sum.add(&one));
        }
        Ok(times)
    }

    /// The words of the table `name`, over all processors, since the programs were loaded.
    pub(crate) fn counts<const N: usize>(&self, name: &str) -> libbpf_rs::Result<[u64; N]> {
        let map = self.map(name)?;
        let mut sums = [0; N];
        for (i, sum) in sums.iter_mut().enumerate() {
            let words = per_cpu(&map, i)?;
            *sum = words
                .iter()
                .filter_map(|word| Some(u64::from_ne_bytes(word.as_slice().try_into().ok()?)))
                .sum();
        }
        Ok(sums)
    }

    /// Events that the kernel did not pass to a program, because the same program already ran on that processor.
    pub(crate) fn skipped(&self) -> u64 {
        let loaded = self.object.progs().filter(|program| program.autoload());
        let ids: Vec<u32> = loaded.filter_map(|program| Program::id_from_fd(program.as_fd()).ok()).collect();
        ProgInfoIter::default().filter(|info| ids.contains(&info.id)).map(|info| info.recursion_misses).sum()
    }
}

/// Each processor's part of an entry.
fn per_cpu(map: &MapHandle, i: usize) -> libbpf_rs::Result<Vec<Vec<u8>>> {
    map.lookup_percpu(&(i as u32).to_ne_bytes(), MapFlags::ANY).map(Option::unwrap_or_default)
}

/// Empties a table; passes each key with its value to `each` first.
pub(crate) fn empty(map: &MapHandle, mut each: impl FnMut(&[u8], &[u8])) -> libbpf_rs::Result<()> {
    let keys: Vec<Vec<u8>> = map.keys().collect();
    for key in keys {
        if let Some(value) = map.lookup(&key, MapFlags::ANY)? {
            each(&key, &value);
        }
        // An entry of a table with eviction may already be gone.
        let _ = map.delete(&key);
    }
    Ok(())
}

pub(crate) fn other(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(error.to_string())
}

pub(crate) fn hint(error: &libbpf_rs::Error) -> String {
    // The kernel's verifier also reports "permission denied" for a program that it rejects.
    if !may_load() {
        return "root, or CAP_BPF with CAP_PERFMON and CAP_NET_RAW: this user may not load programs into the kernel".into();
    }
    format!(
        "a kernel from 5.17 on with BTF (CONFIG_DEBUG_INFO_BTF), trace points and CONFIG_BPF_SYSCALL ({error}); see \
         taillight host"
    )
}

/// Whether this process has the capabilities to load programs.
pub(crate) fn may_load() -> bool {
    host::Privileges::here().may_load_programs()
}
