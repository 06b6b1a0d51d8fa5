use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workload::Workload;

/// Overhead of an item in addition to key and value, the same as in Sphinx. Source: docs/reference/memory.md. Units:
/// bytes.
const OVERHEAD: u64 = 22;
/// Where `cargo xtask tools --all` installs it.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/simulator-python");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/policies/simulate.py");

/// libCacheSim, a simulator of caches by other authors: it counts bytes, and moves items without segments.
pub(crate) struct Simulator {
    folder: PathBuf,
    pub(crate) version: String,
}

impl Simulator {
    /// The policies by their usual names, and by libCacheSim's.
    pub(crate) const POLICIES: [(&str, &str); 4] =
        [("LRU", "LRU"), ("S3-FIFO", "S3FIFO"), ("SIEVE", "Sieve"), ("W-TinyLFU", "WTinyLFU")];

    /// The installed one.
    pub(crate) fn find() -> Result<Simulator> {
        let folder = Path::new(FOLDER);
        let names = std::fs::read_dir(folder.join("packages"))
            .context("no libCacheSim: `cargo xtask tools --all` installs it")?;
        let version = names.flatten().find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix("libcachesim-")?.strip_suffix(".dist-info")?.to_owned())
        });
        Ok(Simulator { folder: folder.into(), version: version.context("no libCacheSim in its folder")? })
    }

    /// How many of the requests from `counted` on hit, for each policy, with `memory` bytes.
    pub(crate) fn hits(
        &self,
        workload: &Workload,
        requests: &[u64],
        counted: usize,
        memory: usize,
    ) -> Result<Vec<u64>> {
        let folder = tempfile::tempdir()?;
        let trace = folder.path().join("trace");
        let mut file = BufWriter::new(std::fs::File::create(&trace)?);
        for &item in requests {
            file.write_all(&item.to_le_bytes())?;
            file.write_all(&u32::try_from(workload.payload(item) + OVERHEAD)?.to_le_bytes())?;
        }
        file.into_inner()?;
        let output = Command::new(self.folder.join("bin/python3"))
            .arg(PROGRAM)
            .arg(&trace)
            .args([memory, counted].map(|number| number.to_string()))
            .args(Simulator::POLICIES.map(|(_, name)| name))
            .env("PYTHONPATH", self.folder.join("packages"))
            .output()
            .context("python3")?;
        ensure!(output.status.success(), "libCacheSim: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout)?
            .lines()
            .map(|line| line.parse().context("a number of hits"))
            .collect()
    }
}
