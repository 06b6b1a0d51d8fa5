//! Folders that container images are built from: this machine's own programs over nothing, and no base image.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use launch::{ImageRoot, Process, Spec, find_program};

use super::image::Image;
use super::prepare::{SEEDS, SET, TOOLS, beside};
use super::{ACCOUNT, APP, Deployment};
use crate::description::{Need, Service, Signal};
use crate::seed::Making;
use crate::{Error, copy, npm};

/// Time limit for stripping a program of its debugging information.
const STRIP: std::time::Duration = std::time::Duration::from_secs(60);

/// A folder that an image is built from: `podman build -t NAME FOLDER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFolder {
    /// The name of the image, with its tag.
    pub name: String,
    /// The folder, which holds a `Containerfile`.
    pub folder: PathBuf,
}

/// Receives the name of the image being made; returning `false` stops.
pub type TellImage<'a> = &'a mut dyn FnMut(&str) -> bool;

impl Deployment {
    /// The names of its images, base images first.
    pub fn images(&self) -> Vec<String> {
        let data = self.with_data.then(|| "data".to_owned());
        let of_services = self.plan.by_image().into_iter().map(|(name, _)| name);
        ["prepare".to_owned()].into_iter().chain(data).chain(of_services).collect()
    }

    /// Writes a folder for each image below `out`, those that others are built on first; where `only` names some, for these.
    ///
    /// Errors: there is no image of a name; a program or a package is not on this machine, data cannot be made, `out` cannot be
    /// written to, or it was stopped.
    pub fn write_images(
        &self,
        out: &Path,
        only: &[String],
        tell: TellImage<'_>,
    ) -> Result<Vec<ImageFolder>, Error> {
        let names = self.images();
        if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
            let problem = format!("there is no image '{unknown}'; there are {}", names.join(", "));
            return Err(Error::Unfit { service: self.plan.app().name.clone(), problem });
        }
        let by_image = self.plan.by_image();
        let mut all = Vec::new();
        for name in names.iter().filter(|name| only.is_empty() || only.contains(name)) {
            if !tell(name) {
                return Err(Error::Stopped);
            }
            all.push(match by_image.iter().find(|(found, _)| found == name) {
                Some((_, services)) => self.of_services(out, name, services)?,
                None if name == "data" => self.data(out, tell)?,
                None => self.preparing_image(out)?,
            });
        }
        Ok(all)
    }

    fn of_services(&self, out: &Path, name: &str, services: &[&Service]) -> Result<ImageFolder, Error> {
        let folder = out.join(name);
        let root = ImageRoot::make(&folder.join("root"))?;
        if let Some(image) = self.plan.app().image(services[0]) {
            self.described(&root, image)?;
        }
        for service in services {
            let (program, found) = (&service.program, self.plan.find(service)?.path);
            let name = if program.embedded.is_some() { "taillight" } else { &program.name };
            let here = Path::new(APP).join("bin").join(name);
            if program.built || program.embedded.is_some() {
                root.copy(&found, &here)?;
                strip(&root.folder().join(here.strip_prefix("/").unwrap_or(&here)))?;
            } else {
                // Programs such as PostgreSQL locate their files relative to their real path.
                let found = fs::canonicalize(&found).map_err(os(&found))?;
                root.copy(&found, &found)?;
                root.link(&here, &found)?;
            }
        }
        let signals: BTreeSet<&str> = services.iter().map(|service| signal(service)).collect();
        let stop = match signals.first() {
            Some(signal) if signals.len() == 1 && *signal != "SIGTERM" => format!("STOPSIGNAL {signal}\n"),
            _ => String::new(),
        };
        let of: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
        let text =
            format!("# {}\nFROM scratch\nCOPY root/ /\nUSER {ACCOUNT}:{ACCOUNT}\n{stop}", of.join(", "));
        self.ended(folder, name, &text)
    }

    fn described(&self, root: &ImageRoot, image: &Image) -> Result<(), Error> {
        if !image.packages.is_empty() {
            root.packages(&image.packages)?;
        }
        if !image.java_modules.is_empty() {
            root.java(&image.java_modules)?;
        }
        for name in &image.with {
            root.with(name)?;
        }
        for path in &image.built {
            let found = self.plan.built.iter().map(|folder| folder.join(path)).find(|found| found.exists());
            let found = found.ok_or_else(|| launch::Error::NotFound {
                name: format!("image {}", image.name),
                program: path.into(),
                hint: "it is made from source, by `taillight movies build`, or by `taillight serve NAME` of another application".into(),
            })?;
            root.copy(&found, &Path::new(APP).join(path))?;
        }
        Ok(())
    }

    fn preparing_image(&self, out: &Path) -> Result<ImageFolder, Error> {
        let folder = out.join("prepare");
        let root = ImageRoot::make(&folder.join("root"))?;
        for tool in TOOLS {
            root.with(tool)?;
            if let Some(found) = find_program(tool) {
                root.link(&Path::new(APP).join("bin").join(tool), &found)?;
            }
        }
        let below = |path: &str| root.folder().join(path.trim_start_matches('/'));
        for service in self.plan.here() {
            for file in &service.files {
                let to = below(&beside(service, &file.path));
                let written = match (&file.folder, &file.npm) {
                    (Some(name), _) => self.plan.app().copy_folder(name, &to),
                    // Packages that are not installed are left out, as they are when services run as processes.
                    (None, Some(name)) => match npm::find(name, &self.plan.exe) {
                        Some(found) => fs::create_dir_all(to.parent().unwrap_or(&to))
                            .and_then(|()| fs::copy(found, &to))
                            .map(drop),
                        None => Ok(()),
                    },
                    (None, None) => Ok(()),
                };
                written.map_err(os(&to))?;
            }
        }
        let mut text = String::from("# What prepares pods\nFROM scratch\nCOPY root/ /\n");
        let _ = writeln!(text, "ENV PATH={APP}/bin\nUSER {ACCOUNT}:{ACCOUNT}");
        self.ended(folder, "prepare", &text)
    }

    /// The preparing image with the data that services and stores begin with.
    fn data(&self, out: &Path, tell: TellImage<'_>) -> Result<ImageFolder, Error> {
        let folder = out.join("data");
        let root = ImageRoot::bare(&folder.join("root"))?;
        let mut told = |making: &Making| match making {
            Making::DataSet { line } => tell(line),
            _ => tell("data of stores"),
        };
        let seeds = self.plan.make_seeds(&mut told)?;
        for ((store, seeded, _), seed) in self.plan.seeded_here().zip(&seeds) {
            let to = root.folder().join(SEEDS.trim_start_matches('/')).join(&store.name).join(&seeded.folder);
            fs::create_dir_all(to.parent().unwrap_or(&to))
                .and_then(|()| copy::again(&seed.folder.join(&seeded.folder), &to, None))
                .map_err(os(&to))?;
        }
        if self.plan.here().any(|service| service.needs.contains(&Need::Data)) {
            self.plan.make_data_set(&mut told)?;
            let from = self.plan.data_folder().unwrap_or_default();
            let to = root.folder().join(SET.trim_start_matches('/'));
            self.data_set(&from, &to).map_err(os(&from))?;
        }
        let below = self.image("prepare");
        let text = format!(
            "# What prepares pods, and the data that they begin with\nFROM {below}\nCOPY --chown={ACCOUNT}:{ACCOUNT} root/ /\n"
        );
        self.ended(folder, "data", &text)
    }

    /// Copies the data set without files that are only used to make stores.
    fn data_set(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        let seeded = self.plan.app().stores.iter().filter_map(|store| store.seed.as_ref());
        let patterns = seeded.flat_map(|seeded| &seeded.steps).filter_map(|step| step.data.as_ref());
        let only_of_stores: BTreeSet<&str> =
            patterns.filter_map(|path| Some(path.split_once('/')?.0)).collect();
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (found, into) = (entry.path(), to.join(entry.file_name()));
            if !found.is_dir() {
                fs::copy(&found, &into)?;
            } else if !entry.file_name().to_str().is_some_and(|name| only_of_stores.contains(name)) {
                copy::again(&found, &into, None)?;
            }
        }
        Ok(())
    }

    fn ended(&self, folder: PathBuf, name: &str, containerfile: &str) -> Result<ImageFolder, Error> {
        let file = folder.join("Containerfile");
        fs::write(&file, format!("# Written by taillight: {containerfile}").replacen(": # ", ": ", 1))
            .map_err(os(&file))?;
        Ok(ImageFolder { name: self.image(name), folder })
    }
}

fn os(path: &Path) -> impl FnOnce(std::io::Error) -> launch::Error {
    launch::Error::os(path.display(), "cannot write it for an image")
}

fn signal(service: &Service) -> &'static str {
    match service.stop.signal {
        Signal::Term => "SIGTERM",
        Signal::Int => "SIGINT",
        Signal::Quit => "SIGQUIT",
    }
}

/// Strips a program if `strip` is installed: C++ programs shrink to a tenth.
fn strip(program: &Path) -> Result<(), Error> {
    let is_elf = fs::read(program).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    if !is_elf || find_program("strip").is_none() {
        return Ok(());
    }
    Process::run(Spec::new("strip", "strip").arg(program.display().to_string()), STRIP)?;
    Ok(())
}
