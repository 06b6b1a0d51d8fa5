//! A server that an agent on another machine runs: the coordinator's side.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::agent::{Serve, Serving, Tenant, Tune};
use anyhow::{Context, Result, bail};
use lab::{Files, Remote, Restart, Server, ServerOptions, TargetName};
use spec::workload::Web;
use spec::{Agents, Cpus, Spec, Target, Workload};
use trial::agent_config;

/// How long a server on another machine may take to start; those of the other forms take longer than bare ones.
const START: Duration = Duration::from_secs(120);

/// Has the agent at `address` start a server, with these settings of its machine for as long as it runs.
///
/// Errors: it is unavailable, or will not or cannot start it.
pub(super) fn start(
    address: &str,
    credentials: &Agents,
    server: (&TargetName, &ServerOptions),
    settings: &[String],
) -> Result<Server> {
    let (server, tenant) = tenanted(address, credentials, server)?;
    if !settings.is_empty() {
        tune(&tenant, "apply", settings, None)?;
    }
    Ok(server)
}

/// The server that the agent at `address` starts, and the session that keeps it.
///
/// Errors: as those of [`start`].
pub(crate) fn tenanted(
    address: &str,
    credentials: &Agents,
    (target, options): (&TargetName, &ServerOptions),
) -> Result<(Server, Session)> {
    let spec = told(target, options)?.to_json().to_string();
    let mut tenant = Tenant::open(&agent_config(credentials, vec![address.into()])?)?;
    let connections = options.connections as u32;
    let serving = tenant.serve(Serve { spec, connections }, START)?;
    let mut record = record(&serving)?;
    record.agent = Some(tenant.label().into());
    let tenant = Arc::new(Mutex::new(tenant));
    Ok((Server::remote(record, Box::new(Tenanted { tenant: Arc::clone(&tenant) })), tenant))
}

/// A session with an agent: of its server, and of its machine's settings.
pub(crate) type Session = Arc<Mutex<Tenant>>;

/// What the agent says to an action on settings of its machine: `plan`, `apply` or `undo`; those of a network device on
/// this one, or its only card.
pub(crate) fn tune(
    session: &Session,
    action: &str,
    settings: &[String],
    device: Option<&str>,
) -> Result<String> {
    let device = device.unwrap_or_default().into();
    Ok(locked(session).tune(Tune { action: action.into(), settings: settings.to_vec(), device })?)
}

fn locked(session: &Session) -> MutexGuard<'_, Tenant> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an agent is told of a server: its target, and the files of its workload.
///
/// Errors: it is to serve a folder, or is described by one, which is of this machine; it already runs.
fn told(name: &TargetName, options: &ServerOptions) -> Result<Spec> {
    match name {
        TargetName::App(app) if app.contains('/') => {
            bail!(
                "{name}: an agent starts the applications that it brings along, and this one is a folder of this machine"
            )
        }
        TargetName::App(_) => {}
        TargetName::External(_) => bail!("{name} already runs, so that no agent starts it"),
    }
    let cpus = options.cpus.iter().copied().collect();
    let mut spec = Spec {
        target: Target {
            server: name.clone(),
            form: options.form,
            binary: options.binary.clone(),
            image: options.image.clone(),
            instances: options.instances as u32,
            threads: options.threads as u32,
            memory: options.memory,
            cpus: if options.cpus.is_empty() { Cpus::Apart } else { Cpus::List(cpus) },
            set: options.set.clone(),
            args: options.args.clone(),
            ..Target::default()
        },
        ..Spec::default()
    };
    match &options.files {
        Some(Files::Set { files, seed, place }) => {
            spec.target.files_in = place.clone();
            let web = Web { files: Some(files.clone()), files_seed: *seed, ..Web::default() };
            spec.workload = Workload::Web(Box::new(web));
        }
        Some(Files::Folder(folder)) => bail!(
            "--file-set {}: that folder is one of this machine, and the server runs on another; name a set that is made \
             there by --files, such as --files 100000x4KiB",
            folder.display()
        ),
        None => {
            let usual = lab::workloads(name)?.first().copied().and_then(Workload::named);
            spec.workload = usual.unwrap_or_default();
        }
    }
    Ok(spec)
}

fn record(serving: &Serving) -> Result<results::Target> {
    serde_json::from_str(&serving.record).context("the agent's record of the server is damaged")
}

struct Tenanted {
    tenant: Session,
}

impl Remote for Tenanted {
    fn gone(&mut self) -> Option<String> {
        locked(&self.tenant).gone()
    }

    fn restart(&mut self) -> Result<(results::Target, Restart), String> {
        let serving = locked(&self.tenant).restart(START).map_err(|error| error.to_string())?;
        let record = record(&serving).map_err(|error| error.to_string())?;
        let (stop, start) = (Duration::from_nanos(serving.stop_ns), Duration::from_nanos(serving.start_ns));
        Ok((record, Restart { stop, start }))
    }

    fn stop(self: Box<Self>) -> Vec<String> {
        // One that has ended has no log.
        locked(&self.tenant).stop().unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn an_agent_reads_what_it_is_told() {
        let check = |name: &str, change: fn(&mut ServerOptions), expect: Result<fn(&Spec) -> bool, &str>| {
            let mut options = ServerOptions { cpus: Vec::new(), ..ServerOptions::new(Path::new("/x")) };
            change(&mut options);
            let name: TargetName = name.parse().unwrap();
            match (told(&name, &options), expect) {
                (Ok(found), Ok(expect)) => {
                    assert!(found.target.server == name && expect(&found), "{found:?}");
                    assert_eq!(lab::read_spec(found.to_json()).unwrap(), found);
                }
                (Err(found), Err(says)) => assert!(found.to_string().contains(says), "{found}"),
                (found, _) => panic!("{found:?}"),
            }
        };
        check("sphinx", |_| (), Ok(|spec| spec.target == Target::default()));
        check("sphinx", |o| o.cpus = vec![0, 2, 3], Ok(|spec| spec.target.cpus.to_string() == "0,2-3"));
        check("memcached", |o| o.args = vec!["-R5".into()], Ok(|spec| spec.target.args == ["-R5"]));
        let set = |o: &mut ServerOptions| {
            o.set = vec!["gzip=6".into()];
            o.files =
                Some(Files::Set { files: "10xweb".parse().unwrap(), seed: 3, place: Default::default() });
        };
        let is_web = |spec: &Spec| {
            matches!(&spec.workload, Workload::Web(web) if web.files_seed == 3)
                && spec.target.set == ["gzip=6"]
        };
        check("nginx", set, Ok(is_web));
        check("lighttpd", |_| (), Ok(|spec| spec.workload.name() == "web"));
        let folder = |o: &mut ServerOptions| o.files = Some(Files::Folder("/srv".into()));
        check("nginx", folder, Err("--file-set /srv"));
        check("./apps/mine", |_| (), Err("a folder of this machine"));
        check("10.0.0.5:1", |_| (), Err("already runs"));
    }
}
