//! The data set of an application, made once by its script and kept for all that begins with it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::description::{App, DataSet};
use crate::program::VersionedProgram;
use crate::seed::{self, Making, Tell};
use crate::{Error, Plan, copy, template, work};

/// Changes when this program makes another data set of the same script.
const FORMAT: u32 = 1;

impl Plan {
    /// The current or future folder of the application's data set; `None` without a data set.
    pub fn data_folder(&self) -> Option<PathBuf> {
        let data = self.app().data.as_ref()?;
        let made =
            || Some(crate::made_folder(self.app().made_as()).join("data").join(self.data_key(data).ok()?));
        self.data.clone().or_else(made)
    }

    /// Makes the data set unless it exists; `tell` receives the last line printed by its script.
    ///
    /// Errors: it cannot be made, with the last lines of its script; it was stopped. No partial data set remains.
    pub fn make_data_set(&self, tell: Tell<'_>) -> Result<Option<PathBuf>, Error> {
        let error = |problem: String| Error::DataSet { app: self.app().name.clone(), problem };
        let Some(data) = &self.app().data else { return Ok(None) };
        let folder = match self.data_folder() {
            Some(folder) => folder,
            None => return Err(error(self.data_key(data).err().unwrap_or_default())),
        };
        if folder.join(&data.whole).exists() {
            return Ok(Some(folder));
        }
        if self.data.is_some() {
            return Err(error(format!(
                "{} holds no {}; name the folder of a whole data set, or none",
                folder.display(),
                data.whole
            )));
        }
        let io = |path: &Path, e: io::Error| error(format!("{}: {e}", path.display()));
        let home = folder.parent().unwrap_or(&folder);
        fs::create_dir_all(home).map_err(|e| io(home, e))?;
        let lock = folder.with_extension("lock");
        let _locked = seed::locked(&lock, tell).map_err(|e| io(&lock, e))?.ok_or(Error::Stopped)?;
        // Another process may have made it while we waited.
        if folder.join(&data.whole).exists() {
            return Ok(Some(folder));
        }
        let (partial, log) = (folder.with_extension("partial"), folder.with_extension("log"));
        copy::remove(&partial).map_err(|e| io(&partial, e))?;
        let unpacked = home.with_file_name("source");
        let source = self.app().unpack(&unpacked).map_err(|e| io(&unpacked, e))?;
        let mut args = vec![source.join(&data.script).display().to_string(), partial.display().to_string()];
        args.extend(self.data_args(data).map_err(&error)?);
        let mut file = File::create(&log).map_err(|e| io(&log, e))?;
        let program = launch::find_program(&data.program).ok_or_else(|| {
            let package = data.package.as_deref().unwrap_or(&data.program);
            error(format!("there is no {}; install it: apt-get install {package}", data.program))
        })?;
        let mut told = |line: &str| tell(&Making::DataSet { line: line.to_owned() });
        let ended = work::run(&data.script, &program, &args, &source, &mut file, &mut told);
        let whole =
            ended.and_then(|ended| match ended.status.success() && partial.join(&data.whole).exists() {
                true => fs::rename(&partial, &folder).map_err(|e| io(&folder, e)),
                false => Err(error(format!(
                    "{} ended with {}; it takes {}; its last lines, all of which are in {}:\n{}",
                    data.script,
                    ended.status,
                    data.package.as_deref().unwrap_or(&data.program),
                    log.display(),
                    ended.last.join("\n")
                ))),
            });
        if whole.is_err() {
            let _ = copy::remove(&partial);
        }
        whole.map(|()| Some(folder))
    }

    /// The files of the data set that a step of a seed reads, each with the name of its table, in the order of their names.
    ///
    /// Errors: there is none.
    pub(crate) fn data_files(&self, pattern: &str) -> Result<Vec<(String, PathBuf)>, Error> {
        let folder = self.data_folder().unwrap_or_default();
        let error = |problem: String| Error::DataSet { app: self.app().name.clone(), problem };
        let whole = folder.join(pattern);
        let (Some(parent), Some(name)) = (whole.parent(), whole.file_name().and_then(|name| name.to_str()))
        else {
            return Err(error(format!("'{pattern}' names no file")));
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(parent).map_err(|e| error(format!("{}: {e}", parent.display())))? {
            let path = entry.map_err(|e| error(format!("{}: {e}", parent.display())))?.path();
            let found = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            let fits = match name.strip_prefix('*') {
                Some(end) => found.ends_with(end) && !found.starts_with('.'),
                None => found == name,
            };
            if fits {
                let table = found.split('.').next().unwrap_or_default().to_owned();
                files.push((table, path));
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(error(format!("there is no {pattern} in {}", folder.display())));
        }
        Ok(files)
    }

    /// Hash of the data set's inputs: its script with the files in the same folder, and its arguments.
    pub(crate) fn data_key(&self, data: &DataSet) -> Result<String, String> {
        let app: &App = self.app();
        let folder =
            Path::new(&data.script).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let is_part = |name: &str| {
            let below = name.strip_prefix(&folder).and_then(|name| name.strip_prefix('/'));
            below.is_some_and(|name| !name.ends_with(".md") && !name.starts_with("tests/"))
        };
        let hash = app.hash(is_part).map_err(|e| e.to_string())?;
        let args = self.data_args(data)?;
        let text = format!("{FORMAT}\n{}\n{hash:032x}\n{args:?}", data.program);
        Ok(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()))[..16].to_owned())
    }

    /// The hash of the marker that says that the data set in `folder` is complete; 0 without a marker.
    pub(crate) fn data_hash(&self, folder: &Path) -> u128 {
        let whole = self.app().data.as_ref().map_or("", |data| &data.whole);
        fs::read(folder.join(whole)).map(|bytes| xxhash_rust::xxh3::xxh3_128(&bytes)).unwrap_or_default()
    }

    /// Description of the data set for messages: the folder that the user named, or else the arguments of its script.
    pub(crate) fn data_told(&self) -> String {
        let args = || self.data_args(self.app().data.as_ref()?).ok();
        match &self.data {
            Some(folder) => format!("data set in {}", folder.display()),
            None => format!("data set {}", args().unwrap_or_default().join(" ")),
        }
    }

    fn data_args(&self, data: &DataSet) -> Result<Vec<String>, String> {
        let environment = template::environment(&VersionedProgram::default());
        let context = BTreeMap::from([("settings", self.shared().map())]);
        data.args.iter().map(|text| template::render(&environment, text, &context)).collect()
    }
}
