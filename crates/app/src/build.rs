//! Builds an application's programs from source with its scripts; each build is stamped with its sources.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use launch::User;
use xxhash_rust::xxh3::xxh3_64;

use crate::description::{App, Build};
use crate::seed::{self, Making};
use crate::{Error, work};

/// The status of a script that found programs missing, which it has named.
const MISSING: i32 = 3;
const STAMPS: &str = ".stamps";
const LOGS: &str = ".logs";
/// Source: the hierarchy of file systems, FHS 3.0 §5.5.
const SYSTEM_CACHE: &str = "/var/cache/taillight";

/// Result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildOutcome {
    /// It had been made of the same sources before.
    There,
    /// It was made.
    Made(Duration),
    /// Programs are missing; output of the script.
    Missing(Vec<String>),
    /// The script failed.
    Failed {
        /// The last lines that it printed.
        last: Vec<String>,
        /// The file that has all of them.
        log: PathBuf,
    },
}

/// Folder for files made for the application `name`: programs and data that services read under their own accounts.
/// Lies in [`crate::cache_folder`]; for root in `/var/cache/taillight`, as other accounts may not enter root's home.
pub fn made_folder(name: &str) -> PathBuf {
    let is_named = ["TAILLIGHT_CACHE", "XDG_CACHE_HOME"].iter().any(|one| std::env::var_os(one).is_some());
    let folder = if User::is_root() && !is_named { SYSTEM_CACHE.into() } else { seed::cache_folder() };
    folder.join(name)
}

impl App {
    /// The folder of its built programs. Each folder of sources has its own, as tools such as CMake record the path of
    /// their sources.
    pub fn built_folder(&self) -> PathBuf {
        let of = |folder: &PathBuf| format!("out-{:016x}", xxh3_64(folder.as_os_str().as_bytes()));
        made_folder(self.made_as()).join(self.folder.as_ref().map_or_else(|| "out".to_owned(), of))
    }

    /// Runs `build` for `out` unless its sources are unchanged. `tell` receives the last printed line and returns
    /// whether to go on. Only one process at a time builds.
    ///
    /// Errors: the folder cannot be written to, the script cannot be started, or it was stopped.
    pub fn build(
        &self,
        build: &Build,
        out: &Path,
        tell: &mut dyn FnMut(&str) -> bool,
    ) -> Result<BuildOutcome, Error> {
        // Other accounts may write to the results later.
        if !self.has_file(&build.script) {
            return Ok(BuildOutcome::Missing(vec![format!(
                "there is no {} beside the description",
                build.script
            )]));
        }
        let os = |path: &Path| {
            launch::Error::os(format!("{}: {}", build.name, path.display()), "cannot build there")
        };
        for folder in [STAMPS, LOGS] {
            let folder = out.join(folder);
            fs::create_dir_all(&folder).map_err(os(&folder))?;
        }
        let lock = out.join(".lock");
        let mut awaited = |_: &Making| tell("another process builds there");
        let _locked = seed::locked(&lock, &mut awaited).map_err(os(&lock))?.ok_or(Error::Stopped)?;
        let stamp = out.join(STAMPS).join(&build.name);
        let hash = self.hash(is_source).map_err(os(&self.folder.clone().unwrap_or_default()))?;
        let words = [std::slice::from_ref(&build.script), &build.args[..]].concat().join(" ");
        let hash = format!("{hash:032x} {words}");
        if fs::read_to_string(&stamp).is_ok_and(|found| found == hash) {
            return Ok(BuildOutcome::There);
        }
        // One that fails leaves programs of two states behind.
        let _ = fs::remove_file(&stamp);
        let unpacked = out.with_file_name("source");
        let source = self.unpack(&unpacked).map_err(os(&unpacked))?;
        let log = out.join(LOGS).join(format!("{}.log", build.name));
        let mut file = File::create(&log).map_err(os(&log))?;
        let begun = Instant::now();
        let args = [&source, out].map(|path| path.display().to_string());
        let script = source.join(&build.script).display().to_string();
        let args = [std::slice::from_ref(&script), &args[..], &build.args[..]].concat();
        let ended = work::run(&build.name, Path::new("sh"), &args, &source, &mut file, tell)?;
        match ended.status.code() {
            Some(0) => Ok(fs::write(&stamp, hash)
                .map_err(os(&stamp))
                .map(|()| BuildOutcome::Made(begun.elapsed()))?),
            Some(MISSING) => Ok(BuildOutcome::Missing(ended.last)),
            _ => Ok(BuildOutcome::Failed { last: ended.last, log }),
        }
    }

    /// The services whose programs are not there in any of the folders `built`, by the build that makes them.
    pub fn not_built(&self, built: &[PathBuf]) -> BTreeMap<&str, Vec<&str>> {
        let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for service in self.services.iter().filter(|service| service.program.built) {
            if !built.iter().any(|folder| folder.join("bin").join(&service.program.name).is_file()) {
                let build = self.builds.iter().find(|build| build.languages.contains(&service.language));
                missing.entry(build.map_or("", |build| &build.name)).or_default().push(&service.name);
            }
        }
        missing
    }
}

/// Whether programs are made of the file `name`: not descriptions, templates, documents, data and contracts.
fn is_source(name: &str) -> bool {
    let ends = [".j2", ".md", "app.toml", "contract.toml"];
    let begins = ["data/", "contract/"];
    !ends.iter().any(|end| name.ends_with(end)) && !begins.iter().any(|begin| name.starts_with(begin))
}
