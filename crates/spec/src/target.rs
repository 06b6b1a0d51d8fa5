//! The server under test.

use core::net::IpAddr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, CpuList, ParseError};

use crate::defaults::default_options;
use crate::text::{as_text, count, exact, list, words};
use crate::{Form, TargetName};

/// The server under test, and the set-up of a server started for the run.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Server")]
#[serde(default, rename_all = "kebab-case")]
#[schemars(rename = "TargetSpec")]
pub struct Target {
    /// The server's name or address.
    #[arg(skip = TargetName::app("sphinx"))]
    #[schemars(extend("x-source" = "ours, because Sphinx comes along and takes no installation"))]
    pub server: TargetName,
    /// Isolation form of a server that is started here: bare (none), bridged (behind the bridge that containers use,
    /// without a container), or a container: lxc, podman, docker. All but bare need root.
    #[arg(long, default_value_t = Form::Bare, value_name = "FORM")]
    #[schemars(extend("x-source" = "ours, because a bare process takes neither root nor a container engine; IISWC'17 §III-B has LXC"))]
    pub form: Form,
    /// Program to start in place of the embedded Sphinx (a taillight or sphinxd) or of the program that is found here.
    #[arg(id = "server_binary", long = "server-binary", value_name = "FILE")]
    #[schemars(extend("x-source" = "ours, because the program that comes along or is found is measured unless another is named"))]
    pub binary: Option<PathBuf>,
    /// Image that podman or docker runs in place of this machine's own program.
    #[arg(
        id = "server_image",
        long = "server-image",
        value_name = "IMAGE",
        conflicts_with = "server_binary"
    )]
    #[schemars(extend("x-source" = "ours, because a container runs this machine's own program unless an image is named"))]
    pub image: Option<String>,
    /// Servers to start, among which threads, memory and processors are divided; load goes to all.
    #[arg(id = "server_instances", long = "server-instances", default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=250))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "IISWC'17 §III-B: one instance"))]
    pub instances: u32,
    /// Have the server started on another machine, where 'taillight agent --role server' runs; other forms than bare
    /// take its --serve-range. One of its services: --server-set SERVICE.agent=HOST:PORT.
    #[arg(id = "server_agent", long = "server-agent", value_name = "HOST:PORT")]
    #[schemars(extend("x-source" = "ours, because a server runs on this machine unless another is named"))]
    pub agent: Option<String>,
    /// Address of this machine for a bare server that is started here, so that generators on other machines can reach
    /// it; so can every other host on that network [default: loopback].
    #[arg(id = "server_listen", long = "server-listen", value_name = "IP")]
    #[schemars(extend("x-source" = "ours, because nothing listens beyond loopback unless it is asked to"))]
    pub listen: Option<IpAddr>,
    /// Threads, or worker processes, of a server that is started here.
    #[arg(id = "server_threads", long = "server-threads", default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "ours, because two processors leave one for the server; IISWC'17 §III-B has 7, on 7 cores"))]
    pub threads: u32,
    /// Memory for items of a server that is started here.
    #[arg(id = "server_memory", long = "server-memory", default_value = "1GiB", value_name = "SIZE")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because a million items of the default sizes fit, so that nothing is evicted; memcached's default is 64 MB"))]
    pub memory: Bytes,
    /// Processors of a server that is started here, such as 0 or 0,2-3 [default: the first ones].
    #[arg(id = "server_cpus", long = "server-cpus", default_value_t = Cpus::Apart, hide_default_value = true, value_name = "LIST")]
    #[schemars(extend("x-source" = "ours, because a server that shares its processors with the generator is measured together with it; IISWC'17 §III-C has the clients on other machines"))]
    pub cpus: Cpus,
    /// The network device of the server's machine that knobs act on; `None`: the device through which the server is
    /// reached, if known.
    #[arg(skip)]
    #[schemars(extend("x-source" = "ours, because the device that a server is reached by is the one that its packets use"))]
    pub device: Option<String>,
    /// A setting of the target: NAME=VALUE, or SERVICE.NAME=VALUE where several services have it. SERVICE.threads, memory,
    /// cpus, pin, instances, form, agent (or here), listen, binary and image place one service apart from the others. May be
    /// given more than once.
    #[arg(id = "server_set", long = "server-set", value_name = "NAME=VALUE")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-source" = "ours, because each setting has its default in the app.toml of its application (taillight explain targets)"))]
    pub set: Vec<String>,
    /// A further argument for the target's service that takes any, such as --server-arg=-o
    /// --server-arg=no_lru_maintainer. May be given more than once.
    #[arg(id = "server_arg", long = "server-arg", value_name = "ARG", allow_hyphen_values = true)]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-source" = "ours, because a server runs with its own defaults unless arguments are given"))]
    pub args: Vec<String>,
    /// Where a web server's files are made, unless --file-set names a folder of them: memory (tmpfs), disk, or the path
    /// of a folder. They are removed at the end.
    #[arg(long, default_value_t = FilesPlace::Memory, value_name = "PLACE")]
    #[schemars(extend("x-source" = "ours, because from a disk the disk would be measured"))]
    pub files_in: FilesPlace,
    /// When data that the workload changes are reset: trial (before each trial except the first: the target is stopped,
    /// its initial data are copied back, and it is started again) or never.
    #[arg(long, default_value_t = Reset::default(), value_name = "WHEN")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3: transactional data are cleared between runs"))]
    pub reset: Reset,
}

default_options! { Target; }

/// The processors of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cpus {
    /// One for each thread, apart from the generator's; fewer if the machine has too few.
    #[default]
    Apart,
    /// One for each thread, including the generator's if there are too few.
    PerThread,
    /// The generator's own.
    OfGenerator,
    /// One logical processor of each of this number of physical cores.
    Cores(usize),
    /// This number of logical processors, counted core by core, so that siblings are used up first.
    Siblings(usize),
    /// These.
    List(CpuList),
}

impl FromStr for Cpus {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Cpus, ParseError> {
        let error = |problem: String| ParseError {
            what: "processors of a server",
            given: text.into(),
            problem,
            hint: "write a list such as 0 or 0,2-3, or apart, per-thread, generator, cores:N or siblings:N",
        };
        let count = |number: &str| {
            let count = number.parse().ok().filter(|n: &usize| *n > 0);
            count.ok_or_else(|| error(format!("'{number}' is not a number of processors from 1 on")))
        };
        Ok(match (text, text.split_once(':')) {
            ("apart", _) => Cpus::Apart,
            ("per-thread", _) => Cpus::PerThread,
            ("generator", _) => Cpus::OfGenerator,
            (_, Some(("cores", n))) => Cpus::Cores(count(n)?),
            (_, Some(("siblings", n))) => Cpus::Siblings(count(n)?),
            (list, _) => Cpus::List(list.parse().map_err(|e: ParseError| error(e.problem))?),
        })
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

words! {
    /// When data that a workload changes are reset.
    #[derive(Default)]
    pub enum Reset: "time of a reset", "write trial or never" {
        /// Before each trial.
        #[default]
        Trial = "trial",
        /// They stay as they are.
        Never = "never",
    }
}

/// The place of a web server's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FilesPlace {
    /// In memory (tmpfs), so that no disk is measured.
    #[default]
    Memory,
    /// In the folder for temporary files, or for persistent ones if that is in memory.
    Disk,
    /// In a folder of its own below this one.
    Below(PathBuf),
}

impl FromStr for FilesPlace {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<FilesPlace, ParseError> {
        match text {
            "memory" => Ok(FilesPlace::Memory),
            "disk" => Ok(FilesPlace::Disk),
            path if path.contains('/') => Ok(FilesPlace::Below(path.into())),
            _ => Err(ParseError {
                what: "place of a file set",
                given: text.into(),
                problem: "there is none of this name".into(),
                hint: "write memory (tmpfs), disk (a folder for temporary files that lies on one) or the path of a folder, with a / in it",
            }),
        }
    }
}

impl fmt::Display for FilesPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilesPlace::Memory => f.pad("memory"),
            FilesPlace::Disk => f.pad("disk"),
            FilesPlace::Below(folder) => folder.display().fmt(f),
        }
    }
}

as_text! { Cpus; FilesPlace; TargetName; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back() {
        for text in ["memory", "disk", "/var/tmp", "./here"] {
            assert_eq!(text.parse::<FilesPlace>().unwrap().to_string(), text);
        }
        let error = "tmpfs".parse::<FilesPlace>().unwrap_err().to_string();
        assert!(error.contains("'tmpfs'") && error.contains("write memory"), "{error}");
    }

    #[test]
    fn processors_read_back() {
        for text in ["apart", "per-thread", "generator", "cores:4", "siblings:7", "0-1"] {
            assert_eq!(text.parse::<Cpus>().unwrap().to_string(), text);
        }
        let error = "cores:0".parse::<Cpus>().unwrap_err().to_string();
        assert!(error.contains("'0' is not a number of processors"), "{error}");
        let error = "x".parse::<Cpus>().unwrap_err().to_string();
        assert!(error.contains("apart, per-thread, generator, cores:N or siblings:N"), "{error}");
    }
}
