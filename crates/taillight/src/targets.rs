//! The servers under test, as the command line names them.

pub(crate) mod remote;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use lab::{Files, FilesPlace, Placement, Server, ServerOptions, TargetName, allowed_cpus};
use launch::Form;
use units::{Bytes, CpuList};

use crate::from_agents::AgentsOptions;

/// How the servers that are started here are set up.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// What stands around a server that is started here: nothing (bare), the bridge that containers have and no
    /// container (bridged), or a container: lxc, podman, docker. All but bare take root.
    #[arg(long, default_value_t = Form::Bare, value_name = "FORM")]
    form: Form,
    /// Program to start in place of the embedded Sphinx (a taillight or sphinxd) or of the memcached or nginx found
    /// here.
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// Image that podman or docker runs in place of this machine's own program.
    #[arg(long, value_name = "IMAGE", conflicts_with = "server_binary")]
    server_image: Option<String>,
    /// Servers to start, among which threads, memory and processors are divided; load goes to all.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=250))]
    server_instances: u16,
    /// Have the server started on another machine, where 'taillight agent --role server' runs; a bare one only.
    #[arg(long, value_name = "HOST:PORT")]
    server_agent: Option<String>,
    /// With --server-agent: a setting of that machine for the time of the run, such as cpu.set=0; its agent must allow it.
    /// May be given more than once.
    #[arg(long, value_name = "NAME=VALUE", requires = "server_agent")]
    server_knob: Vec<String>,
    /// Threads, or worker processes, of a server that is started here.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    server_threads: u16,
    /// Memory for items of a server that is started here.
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    server_memory: Bytes,
    /// Processors of a server that is started here, such as 0 or 0,2-3 [default: the first ones].
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<CpuList>,
    /// A further argument for a memcached that is started here, such as --memcached-arg=-o
    /// --memcached-arg=no_lru_maintainer.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    memcached_arg: Vec<String>,
    /// A further argument for the embedded Sphinx.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    sphinx_arg: Vec<String>,
    /// A setting of an nginx that is started here: open_file_cache=off or =1000, gzip=6, access_log=on, reuseport=on,
    /// sendfile=off. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    nginx_set: Vec<String>,
    /// Where the files that an nginx serves are made, where --file-set names none: memory (tmpfs), disk, or the path of a
    /// folder. They are removed at the end.
    #[arg(long, default_value_t = FilesPlace::Memory, value_name = "PLACE")]
    files_in: FilesPlace,
    /// What it serves: that is said to the generator, and known once its words are.
    #[arg(skip)]
    files: Option<Files>,
}

impl ServerArgs {
    /// Which processors server and generator get, where both are on this machine.
    pub(crate) fn placement(&self, generator: Option<&CpuList>) -> Placement {
        let threads = usize::from(self.server_threads);
        let server = self.server_cpus.as_ref().map(|list| list.as_slice());
        Placement::new(&allowed_cpus(), threads, server, generator.map(|list| list.as_slice()))
    }

    /// Whether servers that are started run on this machine, beside the generator.
    pub(crate) fn is_here(&self) -> bool {
        self.server_agent.is_none()
    }

    /// Has what is to be served follow from the words for the generator, and adds to them what they leave out.
    ///
    /// Errors: they say what cannot be.
    pub(crate) fn serve(&mut self, targets: &[TargetName], words: &mut Vec<String>) -> Result<()> {
        if targets.contains(&TargetName::Nginx) {
            self.files = Some(Files::asked_for(words, &self.files_in)?);
        }
        Ok(())
    }

    /// The set of files that is made for a web server, where one is.
    pub(crate) fn set(&self) -> Option<&str> {
        match &self.files {
            Some(Files::Set { files, .. }) => Some(files),
            _ => None,
        }
    }

    /// Starts every target, or looks whether it runs. Two of the same name are told apart by a number.
    ///
    /// Errors: the first that cannot be had; the others are stopped.
    pub(crate) fn start(
        &self,
        targets: &[TargetName],
        placement: &Placement,
        connections: usize,
        agents: Option<&AgentsOptions>,
    ) -> Result<Vec<Server>> {
        let exe = lab::this_program()?;
        self.check(targets)?;
        let mut servers = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            let mut server = match (&self.server_agent, agents) {
                (Some(agent), Some(agents)) if !matches!(target, TargetName::Foreign(_)) => {
                    // Which processors that machine has is not known here.
                    let cpus = self.server_cpus.as_ref().map_or(Vec::new(), |cpus| cpus.as_slice().to_vec());
                    let options = self.options(target, &exe, cpus, connections);
                    remote::start(agent, agents, (target, &options), &self.server_knob)?
                }
                (Some(_), None) => bail!("--server-agent is for load, sweep, peak and compare; leave it out"),
                _ => {
                    let options = self.options(target, &exe, placement.server.clone(), connections);
                    Server::start(target, &options)?
                }
            };
            let before = targets[..i].iter().filter(|other| *other == target).count();
            if before > 0 {
                server.rename(format!("{target} ({})", before + 1));
            }
            servers.push(server);
        }
        Ok(servers)
    }

    /// How `target` is set up on `cpus`.
    pub(crate) fn options(
        &self,
        target: &TargetName,
        exe: &Path,
        cpus: Vec<usize>,
        connections: usize,
    ) -> ServerOptions {
        let extra = match target {
            TargetName::Sphinx => &self.sphinx_arg[..],
            TargetName::Memcached => &self.memcached_arg[..],
            TargetName::Nginx => &self.nginx_set[..],
            TargetName::Foreign(_) => &[],
        };
        ServerOptions {
            form: self.form,
            binary: self.server_binary.clone(),
            image: self.server_image.clone(),
            instances: usize::from(self.server_instances),
            threads: usize::from(self.server_threads),
            memory: self.server_memory,
            connections,
            cpus,
            extra: extra.to_vec(),
            files: self.files.clone(),
            ..ServerOptions::new(exe)
        }
    }

    /// Has it serve a set of files that a coordinator asks for. Errors: in a place that is not for others to choose.
    pub(crate) fn serve_set(&mut self, files: String, seed: u64) -> Result<(), String> {
        if let FilesPlace::Below(folder) = &self.files_in {
            return Err(format!(
                "it makes files in memory or on disk, and not in {}, as a coordinator may not choose folders here",
                folder.display()
            ));
        }
        self.files = Some(Files::Set { files, seed, place: self.files_in.clone() });
        Ok(())
    }

    /// Whether these servers can be started so.
    fn check(&self, targets: &[TargetName]) -> Result<()> {
        let (own, foreign): (Vec<_>, Vec<_>) =
            targets.iter().partition(|target| !matches!(target, TargetName::Foreign(_)));
        let program = self.server_binary.is_some() || self.server_image.is_some();
        if program && own.iter().any(|target| *target != own[0]) {
            bail!(
                "--server-binary and --server-image say what one server is, and {} and {} are two; leave them out",
                own[0],
                own[own.len() - 1]
            );
        }
        let changed =
            program || self.form != Form::Bare || self.server_instances > 1 || self.server_agent.is_some();
        if let (true, true, Some(foreign)) = (own.is_empty(), changed, foreign.first()) {
            bail!(
                "{foreign} already runs, so that --form, --server-binary, --server-image, --server-instances and --server-agent \
                 mean nothing to it; leave them out, or use --target sphinx, memcached or nginx"
            );
        }
        if self.server_threads < self.server_instances {
            bail!(
                "{} threads for {} instances: each needs one; use --server-threads {} or more",
                self.server_threads,
                self.server_instances,
                self.server_instances
            );
        }
        Ok(())
    }

    /// What a reader must know of where the servers of these targets ran.
    pub(crate) fn notes(&self, targets: &[TargetName], placement: &Placement) -> Vec<String> {
        let mut notes = notes(targets, placement);
        if let Some(agent) = &self.server_agent {
            // Whose processors are whose on one machine is beside the point.
            notes.retain(|note| *note != placement.note());
            notes.push(format!("The server ran on another machine, started by the agent at {agent}."));
            if !self.server_knob.is_empty() {
                notes.push(format!("Settings of that machine: {}.", self.server_knob.join(", ")));
            }
        }
        if self.server_instances > 1 {
            notes.push(format!(
                "{} instances shared threads, memory and processors{}.",
                self.server_instances,
                if targets.contains(&TargetName::Nginx) {
                    ""
                } else {
                    "; keys were spread over them by consistent hashing"
                }
            ));
        }
        notes.extend(match self.form {
            Form::Bare => None,
            Form::Bridged => Some(
                "The server ran bare behind a bridge and a veth, as a container does: the baseline of a container."
                    .into(),
            ),
            form => Some(format!(
                "The server ran in a container of {form} behind a bridge and a veth; compare with --form bridged, which \
                 differs by the container alone."
            )),
        });
        notes.extend(launch::network_note().filter(|_| self.form != Form::Bare));
        notes
    }
}

/// What a reader must know of where the servers ran, whatever stands around them.
fn notes(targets: &[TargetName], placement: &Placement) -> Vec<String> {
    let foreign = targets.iter().filter(|target| matches!(target, TargetName::Foreign(_))).count();
    let mut notes = Vec::new();
    if foreign < targets.len() {
        notes.push(placement.note());
    }
    if foreign > 0 {
        notes.push(
            "A server that already ran was measured as it was: this program neither pinned nor flushed it, and \
             it may share cores with the generator."
                .into(),
        );
    }
    if targets.len() > 1 {
        notes.push(
            "All servers ran throughout; only one was under load at a time while the others slept. Loads are \
             shares of the smaller maximum in each block, so that all are offered the same."
                .into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes_of(targets: &[&str], server: &[usize], generator: &[usize]) -> String {
        let targets: Vec<TargetName> = targets.iter().map(|text| text.parse().unwrap()).collect();
        let placement = Placement { server: server.to_vec(), generator: generator.to_vec() };
        notes(&targets, &placement).join("\n")
    }

    #[test]
    fn a_reader_is_told_who_ran_where() {
        let check =
            |targets: &[&str], server: &[usize], generator: &[usize], there: &[&str], not: &[&str]| {
                let notes = notes_of(targets, server, generator);
                assert!(there.iter().all(|words| notes.contains(words)), "{notes}");
                assert!(!not.iter().any(|words| notes.contains(words)), "{notes}");
            };
        check(&["sphinx"], &[0], &[1], &["to itself"], &["share", "slept", "already ran"]);
        check(&["sphinx"], &[0], &[0], &["share cores"], &["to itself"]);
        check(&["127.0.0.1:1"], &[0], &[1], &["neither pinned nor flushed"], &["to itself"]);
        check(&["sphinx", "memcached"], &[0], &[1], &["slept", "smaller maximum"], &["already ran"]);
    }
}
