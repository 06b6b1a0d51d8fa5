//! The command line of each agent's generator, made from this process's own.

use reactor::Address;
use workloads::cache::Server;
use workloads::web::FileSet;

use crate::args::WorkloadName;
use crate::generate::Task;
use crate::handed_on::handed_on_without;
use crate::load::LoadArgs;

/// Options that are not handed on as they were typed: what is shared out, and what is of this machine only.
const NOT_HANDED_ON: [&str; 15] = [
    "connections",
    "clients",
    "cpus",
    "fill",
    "files",
    "files-seed",
    "file-set",
    "agents",
    "agents-cpus",
    "agents-token-file",
    "agents-insecure-token",
    "agents-tls-cert",
    "agents-tls-key",
    "agents-tls-ca",
    "agents-lease",
];

/// The options of generator number `share` of `shares`; `argv` is the command line of the whole load.
///
/// `files` is the file set that is asked for, if it is one.
pub(super) fn of(
    task: &Task,
    files: Option<&FileSet>,
    argv: &[String],
    share: usize,
    shares: usize,
) -> Vec<String> {
    let mut words = handed_on_without::<LoadArgs>(argv, &NOT_HANDED_ON);
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    let part = |all: u32| (all as usize / shares + usize::from(share < all as usize % shares)).to_string();
    // By name where there is one: it decides where consistent hashing puts keys, and what a certificate must bear.
    let server = |(address, name): (&Address, &Server)| match address {
        Address::Unix(_) => address.to_string(),
        Address::Tcp(_) | Address::Udp(_) => name.to_string(),
    };
    let servers: Vec<String> = match task.workload {
        WorkloadName::Web => task.urls.iter().map(ToString::to_string).collect(),
        _ => task.addresses.iter().zip(&task.names).map(server).collect(),
    };
    option("target", servers.join(","));
    // The folder of a file set is here and not there; what it holds can be said in two words.
    if let Some(files) = files {
        option("files", files.to_string());
        option("files-seed", files.seed().to_string());
    }
    if let Some(rate) = task.rate {
        // The whole rate: its arrivals are cut among all, so that together they are one process.
        option("rate", rate.rps().to_string());
    }
    option("connections", part(task.load.connections));
    if let Some(clients) = task.load.clients {
        option("clients", part(clients));
    }
    if let Some(cpus) = &task.load.agents.agents_cpus {
        option("cpus", cpus.to_string());
    }
    if task.workload == WorkloadName::Cache {
        // The coordinator has stored the data set, once.
        option("fill", "never".into());
    }
    words
}
