//! Initial data of stores: made once, kept, and copied before each start.
//!
//! A seed has its own folder in this program's cache. It is made in the folder of a server started for that purpose,
//! and copied to the cache when that server has ended: under a temporary name first, its marker last, by one process at
//! a time. A killed process therefore never leaves a partial seed that looks complete.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io};

use datasets::people::People;
use rustix::fs::{FlockOperation, flock, statvfs};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use units::Bytes;
use xxhash_rust::xxh3::xxh3_128;

use crate::description::{Seeded, Service, Store};
use crate::filling::{self, Filling};
use crate::kept::Origin;
use crate::plan::{PeopleSet, Placement, Plan};
use crate::program::VersionedProgram;
use crate::settings::Value;
use crate::{Error, Running, copy};

/// Changes when this program makes other data of the same description.
pub(crate) const FORMAT: u32 = 1;
/// File that marks a seed as complete; for kept data, the file that holds their origin.
pub(crate) const MARKER: &str = "seed.json";
/// The folder of a seed that is not whole yet.
const PARTIAL: &str = "partial";
/// The file that one process at a time has.
const LOCK: &str = "lock";
/// How often it is looked whether another process has made it.
const LOOK: Duration = Duration::from_millis(100);

/// Disk space of a row with its keys, and of a database without rows. Source: MariaDB 10.11, whose 10.5 million rows of
/// 100k users took 770 MB of 815 MB; doubled, as it rounds tables up.
const ROW: u64 = 150;
const EMPTY: u64 = 100 << 20;
/// How many times the bytes of its files a database takes. Source: PostgreSQL's documentation, §27.1: a table takes up to five
/// times the space of a text file of its rows.
const DATA: u64 = 5;

/// The data of a store, whole.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Its folder in the cache.
    pub folder: PathBuf,
    /// Its record in the cache.
    pub record: SeedRecord,
    origin: Origin,
}

/// Metadata of a seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeedRecord {
    /// Hash of the inputs of its data.
    key: String,
    /// Output of the program that checks its store.
    pub check: Vec<String>,
    /// Rows of each table by name.
    pub rows: BTreeMap<String, u64>,
    /// Its size on disk.
    pub bytes: u64,
    /// How long it took to make.
    pub made_s: f64,
}

/// How far the data of a store are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Making {
    /// Another process makes the same.
    Awaited,
    /// The script of a data set is running; `line` is its last output.
    DataSet { line: String },
    /// A server is prepared for it.
    Prepared,
    /// Rows of a table are written. `rows` counts the rows of all tables so far, `of` all rows to write.
    Filled { table: String, rows: u64, of: u64 },
    /// The data are being copied to the cache.
    Kept,
}

/// Receives the progress; returning `false` stops.
pub type Tell<'a> = &'a mut dyn FnMut(&Making) -> bool;

impl Seed {
    /// The seed in `folder`, if it is complete and made from `key`.
    fn there(folder: &Path, key: &str, origin: &Origin) -> Option<Seed> {
        let text = fs::read_to_string(folder.join(MARKER)).ok()?;
        let record: SeedRecord = serde_json::from_str(&text).ok()?;
        (record.key == key).then(|| Seed { folder: folder.into(), record, origin: origin.clone() })
    }

    /// Replaces the data in an instance's folder, `own`, by the seed's.
    ///
    /// Errors: they cannot be copied, with both places.
    pub(crate) fn restore(&self, service: &Service, seeded: &Seeded, own: &Path) -> Result<(), Error> {
        let (from, to) = (self.folder.join(&seeded.folder), own.join(&seeded.folder));
        let user = crate::context::account(service);
        let name = format!("{}: {}", service.name, to.display());
        let copied = copy::again(&from, &to, user.as_ref());
        Ok(copied.map_err(launch::Error::os(name, "cannot copy its data there"))?)
    }

    /// Links the data in the folder of an instance, `own`, to `kept`, which is filled from the seed if new. Returns
    /// whether it was filled now.
    ///
    /// Errors: as in [`Seed::restore`]; the data in `kept` have another origin, and are left unchanged.
    pub(crate) fn restore_once(
        &self,
        service: &Service,
        seeded: &Seeded,
        kept: &Path,
        own: &Path,
    ) -> Result<bool, Error> {
        let os =
            |path: &Path, doing| launch::Error::os(format!("{}: {}", service.name, path.display()), doing);
        let (data, link, marker) = (kept.join(&seeded.folder), own.join(&seeded.folder), kept.join(MARKER));
        let is_there = match fs::read_to_string(&marker) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            text => {
                self.origin.must_be(
                    &text.map_err(os(&marker, "cannot read what its data began with"))?,
                    service,
                    kept,
                )?;
                true
            }
        };
        if !is_there {
            // An interrupted start left partial data, and no service has written to it.
            copy::remove(kept).map_err(os(kept, "cannot remove what is not whole"))?;
            fs::create_dir_all(data.parent().unwrap_or(kept))
                .map_err(os(kept, "cannot keep its data there"))?;
            self.restore(service, seeded, kept)?;
            let origin = serde_json::to_vec_pretty(&self.origin).expect("it is plain data");
            // Whole or not there, as all that is neither this nor missing is refused.
            let partial = beside(&marker, PARTIAL);
            fs::write(&partial, origin)
                .and_then(|()| fs::rename(&partial, &marker))
                .map_err(os(&marker, "cannot keep its data there"))?;
        }
        if fs::symlink_metadata(&link).is_ok() {
            fs::remove_file(&link).map_err(os(&link, "cannot lead to its data"))?;
        }
        symlink(&data, &link).map_err(os(&link, "cannot lead to its data"))?;
        Ok(!is_there)
    }

    /// Errors: `found` differs from the check's output when the data were made.
    pub(crate) fn verify(&self, store: &Store, found: &[String]) -> Result<(), Error> {
        let wrong = self.record.check.iter().zip(found).find(|(made, found)| made != found);
        if wrong.is_none() && self.record.check.len() == found.len() {
            return Ok(());
        }
        let (made, now) = wrong.map_or(("", ""), |(made, now)| (made.as_str(), now.as_str()));
        Err(Error::Answer {
            service: store.service.clone(),
            doing: format!("restore the store '{}'", store.name),
            problem: format!(
                "its check says '{now}' and not '{made}', as when the data were made; remove {}, so that they are made again",
                self.folder.display()
            ),
        })
    }
}

/// Where data are kept that are made once: the folder that `TAILLIGHT_CACHE` names, `taillight` in `XDG_CACHE_HOME`, or
/// `.cache/taillight` in the user's home.
pub fn cache_folder() -> PathBuf {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("TAILLIGHT_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("taillight")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/taillight")))
        .unwrap_or_else(|| env::temp_dir().join("taillight-cache"))
}

impl Plan {
    /// Makes the initial data of all stores started on this machine, unless they exist; `tell` receives the progress.
    ///
    /// Errors: the program of a service is missing, so that it could not be started anyway; the data cannot be made,
    /// with the obstacle. No partial seed remains.
    pub fn make_seeds(&self, tell: Tell<'_>) -> Result<Vec<Seed>, Error> {
        self.has_programs()?;
        if self.here().any(|service| self.app().begins_with_data(service)) {
            self.make_data_set(tell)?;
        }
        let make = |(store, seeded, service)| self.make_seed(store, seeded, service, tell);
        self.seeded_here().map(make).collect()
    }

    /// The stores with initial data whose sources are given: users if a store needs them, and files of a data set.
    pub(crate) fn seeded(&self) -> impl Iterator<Item = (&Store, &Seeded)> {
        let stores = self.app().stores.iter().filter_map(|store| Some((store, store.seed.as_ref()?)));
        stores.filter(|(_, seeded)| {
            (self.people.is_some() || !seeded.needs_people())
                && (self.app().data.is_some() || !seeded.needs_data())
        })
    }

    /// The stores of [`Plan::seeded`] whose services run on this machine.
    pub(crate) fn seeded_here(&self) -> impl Iterator<Item = (&Store, &Seeded, &Service)> {
        self.seeded().filter_map(|(store, seeded)| {
            Some((store, seeded, self.here().find(|service| service.name == store.service)?))
        })
    }

    fn make_seed(
        &self,
        store: &Store,
        seeded: &Seeded,
        service: &Service,
        tell: Tell<'_>,
    ) -> Result<Seed, Error> {
        let error = |problem: String| Error::Answer {
            service: service.name.clone(),
            doing: format!("make the data of the store '{}'", store.name),
            problem,
        };
        let found = self.find(service)?;
        let people = self.people.filter(|_| seeded.needs_people());
        let key = self.key(store, seeded, service, people, &found);
        let origin = self.origin(seeded, service, people, &found);
        let of = people.map_or_else(String::new, |people| format!("{}-{}-", people.users, people.seed));
        let name = format!("{}-{}-{of}{}", self.app().made_as(), store.name, &key[..16]);
        let cache = self.cache.clone().unwrap_or_else(cache_folder).join("seeds");
        let folder = cache.join(name);
        let in_folder = |path: &Path, e: io::Error| error(format!("{}: {e}", path.display()));
        if let Some(seed) = Seed::there(&folder, &key, &origin) {
            return Ok(seed);
        }
        fs::create_dir_all(&cache).map_err(|e| in_folder(&cache, e))?;
        let lock = beside(&folder, LOCK);
        let _locked = locked(&lock, tell).map_err(|e| in_folder(&lock, e))?.ok_or(Error::Stopped)?;
        // Another process may have made it while we waited.
        if let Some(seed) = Seed::there(&folder, &key, &origin) {
            return Ok(seed);
        }
        let partial = beside(&folder, PARTIAL);
        for old in [&partial, &folder] {
            copy::remove(old).map_err(|e| in_folder(old, e))?;
        }
        let begun = Instant::now();
        let users = people.map(|people| People::new(people.users, people.seed)).transpose()?;
        let hash = self.hash_of(seeded, service, &found).map_err(&error)?;
        let filling = Filling::new(users.as_ref(), hash);
        let takes = EMPTY + filling.rows() * ROW + DATA * self.data_bytes(seeded)?;
        has_room(takes, &[&env::temp_dir(), &cache]).map_err(&error)?;
        if !tell(&Making::Prepared) {
            return Err(Error::Stopped);
        }
        let running = Running::begin(self.to_make(service), None, BTreeMap::new(), &mut |_| true)?;
        let check = filling::fill(&running, seeded, &filling, tell)?;
        let own =
            running.folder_of(&service.name).ok_or_else(|| error("its service has no folder".into()))?;
        let running = ended(running);
        let from = own.join(&seeded.folder);
        let kept = (|| {
            if !tell(&Making::Kept) {
                return Ok(None);
            }
            let bytes = copy::kept(&from, &partial.join(&seeded.folder))?;
            let made_s = begun.elapsed().as_secs_f64();
            let record = SeedRecord { key, check, rows: filling.rows_by_table(), bytes, made_s };
            let file = partial.join(MARKER);
            fs::write(&file, serde_json::to_vec_pretty(&record)?)?;
            File::open(&file)?.sync_all()?;
            fs::rename(&partial, &folder)?;
            Ok(Some(Seed { folder: folder.clone(), record, origin }))
        })();
        drop(running);
        match kept {
            Ok(Some(seed)) => Ok(seed),
            other => {
                let _ = copy::remove(&partial);
                Err(other.err().map_or(Error::Stopped, |e| in_folder(&partial, e)))
            }
        }
    }

    fn data_bytes(&self, seeded: &Seeded) -> Result<u64, Error> {
        let mut bytes = 0;
        for pattern in seeded.steps.iter().filter_map(|step| step.data.as_ref()) {
            let files = self.data_files(pattern)?;
            bytes += files.iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum::<u64>();
        }
        Ok(bytes)
    }

    /// This plan with one bare instance of `service` on this machine alone, as its data are made by it.
    fn to_make(&self, service: &Service) -> Plan {
        let mut plan = self.clone();
        plan.only = vec![service.name.clone()];
        let usual = Placement::default();
        let placement = plan.placement_mut(&service.name).expect("it has one for each");
        (placement.instances, placement.form, placement.listen) = (1, usual.form, usual.listen);
        (placement.image, placement.agent) = (None, None);
        plan
    }

    /// The hash of every user's password.
    fn hash_of(
        &self,
        seeded: &Seeded,
        service: &Service,
        found: &VersionedProgram,
    ) -> Result<&'static str, String> {
        let Some(text) = &seeded.hash_cost else { return Ok("") };
        let values = self.values(&service.name).expect("it has some for each");
        let settings: BTreeMap<_, _> = self.shared().map().into_iter().chain(values.map()).collect();
        let context = BTreeMap::from([("settings", settings)]);
        let cost = crate::template::value(&crate::template::environment(found), text, &context)?;
        let cost = u32::try_from(cost).map_err(|e| format!("the cost of a hash, '{text}': {e}"))?;
        datasets::people::hash(cost).ok_or_else(|| {
            let (least, most) = (datasets::people::COSTS.start(), datasets::people::COSTS.end());
            format!("there is no hash of cost {cost}; choose one from {least} to {most}")
        })
    }

    /// Key of all inputs of the data: users, descriptions, files, settings and the program's version.
    fn key(
        &self,
        store: &Store,
        seeded: &Seeded,
        service: &Service,
        people: Option<PeopleSet>,
        found: &VersionedProgram,
    ) -> String {
        // As it was before there were data sets.
        let people = people.map_or_else(String::new, |people| format!("{people:?}"));
        let mut text = format!("{FORMAT}\n{people}\n{store:?}\n{:?}\n{}\n", service.prepare, found.version);
        text += &format!("{:?}\n{:?}\n", service.args, service.files);
        text += &self.rows_follow_from(seeded, service);
        if let Some(folder) = self.data_folder().filter(|_| seeded.needs_data()) {
            // The folder's name is a hash of its inputs, including the text of its script.
            text += &format!("{:?}\n", folder.file_name());
        }
        let templates = service.files.iter().filter_map(|file| file.template.as_ref());
        for name in templates {
            text += &format!("{name}: {}\n", self.app().templates.get(name).map_or("", String::as_str));
        }
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    pub(crate) fn value(&self, service: &Service, name: &str) -> Option<&Value> {
        let own = || self.values(&service.name)?.get(name);
        self.shared().get(name).or_else(own)
    }

    /// The account, settings and files that the rows of a store follow from.
    pub(crate) fn rows_follow_from(&self, seeded: &Seeded, service: &Service) -> String {
        // Databases know the account that they were made by.
        let account =
            crate::context::account(service).map_or(rustix::process::geteuid().as_raw(), |user| user.uid);
        let mut text = format!("{account}\n");
        for name in &seeded.settings {
            text += &format!("{name}={:?}\n", self.value(service, name));
        }
        if let Some(folder) = self.data_folder().filter(|_| seeded.needs_data()) {
            // Its marker distinguishes it from other data sets, regardless of its path.
            text += &format!("{:032x}\n", self.data_hash(&folder));
        }
        let inputs = seeded.steps.iter().filter_map(|step| step.input.as_ref());
        for name in seeded.files.iter().chain(inputs) {
            let hash = self.app().read_file(name).map(|bytes| xxh3_128(&bytes)).unwrap_or_default();
            text += &format!("{name}: {hash:032x}\n");
        }
        text
    }
}

/// `folder` with another ending.
fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = folder.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Shuts down the server whose data are being made in good order, so that they are complete; its folder exists until
/// the returned value is dropped.
fn ended(mut running: Running) -> Running {
    running.stop();
    running
}

/// Locks the file at `path` for this process; `None` if `tell` refuses to wait.
pub(crate) fn locked(path: &Path, tell: Tell<'_>) -> io::Result<Option<File>> {
    let file = File::options().create(true).append(true).open(path)?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) if tell(&Making::Awaited) => thread::sleep(LOOK),
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Errors: one of these folders lacks `takes` bytes of free space, with the space it has.
fn has_room(takes: u64, folders: &[&Path]) -> Result<(), String> {
    for folder in folders {
        let found = statvfs(*folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free < takes {
            return Err(format!(
                "no room in {}: they take about {} and {} are free; make room, choose fewer users (--users), or another \
                 folder by TMPDIR and TAILLIGHT_CACHE",
                folder.display(),
                Bytes(takes),
                Bytes(free)
            ));
        }
    }
    Ok(())
}

/// The seeds of a plan by the service whose they are.
pub(crate) fn by_service(plan: &Plan, tell: Tell<'_>) -> Result<BTreeMap<String, Arc<Seed>>, Error> {
    let seeds = plan.make_seeds(tell)?;
    let stores = plan.seeded_here().zip(seeds);
    Ok(stores.map(|((store, ..), seed)| (store.service.clone(), Arc::new(seed))).collect())
}
