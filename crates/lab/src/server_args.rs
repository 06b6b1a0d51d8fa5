//! The servers under test, as the command line names them.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use host::Limits;
use launch::Form;
use spec::{Agents, Cpus, Spec, Workload};
use units::CpuList;

use crate::agents::Machines;
use crate::{Error, Files, KnobGuard, Placement, Seed, Server, ServerOptions, TargetName, allowed_cores};

/// Makes the initial data of a target and shows the progress.
pub type MakeData = fn(&TargetName, &ServerOptions) -> Result<Vec<Seed>, Error>;

/// How the servers that are started here are set up.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    #[command(flatten)]
    target: spec::Target,
    /// A knob of the server's machine, set during the load, such as cpu.set=0, or a profile, such as
    /// profile=cache-server. On this machine it needs root; with --server-agent it is set on that machine, whose agent
    /// must allow it. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    pub server_knob: Vec<String>,
    /// A further argument for memcached only, if it is one of several targets.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    memcached_arg: Vec<String>,
    /// A further argument for the embedded Sphinx only, if it is one of several targets.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    sphinx_arg: Vec<String>,
    /// A setting of nginx only, if it is one of several targets: open_file_cache=off or =1000, gzip=6, access_log=on,
    /// reuseport=on, sendfile=off. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    nginx_set: Vec<String>,
    /// The files that it serves; known once the workload is known.
    #[arg(skip)]
    files: Option<Files>,
    /// The workload, which determines the target's initial data.
    #[arg(skip)]
    workload: Workload,
}

impl ServerArgs {
    /// Which processors server and generator get, where both are on this machine.
    pub fn placement(&self, generator: Option<&CpuList>) -> Placement {
        let threads = self.target.threads as usize;
        let server = if let Cpus::List(list) = &self.target.cpus { Some(list.as_slice()) } else { None };
        let placement =
            Placement::new(&allowed_cores(), threads, server, generator.map(|list| list.as_slice()));
        match generator {
            Some(_) => placement,
            None => placement.within(Limits::here().processors.as_ref()),
        }
    }

    /// Whether a service that is started for these targets runs on this machine, next to the generator.
    pub fn is_here(&self, targets: &[TargetName]) -> bool {
        self.services(targets).iter().any(|(_, placement)| placement.agent.is_none())
    }

    /// The services that are started for these targets, each with its place. Starting a service reports an impossible placement.
    fn services(&self, targets: &[TargetName]) -> Vec<(String, app::Placement)> {
        let of = |target: &TargetName| {
            let app = crate::application(target).ok()??;
            let options = ServerOptions::of(&self.target(target), Path::new(""), Vec::new(), 0);
            let plan = options.plan(&app).ok()?;
            let place =
                |service: &app::Service| Some((service.name.clone(), plan.placement(&service.name)?.clone()));
            Some(app.services.iter().filter_map(place).collect::<Vec<_>>())
        };
        targets.iter().filter_map(of).flatten().collect()
    }

    /// How `target` is set up, as a specification has it.
    pub fn target(&self, target: &TargetName) -> spec::Target {
        let of = |app: &str, words: &[String]| if target.is_app(app) { words.to_vec() } else { Vec::new() };
        let mut args = [of("sphinx", &self.sphinx_arg), of("memcached", &self.memcached_arg)].concat();
        args.extend_from_slice(&self.target.args);
        let set = [of("nginx", &self.nginx_set), self.settings_of(target)].concat();
        spec::Target { server: target.clone(), set, args, ..self.target.clone() }
    }

    /// The settings for `target`: of several targets, those for a service that it does not have are for another.
    fn settings_of(&self, target: &TargetName) -> Vec<String> {
        let Ok(Some(app)) = crate::application(target) else { return Vec::new() };
        let is_for_it =
            |word: &&String| service_of(word).is_none_or(|service| app.service(service).is_some());
        self.target.set.iter().filter(is_for_it).cloned().collect()
    }

    /// The same from a specification.
    pub fn of(spec: &Spec) -> ServerArgs {
        ServerArgs {
            target: spec.target.clone(),
            server_knob: spec.knobs.iter().map(ToString::to_string).collect(),
            workload: spec.workload.clone(),
            ..ServerArgs::default()
        }
    }

    /// Whether the server's knobs belong to an agent's machine.
    fn has_knobs_elsewhere(&self) -> bool {
        !self.server_knob.is_empty() && self.target.agent.is_some()
    }

    /// What holds the knobs of this machine while `servers` are under load.
    ///
    /// Errors: a knob that this machine does not support.
    pub fn hold(&self, spec: &Spec, servers: &[Server], placement: &Placement) -> Result<KnobGuard, Error> {
        let knobs = if self.target.agent.is_some() { &[][..] } else { &self.server_knob };
        let knobs =
            knobs.iter().map(|knob| knob.parse()).collect::<Result<Vec<spec::Knob>, units::ParseError>>()?;
        let spec = Spec { knobs, ..spec.clone() };
        KnobGuard::on(&spec, "command", servers, placement)
    }

    /// Derives the served files from the workload; a workload without a set of files gets the default set.
    ///
    /// Errors: the requested files cannot be served.
    pub fn serve(&mut self, targets: &[TargetName], workload: &mut Workload) -> Result<(), Error> {
        self.workload = workload.clone();
        for target in targets {
            if let Some(files) = Files::of_workload(workload, target, &self.target.files_in)? {
                self.files = Some(files);
            }
        }
        Ok(())
    }

    /// Starts every target, or checks that it runs. A number distinguishes two targets of the same name. `make_data`
    /// makes the initial data of each and shows how far they are.
    ///
    /// Errors: the first target that is unavailable; the others are stopped.
    pub fn start(
        &self,
        targets: &[TargetName],
        placement: &Placement,
        connections: usize,
        agents: &Agents,
        make_data: MakeData,
    ) -> Result<Vec<Server>, Error> {
        let exe = crate::this_program().map_err(Error::of_system)?;
        self.check(targets)?;
        let mut servers = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            let machines = Machines::new(agents);
            let cpus = placement.server.clone();
            let options = ServerOptions::of(&self.target(target), &exe, cpus, connections).serving(
                &self.workload,
                target,
                self.files.clone(),
            );
            make_data(target, &options)?;
            let mut server = Server::start_with(target, &options, Some(&machines))?;
            if self.has_knobs_elsewhere() && !target.is_external() {
                machines.apply_knobs(&self.server_knob)?;
            }
            let before = targets[..i].iter().filter(|other| *other == target).count();
            if before > 0 {
                server.rename(format!("{target} ({})", before + 1));
            }
            servers.push(server);
        }
        Ok(servers)
    }

    /// Whether these servers can be started so.
    fn check(&self, targets: &[TargetName]) -> Result<(), Error> {
        let (own, external): (Vec<_>, Vec<_>) = targets.iter().partition(|target| !target.is_external());
        let program = self.target.binary.is_some() || self.target.image.is_some();
        if program && own.iter().any(|target| *target != own[0]) {
            return Err(Error::refused(format!(
                "--server-binary and --server-image say what one server is, and {} and {} are two; leave them out",
                own[0],
                own[own.len() - 1]
            )));
        }
        let apps: Vec<_> =
            targets.iter().filter_map(|target| crate::application(target).ok().flatten()).collect();
        let unknown = |service: &&str| apps.iter().all(|app| app.service(service).is_none());
        if let Some(service) = self.target.set.iter().filter_map(|word| service_of(word)).find(unknown) {
            let services: Vec<&str> =
                apps.iter().flat_map(|app| &app.services).map(|service| service.name.as_str()).collect();
            return Err(Error::refused(format!(
                "--server-set: no target has a service '{service}'; there are {}",
                services.join(", ")
            )));
        }
        let changed = program
            || self.target.form != Form::Bare
            || self.target.instances > 1
            || self.target.agent.is_some();
        if let (true, true, Some(external)) = (own.is_empty(), changed, external.first()) {
            return Err(Error::refused(format!(
                "{external} already runs, so that --form, --server-binary, --server-image, --server-instances and --server-agent \
                 mean nothing to it; leave them out, or use --target sphinx, memcached, nginx or another application"
            )));
        }
        if !matches!(self.target.cpus, Cpus::Apart | Cpus::List(_)) {
            return Err(Error::refused(format!(
                "--server-cpus {}: that is for studies; write a list such as 0 or 0,2-3",
                self.target.cpus
            )));
        }
        if self.target.threads < self.target.instances {
            return Err(Error::refused(format!(
                "{} threads for {} instances: each needs one; use --server-threads {} or more",
                self.target.threads, self.target.instances, self.target.instances
            )));
        }
        Ok(())
    }

    /// Notes for the reader on the machines that ran the servers of these targets and the generators.
    pub fn notes(&self, targets: &[TargetName], placement: &Placement, generated_here: bool) -> Vec<String> {
        let services = self.services(targets);
        let mut by_agent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, placement) in &services {
            if let Some(agent) = &placement.agent {
                by_agent.entry(agent).or_default().push(name);
            }
        }
        let served_here = services.is_empty() || services.iter().any(|(_, place)| place.agent.is_none());
        let external = targets.iter().filter(|target| target.is_external()).count();
        let mut notes = Vec::new();
        // The sharing of processors on one machine is irrelevant to several.
        if external < targets.len() && served_here && generated_here {
            notes.push(placement.note());
        }
        if external > 0 {
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
        for (agent, there) in by_agent {
            let who = if there.len() == services.len() { "The server".into() } else { there.join(", ") };
            notes.push(format!("{who} ran on another machine, started by the agent at {agent}."));
        }
        if self.has_knobs_elsewhere() {
            notes.push(format!("Knobs of that machine: {}.", self.server_knob.join(", ")));
        }
        if self.target.instances > 1 {
            let has_keys = !targets.iter().all(|target| crate::refuses(target, "cache"));
            notes.push(format!(
                "{} instances shared threads, memory and processors{}.",
                self.target.instances,
                if has_keys { "; keys were spread over them by consistent hashing" } else { "" }
            ));
        }
        let mut forms: Vec<Form> = services.iter().map(|(_, placement)| placement.form).collect();
        forms.dedup();
        match forms[..] {
            [] | [Form::Bare] => {}
            [Form::Bridged] => notes.push(
                "The server ran bare behind a bridge and a veth, as a container does: the baseline of a container."
                    .into(),
            ),
            [form] => notes.push(format!(
                "The server ran in a container of {form} behind a bridge and a veth; compare with --form bridged, \
                 which differs by the container alone."
            )),
            _ => {
                let each = services.iter().map(|(name, placement)| format!("{name} {}", placement.form));
                notes.push(format!(
                    "Services ran in different forms: {}. Those that are not bare are reached over a bridge and a veth.",
                    each.collect::<Vec<_>>().join(", ")
                ));
            }
        }
        notes
    }
}

/// The service that a setting such as `nginx.threads=2` is for.
fn service_of(setting: &str) -> Option<&str> {
    setting.split('=').next()?.split_once('.').map(|(service, _)| service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes_of(targets: &[&str], server: &[usize], generator: &[usize]) -> String {
        let targets: Vec<TargetName> = targets.iter().map(|text| text.parse().unwrap()).collect();
        let placement = Placement { server: server.to_vec(), generator: generator.to_vec() };
        ServerArgs::default().notes(&targets, &placement, true).join("\n")
    }

    #[test]
    fn a_reader_is_told_what_ran_where() {
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
