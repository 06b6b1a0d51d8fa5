//! The servers under test, as the command line names them.

use anyhow::Result;
use clap::Args;
use lab::{Placement, Server, ServerOptions, TargetName, allowed_cpus};
use units::{Bytes, CpuList};

/// How the servers that are started here are set up.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Threads of a server that is started here.
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
}

impl ServerArgs {
    /// Which processors server and generator get, where both are on this machine.
    pub(crate) fn placement(&self, generator: Option<&CpuList>) -> Placement {
        let threads = usize::from(self.server_threads);
        let server = self.server_cpus.as_ref().map(|list| list.as_slice());
        Placement::new(&allowed_cpus(), threads, server, generator.map(|list| list.as_slice()))
    }

    /// Starts every target, or looks whether it runs. Two of the same name are told apart by a number.
    ///
    /// Errors: the first that cannot be had; the others are stopped.
    pub(crate) fn start(
        &self,
        targets: &[TargetName],
        placement: &Placement,
        connections: usize,
    ) -> Result<Vec<Server>> {
        let exe = lab::this_program()?;
        let mut servers = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            let extra = match target {
                TargetName::Sphinx => &self.sphinx_arg[..],
                TargetName::Memcached => &self.memcached_arg[..],
                TargetName::Foreign(_) => &[],
            };
            let options = ServerOptions {
                exe: exe.clone(),
                threads: usize::from(self.server_threads),
                memory: self.server_memory,
                connections,
                cpus: placement.server.clone(),
                extra: extra.to_vec(),
            };
            let mut server = Server::start(target, &options)?;
            let before = targets[..i].iter().filter(|other| *other == target).count();
            if before > 0 {
                server.rename(format!("{target} ({})", before + 1));
            }
            servers.push(server);
        }
        Ok(servers)
    }
}

/// What a reader must know of where the servers ran.
pub(crate) fn notes(targets: &[TargetName], placement: &Placement) -> Vec<String> {
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
