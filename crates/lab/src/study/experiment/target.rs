//! The server of an experiment, as a person writes it.

use launch::Form;
use units::{Bytes, CpuList};

use crate::study::DefinitionError;
use crate::study::section::{Section, nearest};
use crate::{FilesPlace, TargetName};

/// The server under test.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Which.
    pub server: TargetName,
    /// In what it runs: `bare`, `bridged`, `lxc`, `podman`, `docker`.
    pub form: Form,
    /// Threads that serve, of all instances together.
    pub threads: u32,
    /// How many of it run; the keys are shared out among them.
    pub instances: u32,
    /// Its processors.
    pub cpus: Cpus,
    /// The network device of its machine that settings act on; `None`: the one that it is reached by, as far as that is
    /// known.
    pub device: Option<String>,
    /// Memory for items.
    pub memory: Bytes,
    /// Further arguments; of nginx settings, such as `gzip=6`.
    pub args: Vec<String>,
    /// A program of one's own.
    pub binary: Option<String>,
    /// Where the files of a web server are made.
    pub files_in: FilesPlace,
}

/// Where a server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// As many as threads where there are so many beside the generator's, else fewer.
    Apart,
    /// One for each thread, the generator's too where there are not enough.
    PerThread,
    /// The generator's own.
    OfGenerator,
    /// One logical processor of each of so many physical cores.
    Cores(usize),
    /// So many logical processors, counted core by core, so that siblings are used up first.
    Siblings(usize),
    /// These.
    List(CpuList),
}

impl Target {
    pub(super) fn read(mut section: Section) -> Result<Target, DefinitionError> {
        let server = section.text("server")?.unwrap_or_else(|| "sphinx".into());
        let server = server.parse().map_err(|e| DefinitionError(format!("{}: {e}", section.at("server"))))?;
        let form = match section.text("form")? {
            None => Form::Bare,
            Some(text) => text.parse().map_err(|e| {
                let near = nearest(&text, Form::ALL.into_iter().map(Form::name));
                let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
                DefinitionError(format!("{}: {e}{near}", section.at("form")))
            })?,
        };
        let target = Target {
            server,
            form,
            threads: section.count("threads")?.unwrap_or(1),
            instances: section.count("instances")?.unwrap_or(1),
            cpus: Cpus::read(&mut section)?,
            device: section.text("device")?,
            memory: section.quantity("memory", "1GiB")?.unwrap_or(Bytes(1 << 30)),
            args: section.texts("args")?,
            binary: section.text("binary")?,
            files_in: match section.text("files-in")? {
                None => FilesPlace::default(),
                Some(text) => {
                    text.parse().map_err(|e| DefinitionError(format!("{}: {e}", section.at("files-in"))))?
                }
            },
        };
        section.end()?;
        Ok(target)
    }
}

impl Cpus {
    fn read(section: &mut Section) -> Result<Cpus, DefinitionError> {
        let Some(text) = section.text("cpus")? else { return Ok(Cpus::Apart) };
        let count = |text: &str| {
            let wrong = || format!("{}: '{text}' is no number of processors", section.at("cpus"));
            text.parse().ok().filter(|n| *n > 0).ok_or_else(|| DefinitionError(wrong()))
        };
        Ok(match (text.as_str(), text.split_once(':')) {
            ("apart", _) => Cpus::Apart,
            ("per-thread", _) => Cpus::PerThread,
            ("generator", _) => Cpus::OfGenerator,
            (_, Some(("cores", n))) => Cpus::Cores(count(n)?),
            (_, Some(("siblings", n))) => Cpus::Siblings(count(n)?),
            (list, _) => Cpus::List(list.parse().map_err(|e| {
                let others = "apart, per-thread, generator, cores:N or siblings:N";
                DefinitionError(format!("{}: {e}, or {others}", section.at("cpus")))
            })?),
        })
    }
}

impl std::fmt::Display for Cpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cpus::Apart => f.write_str("apart"),
            Cpus::PerThread => f.write_str("per-thread"),
            Cpus::OfGenerator => f.write_str("generator"),
            Cpus::Cores(n) => write!(f, "cores:{n}"),
            Cpus::Siblings(n) => write!(f, "siblings:{n}"),
            Cpus::List(list) => list.fmt(f),
        }
    }
}
