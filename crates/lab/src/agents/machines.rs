//! Services that agents on other machines run: the coordinator's side.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{AgentConfig, Serve, Tenant, Tune, Watch};
use app::{Addresses, Elsewhere, PeopleSet, StartReport, WatchOrder};
use spec::workload::{Social, Users, Video, Web};
use spec::{Agents, Spec, Target, Workload};

use super::locked;
use crate::{Error, Files, FilesPlace, ServerOptions, SetFiles, TargetName};

/// The time limit for a server to start on another machine; other forms take longer than bare ones.
const START: Duration = Duration::from_secs(120);

/// Machines with agents that are spoken to alike.
pub struct Machines {
    credentials: Agents,
    /// One for each group of services.
    sessions: Mutex<Vec<SharedTenant>>,
}

impl Machines {
    /// Agents with these `credentials`.
    pub fn new(credentials: &Agents) -> Machines {
        Machines { credentials: credentials.clone(), sessions: Mutex::default() }
    }

    /// The tenant with the one agent that runs all services.
    ///
    /// Errors: there are several, or none.
    pub(super) fn only_session(&self) -> Result<SharedTenant, Error> {
        match &locked(&self.sessions)[..] {
            [one] => Ok(Arc::clone(one)),
            all => Err(Error::refused(format!(
                "knobs of a server's machine are for one agent that runs all services, and there are {}; leave them out",
                all.len()
            ))),
        }
    }

    /// Prepares for these services of `target` on the machine of the agent at `agent`, without starting them.
    ///
    /// Errors: the machine is unavailable, or the target cannot be described to it.
    pub(crate) fn open(
        &self,
        agent: &str,
        target: &TargetName,
        options: &ServerOptions,
        services: &[String],
    ) -> Result<Box<dyn Elsewhere>, String> {
        let open = || -> Result<Tenanted, Error> {
            let spec = told(target, options, services)?.to_json().to_string();
            let (connections, services) = (options.connections as u32, services.to_vec());
            let tenant = Tenant::open(&AgentConfig::of(&self.credentials, vec![agent.into()])?)?;
            let name = tenant.label().to_owned();
            let tenant = Arc::new(Mutex::new(tenant));
            locked(&self.sessions).push(Arc::clone(&tenant));
            let serve = Serve { spec, connections, services, called: String::new() };
            Ok(Tenanted { name, tenant, serve, begun: false })
        };
        open().map(|tenanted| Box::new(tenanted) as Box<dyn Elsewhere>).map_err(|error| error.to_string())
    }

    /// Applies knobs of the machine of the one agent that runs all services.
    ///
    /// Errors: the target has no such agent, or the agent refuses them.
    pub(crate) fn apply_knobs(&self, knobs: &[String]) -> Result<(), Error> {
        tune(&self.only_session()?, "apply", knobs, None)?;
        Ok(())
    }
}

/// A connection with an agent: of its server, and of its machine's knobs.
pub(super) type SharedTenant = Arc<Mutex<Tenant>>;

/// The agent's answer to an action on knobs of its machine: `plan`, `apply` or `undo`. Knobs of a network device act on this device, or
/// on its only card.
pub(super) fn tune(
    tenant: &SharedTenant,
    action: &str,
    knobs: &[String],
    device: Option<&str>,
) -> Result<String, agent::Error> {
    let device = device.unwrap_or_default().into();
    locked(tenant).tune(Tune { action: action.into(), knobs: knobs.to_vec(), device, ..Tune::default() })
}

/// The specification that an agent gets for a server: the part of its target that concerns these services, and the files of its workload.
///
/// Errors: the server uses a folder of this machine, for its files or as its description; it already runs.
fn told(name: &TargetName, options: &ServerOptions, services: &[String]) -> Result<Spec, Error> {
    match name {
        TargetName::App(app) if app.contains('/') => {
            return Err(Error::refused(format!(
                "{name}: an agent starts the applications that it brings along, and this one is a folder of this machine"
            )));
        }
        TargetName::App(_) => {}
        TargetName::External(_) => {
            return Err(Error::refused(format!("{name} already runs, so that no agent starts it")));
        }
    }
    let app = crate::application(name)?;
    let theirs = || app.iter().flat_map(|app| &app.services).filter(|one| services.contains(&one.name));
    // An agent gets neither the machines of the services nor the settings of other agents' services.
    let is_theirs = |word: &&String| {
        let name = word.split('=').next().unwrap_or_default();
        match name.split_once('.') {
            Some((service, field)) => field != "agent" && theirs().any(|one| one.name == service),
            None => name != "agent",
        }
    };
    let target = &options.target;
    let takes_args = theirs().any(|one| one.arguments.is_some());
    let mut spec = Spec {
        target: Target {
            server: name.clone(),
            // The agent's machine has its own addresses, devices and folders.
            agent: None,
            listen: None,
            device: None,
            files_in: FilesPlace::default(),
            set: target.set.iter().filter(is_theirs).cloned().collect(),
            args: if takes_args { target.args.clone() } else { Vec::new() },
            ..target.clone()
        },
        ..Spec::default()
    };
    match &options.files {
        Some(Files::Set { files, seed, place }) => {
            spec.target.files_in = place.clone();
            let files_seed = *seed;
            spec.workload = match files.clone() {
                SetFiles::Web(files) => {
                    Workload::Web(Box::new(Web { files: Some(files), files_seed, ..Web::default() }))
                }
                SetFiles::Videos(videos) => {
                    Workload::Video(Box::new(Video { videos, videos_seed: files_seed, ..Video::default() }))
                }
            };
        }
        Some(Files::Folder(folder)) => {
            return Err(Error::refused(format!(
                "--file-set {}: that folder is one of this machine, and the server runs on another; name a set that is made \
             there by --files, such as --files 100000x4KiB",
                folder.display()
            )));
        }
        None => {
            spec.workload = match options.people {
                Some(PeopleSet { users, seed }) => {
                    let social = Social { users: Users(users), users_seed: seed, ..Social::default() };
                    Workload::Social(Box::new(social))
                }
                None => {
                    let usual = crate::workloads(name)?.first().copied().and_then(Workload::named);
                    usual.unwrap_or_default()
                }
            };
        }
    }
    Ok(spec)
}

/// Services of one agent.
struct Tenanted {
    name: String,
    tenant: SharedTenant,
    serve: Serve,
    /// Whether they were started before, and are halted.
    begun: bool,
}

impl Elsewhere for Tenanted {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&mut self, called: &Addresses) -> Result<StartReport, String> {
        let called = serde_json::to_string(called).map_err(|error| error.to_string())?;
        let mut tenant = locked(&self.tenant);
        let serving = match self.begun {
            true => tenant.resume(called, START),
            false => tenant.serve(Serve { called, ..self.serve.clone() }, START),
        };
        let serving = serving.map_err(|error| error.to_string())?;
        self.begun = true;
        let record: results::Target = serde_json::from_str(&serving.record)
            .map_err(|error| format!("the agent's record of the server is damaged: {error}"))?;
        let of_instances = |one: &results::Service| {
            let each = one.addresses.len() / one.instances.max(1) as usize;
            let addresses =
                one.addresses.iter().cloned().map(app::Address::try_from).collect::<Result<Vec<_>, _>>();
            Ok((one.name.clone(), addresses?.chunks(each.max(1)).map(<[_]>::to_vec).collect()))
        };
        let addresses = record.services.iter().map(of_instances).collect::<Result<_, String>>()?;
        Ok(StartReport { addresses, record: serving.record, took: Duration::from_nanos(serving.start_ns) })
    }

    fn halt(&mut self) -> Result<Duration, String> {
        locked(&self.tenant).halt().map(Duration::from_nanos).map_err(|error| error.to_string())
    }

    fn usage(&self) -> Result<String, String> {
        locked(&self.tenant).usage().map_err(|error| error.to_string())
    }

    fn watch(&self, what: &WatchOrder<'_>) -> Result<String, String> {
        let watch = match *what {
            WatchOrder::Begin(looks) => {
                Watch { action: "begin".into(), about: looks.into(), ..Watch::default() }
            }
            WatchOrder::Noise { opened_ns, window_ns } => {
                Watch { action: "noise".into(), opened_ns, window_ns, ..Watch::default() }
            }
            WatchOrder::End { opened_ns, trial } => {
                let opened_ns = opened_ns.unwrap_or_default();
                Watch { action: "end".into(), about: trial.into(), opened_ns, ..Watch::default() }
            }
        };
        locked(&self.tenant).watch(watch).map_err(|error| error.to_string())
    }

    fn gone(&mut self) -> Option<String> {
        locked(&self.tenant).gone()
    }

    fn stop(&mut self) {
        let mut tenant = locked(&self.tenant);
        // An agent that has ended would not answer. The last output of the others is irrelevant here.
        if tenant.gone().is_none() {
            let _ = tenant.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn an_agent_reads_what_it_is_told() {
        let check = |name: &str, change: fn(&mut ServerOptions), expect: Result<fn(&Spec) -> bool, &str>| {
            let mut options = ServerOptions::new(Path::new("/x"));
            change(&mut options);
            let name: TargetName = name.parse().unwrap();
            let services = crate::application(&name).ok().flatten().map_or(Vec::new(), |app| {
                app.services.iter().map(|one| one.name.clone()).filter(|one| one != "varnish").collect()
            });
            match (told(&name, &options, &services), expect) {
                (Ok(found), Ok(expect)) => {
                    assert!(found.target.server == name && expect(&found), "{found:?}");
                    assert_eq!(crate::read_spec(found.to_json()).unwrap(), found);
                }
                (Err(found), Err(says)) => assert!(found.to_string().contains(says), "{found}"),
                (found, _) => panic!("{found:?}"),
            }
        };
        check("sphinx", |_| (), Ok(|spec| spec.target == Target::default()));
        let list = |o: &mut ServerOptions| o.target.cpus = "0,2-3".parse().unwrap();
        check("sphinx", list, Ok(|spec| spec.target.cpus.to_string() == "0,2-3"));
        check("memcached", |o| o.target.args = vec!["-R5".into()], Ok(|spec| spec.target.args == ["-R5"]));
        let set = |o: &mut ServerOptions| {
            o.target.set = vec!["gzip=6".into()];
            o.files = Some(Files::Set {
                files: SetFiles::Web("10xweb".parse().unwrap()),
                seed: 3,
                place: Default::default(),
            });
        };
        let is_web = |spec: &Spec| {
            matches!(&spec.workload, Workload::Web(web) if web.files_seed == 3)
                && spec.target.set == ["gzip=6"]
        };
        check("nginx", set, Ok(is_web));
        let two = |o: &mut ServerOptions| {
            let words = ["nginx.agent=h:1", "agent=h:2", "nginx.threads=2", "varnish.ttl=1", "memory=1MiB"];
            o.target.set = words.map(str::to_owned).to_vec();
        };
        check("varnish-nginx", two, Ok(|spec| spec.target.set == ["nginx.threads=2", "memory=1MiB"]));
        check("lighttpd", |_| (), Ok(|spec| spec.workload.name() == "web"));
        let folder = |o: &mut ServerOptions| o.files = Some(Files::Folder("/srv".into()));
        check("nginx", folder, Err("--file-set /srv"));
        check("./apps/mine", |_| (), Err("a folder of this machine"));
        check("10.0.0.5:1", |_| (), Err("already runs"));
    }
}
