//! The program of a service: installed here, the user's own build, or part of an image.

use std::path::{Path, PathBuf};
use std::time::Duration;

use launch::{Process, Spec, find_program};
use regex_lite::Regex;

use crate::description::{Beside, Program, Version};
use crate::settings::Values;
use crate::{Error, Placement, template};

/// How long a program may take to tell its version; it takes some ms.
const VERSION_WAIT: Duration = Duration::from_secs(10);

/// A program with its version information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionedProgram {
    /// The program.
    pub path: PathBuf,
    /// Its version, `1.22.1`; empty until it answers.
    pub version: String,
    /// Words that describe the build: `--with-threads`.
    pub build: Vec<String>,
    /// Arguments before all others.
    pub before: Vec<String>,
}

impl VersionedProgram {
    /// Whether it is this version or a later one; a version that is not known counts as the latest.
    pub(crate) fn is_at_least(&self, version: &str) -> bool {
        let numbers = |text: &str| text.split('.').map(|number| number.parse::<u32>().ok()).collect();
        let (own, least): (Option<Vec<u32>>, Option<Vec<u32>>) = (numbers(&self.version), numbers(version));
        own.is_none_or(|own| least.is_none_or(|least| own >= least))
    }
}

impl Beside {
    /// Whether it is needed with these settings and not there.
    pub(crate) fn is_missing(&self, settings: &Values) -> bool {
        // With the default settings it could be evaluated, as was checked.
        let is_needed = self.when.as_ref().is_none_or(|when| template::holds(when, settings).unwrap_or(true));
        let is_there = || match self.file.contains('/') {
            true => Path::new(&self.file).exists(),
            false => find_program(&self.file).is_some(),
        };
        is_needed && !is_there()
    }
}

impl Program {
    /// The program that `placement` selects; `exe` is this program, and `built` the folders of built programs.
    ///
    /// Errors: it is not installed, with the package to install; or it is another program.
    pub fn find(
        &self,
        placement: &Placement,
        exe: &Path,
        built: &[PathBuf],
    ) -> Result<VersionedProgram, Error> {
        let is_embedded = self.is_embedded(placement);
        let path = self.locate(placement, exe, built)?;
        let alone = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&self.name));
        let before = match &self.embedded {
            Some(server) if !alone => vec!["serve".into(), server.clone()],
            _ => Vec::new(),
        };
        let found = VersionedProgram { path, before, ..VersionedProgram::default() };
        match &self.version {
            _ if is_embedded => Ok(VersionedProgram { version: env!("CARGO_PKG_VERSION").into(), ..found }),
            Some(version) if placement.image.is_none() => self.asked(version, found),
            _ => Ok(found),
        }
    }

    fn is_embedded(&self, placement: &Placement) -> bool {
        self.embedded.is_some() && placement.binary.is_none() && placement.image.is_none()
    }

    /// Its path, found as by [`Program::find`] but without running it.
    ///
    /// Errors: it is not installed or not built, with the remedy.
    pub(crate) fn locate(
        &self,
        placement: &Placement,
        exe: &Path,
        built: &[PathBuf],
    ) -> Result<PathBuf, Error> {
        match (&placement.binary, &placement.image) {
            (Some(binary), _) => Ok(binary.clone()),
            // The content of an image is unknown until it runs.
            (None, Some(_)) => Ok(PathBuf::from(&self.name)),
            (None, None) if self.is_embedded(placement) => Ok(exe.into()),
            (None, None) if self.built => {
                let mut files = built.iter().map(|folder| folder.join("bin").join(&self.name));
                files.find(|file| file.is_file()).ok_or_else(|| self.not_built(built))
            }
            (None, None) => {
                let there =
                    || self.folders.iter().map(|folder| folder.join(&self.name)).find(|file| file.is_file());
                find_program(&self.name).or_else(there).ok_or_else(|| self.missing())
            }
        }
    }

    fn not_built(&self, built: &[PathBuf]) -> Error {
        let folders: Vec<String> =
            built.iter().map(|folder| folder.join("bin").display().to_string()).collect();
        self.not_found(format!(
            "it is made from source and is not in {}; `taillight movies build` makes those of the movie site, with --source \
             FOLDER those of an application of your own, and `taillight serve NAME` those of another that it starts",
            folders.join(" or ")
        ))
    }

    fn missing(&self) -> Error {
        let package = match &self.package {
            Some(package) => format!("install it (`apt-get install {package}`), "),
            None => String::new(),
        };
        self.not_found(format!(
            "{package}name another by --server-binary, or measure a server that runs: `--target HOST:PORT`"
        ))
    }

    fn not_found(&self, hint: String) -> Error {
        let name = self.name.clone();
        launch::Error::NotFound { program: name.clone().into(), name, hint }.into()
    }

    /// `found` with the version that the program prints.
    fn asked(&self, version: &Version, found: VersionedProgram) -> Result<VersionedProgram, Error> {
        let name = format!("{} {}", self.name, version.args.join(" "));
        let mut process = Process::spawn(Spec::new(&name, &found.path).args(version.args.iter().cloned()))?;
        process.wait_success(VERSION_WAIT)?;
        let mut said = process.rest();
        said.extend(process.stop(VERSION_WAIT)?.stderr);
        let group = |pattern: &str| {
            let pattern = Regex::new(pattern).ok()?;
            said.iter().find_map(|line| Some(pattern.captures(line)?.get(1)?.as_str().to_owned()))
        };
        let Some(number) = group(&version.pattern) else {
            return Err(Error::Answer {
                service: self.name.clone(),
                doing: format!("read its version from '{} {}'", found.path.display(), version.args.join(" ")),
                problem: format!(
                    "it printed '{}', which does not match '{}'; name another program by --server-binary",
                    said.first().map_or("", String::as_str),
                    version.pattern
                ),
            });
        };
        let build = version.build.as_deref().and_then(group).unwrap_or_default();
        Ok(VersionedProgram {
            version: number,
            build: build.split_whitespace().map(str::to_owned).collect(),
            ..found
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_versions_by_number() {
        let check = |version: &str, least: &str, expect: bool| {
            let found = VersionedProgram { version: version.into(), ..VersionedProgram::default() };
            assert_eq!(found.is_at_least(least), expect, "{version} {least}");
        };
        check("1.22.1", "1.19.5", true);
        check("1.9.15", "1.19.5", false);
        check("1.19.5", "1.19.5", true);
        check("1.27", "1.19.5", true);
        check("", "1.19.5", true);
    }

    fn memcached() -> Program {
        crate::of_name("memcached").unwrap().services[0].program.clone()
    }

    #[test]
    fn a_program_that_is_another_is_refused() {
        let placement = Placement { binary: Some("/bin/echo".into()), ..Placement::default() };
        let error = memcached().find(&placement, Path::new("/x"), &[]).unwrap_err().to_string();
        assert!(error.contains("it printed '-V', which does not match '^memcached "), "{error}");
        let program = Program { name: "no-such-server".into(), ..memcached() };
        let error = program.find(&Placement::default(), Path::new("/x"), &[]).unwrap_err().to_string();
        assert!(error.contains("no-such-server") && error.contains("apt-get install memcached"), "{error}");
    }

    #[test]
    fn what_is_built_is_found_in_the_first_folder_that_has_it() {
        let root = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| root.path().join(name));
        let program = Program { name: "a-plot".into(), built: true, version: None, ..memcached() };
        let find = || program.find(&Placement::default(), Path::new("/x"), &[one.clone(), two.clone()]);
        let error = find().unwrap_err().to_string();
        assert!(error.contains("two/bin") && error.contains("`taillight movies build`"), "{error}");
        for folder in [&two, &one] {
            std::fs::create_dir_all(folder.join("bin")).unwrap();
            std::fs::write(folder.join("bin/a-plot"), "").unwrap();
            assert_eq!(find().unwrap().path, folder.join("bin/a-plot"));
        }
        let beside =
            Program { name: "a-plot".into(), folders: vec![two.join("bin")], version: None, ..memcached() };
        assert_eq!(
            beside.find(&Placement::default(), Path::new("/x"), &[]).unwrap().path,
            two.join("bin/a-plot")
        );
    }

    #[test]
    fn an_embedded_server_is_this_program_or_a_build_of_it() {
        let sphinx = crate::of_name("sphinx").unwrap().services[0].program.clone();
        let check = |binary: Option<&str>, image: Option<&str>, expect: (&str, &str)| {
            let placement = Placement {
                binary: binary.map(PathBuf::from),
                image: image.map(str::to_owned),
                ..Placement::default()
            };
            let found = sphinx.find(&placement, Path::new("/opt/taillight"), &[]).unwrap();
            assert_eq!((found.path.to_str().unwrap(), found.before.join(" ").as_str()), expect);
        };
        check(None, None, ("/opt/taillight", "serve sphinx"));
        check(Some("/opt/taillight-new"), None, ("/opt/taillight-new", "serve sphinx"));
        check(Some("/opt/sphinxd-0.2"), None, ("/opt/sphinxd-0.2", ""));
        check(None, Some("cache:1"), ("sphinxd", ""));
    }
}
