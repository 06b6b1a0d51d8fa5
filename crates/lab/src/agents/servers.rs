//! The server role: the servers that a coordinator may start on this machine, and the facts that it may read.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::agent::{Serve, Served, Servers, Tune, Watch};
use app::Addresses;
use launch::{Form, Subnet};
use probes::{Beside, Observer};
use serde_json::Value;
use spec::{Cpus, Spec, Target, Workload};
use units::{Nanos, Time};

use super::host_knobs::{HostKnobs, Running, allowed};
use super::locked;
use crate::{
    Files, FilesPlace, Looks, Placement, Server, ServerOptions, TargetName, allowed_cores, allowed_cpus,
};

/// Servers of this machine: Sphinx, memcached, nginx, and programs that the agent's operator allowed.
pub struct AgentServers {
    exe: PathBuf,
    /// Programs that coordinators may have started.
    pub allowed: Vec<PathBuf>,
    listen: IpAddr,
    /// The range that those behind a bridge and in containers have their addresses of, which other machines route here.
    pub routed: Option<Subnet>,
    /// Knobs of this machine, where its operator allowed them.
    pub knobs: Option<HostKnobs>,
    /// Begins to observe what else this machine does.
    watch: WatchMachine,
    /// Each session's server, which knobs act on.
    running: SessionServers,
}

/// Begins to observe the machine of a server with these processes.
pub type WatchMachine = fn(&[u32]) -> SeenOfMachine;

/// Ends such an observation; returns the activity in the window that opened at this time, as JSON.
pub type SeenOfMachine = Box<dyn FnOnce(Time, Nanos) -> Result<String, String> + Send>;

type SessionServers = Arc<Mutex<BTreeMap<u64, Running>>>;

impl AgentServers {
    /// Servers of this program `exe`, which listen on this address; neither programs nor knobs are allowed yet.
    pub fn new(exe: PathBuf, listen: IpAddr, watch: WatchMachine) -> AgentServers {
        let (allowed, running) = (Vec::new(), Arc::default());
        AgentServers { exe, allowed, listen, routed: None, knobs: None, watch, running }
    }

    /// The requested server.
    ///
    /// Errors: the data from the network is not a specification; a coordinator may not request this server.
    fn options(&self, serve: &Serve) -> Result<(TargetName, ServerOptions), String> {
        let whole =
            serde_json::from_str(&serve.spec).map_err(|e| format!("the specification is damaged: {e}"))?;
        named_here(&whole)?;
        let Spec { target, workload, .. } = crate::read_spec(whole).map_err(|e| e.to_string())?;
        let listed = match &target.cpus {
            Cpus::List(list) => Some(list.as_slice()),
            Cpus::Apart => None,
            other => return Err(format!("processors '{other}' are for studies; name a list such as 0,2-3")),
        };
        let cpus = Placement::new(&allowed_cores(), target.threads as usize, listed, None).server;
        let mut options = ServerOptions::of(&target, &self.exe, cpus, serve.connections as usize);
        (options.target.listen, options.routed) = (Some(self.listen), self.routed);
        options.people = crate::people_of(&workload);
        options.files = files_of(&target, workload)?;
        options.only.clone_from(&serve.services);
        options.called = called(&serve.called)?;
        self.check(&target.server, &options)?;
        Ok((target.server, options))
    }

    /// Errors: the request contains options that a coordinator may not set: other programs, processors, forms, addresses and machines,
    /// and arguments that touch files, ports or accounts. Settings of a single service may contain any of these, so every service to be
    /// started is checked.
    fn check(&self, target: &TargetName, options: &ServerOptions) -> Result<(), String> {
        let app = crate::application(target).map_err(|error| error.to_string())?;
        let app = app.ok_or_else(|| not_started(&target.to_string()))?;
        let plan = options.plan(&app).map_err(|error| error.to_string())?;
        if let Some(unknown) = options.only.iter().find(|name| app.service(name).is_none()) {
            return Err(format!("there is no service '{unknown}' in {}", app.name));
        }
        let permitted = reactor::permitted_cpus().unwrap_or_else(|_| allowed_cpus());
        let started = app.services.iter().filter(|service| plan.starts(&service.name));
        for placement in started.filter_map(|service| plan.placement(&service.name)) {
            if let Some(binary) = &placement.binary
                && !self.allowed.contains(binary)
            {
                return Err(format!(
                    "it may not start {}; its operator can allow that with --allow {}",
                    binary.display(),
                    binary.display()
                ));
            }
            if let Some(image) = &placement.image {
                return Err(format!(
                    "it runs no image that a coordinator names, such as {image}; leave the image out"
                ));
            }
            if placement.form != Form::Bare && self.routed.is_none() {
                // An address behind a bridge here means nothing on another machine.
                return Err(format!(
                    "a server of the form {} can be reached from its own machine only; use --form bare, or have its operator \
                     name a range of addresses that other machines route to it, by --serve-range",
                    placement.form
                ));
            }
            if let Some(ip) = placement.listen {
                return Err(format!(
                    "its services listen on {}, which its operator chose by --serve-on, and not on {ip}",
                    self.listen
                ));
            }
            if placement.agent.is_some() {
                return Err("an agent cannot ask further agents".into());
            }
            if let Some(cpu) = placement.cpus.iter().find(|cpu| !permitted.contains(cpu)) {
                return Err(format!("there is no processor {cpu} for it here; it may use {permitted:?}"));
            }
        }
        plan.check_arguments().map_err(|error| error.to_string())
    }
}

/// Checks that the target is an application of this program. A coordinator could name a folder of this machine by its path; no file of
/// such a folder is read.
fn named_here(whole: &Value) -> Result<(), String> {
    // A missing name is the default; the specification's reader refuses a name that is not text.
    let Some(name) = whole.pointer("/target/server").and_then(Value::as_str) else { return Ok(()) };
    if app::names().any(|known| known == name) { Ok(()) } else { Err(not_started(name)) }
}

fn not_started(name: &str) -> String {
    format!("it starts {}, not '{name}'", app::names().collect::<Vec<_>>().join(", "))
}

/// Where services of other machines listen, as a coordinator says.
///
/// Errors: it is damaged, or names a file of this machine: templates of configurations hold these addresses.
fn called(text: &str) -> Result<Addresses, String> {
    if text.is_empty() {
        return Ok(Addresses::new());
    }
    let called: Addresses = serde_json::from_str(text)
        .map_err(|e| format!("the addresses of the services that are called are damaged: {e}"))?;
    match called.values().flatten().flatten().find(|one| one.tcp().is_none()) {
        Some(file) => Err(format!("{file} is not the address of a service of another machine")),
        None => Ok(called),
    }
}

/// The files of a web or video server: a set that is made here.
///
/// Errors: a folder or a list of this machine; a coordinator may not choose the place of the set.
fn files_of(target: &Target, mut workload: Workload) -> Result<Option<Files>, String> {
    let Some((own, instead)) = workload.served_folder() else { return Ok(None) };
    if let Some(path) = own {
        return Err(format!(
            "it serves none of its files, such as {}; name a set with {instead}",
            path.display()
        ));
    }
    if let FilesPlace::Below(folder) = &target.files_in {
        return Err(format!(
            "it makes files in memory or on disk, and not in {}, as a coordinator may not choose folders here",
            folder.display()
        ));
    }
    if !crate::needs_files(&target.server) {
        return Ok(None);
    }
    Files::of_workload(&mut workload, &target.server, &target.files_in).map_err(|e| e.to_string())
}

impl Servers for AgentServers {
    fn start(&self, session: u64, serve: &Serve) -> Result<Box<dyn Served>, String> {
        let (target, options) = self.options(serve)?;
        let server = Server::start(&target, &options).map_err(|error| error.to_string())?;
        let running = Arc::clone(&self.running);
        let kept = KeptServer { server, session, running, watch: self.watch, noise: None, observer: None };
        kept.note();
        Ok(Box::new(kept))
    }

    fn facts(&self) -> Result<String, String> {
        serde_json::to_string(&crate::study::Machinery::here()).map_err(|error| error.to_string())
    }

    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String> {
        let knobs = allowed(self.knobs.as_ref())?;
        let running = locked(&self.running).get(&session).cloned();
        knobs.tune(session, tune, &running.unwrap_or_default())
    }

    fn leave(&self, session: u64) {
        locked(&self.running).remove(&session);
        self.knobs.iter().for_each(|knobs| knobs.leave(session));
    }
}

struct KeptServer {
    server: Server,
    session: u64,
    running: SessionServers,
    watch: WatchMachine,
    noise: Option<SeenOfMachine>,
    observer: Option<Observer>,
}

impl KeptServer {
    /// Ends its observation without a message.
    fn look_away(&mut self) {
        self.noise = None;
        if let Some(observer) = self.observer.take() {
            observer.dismiss();
        }
    }

    /// Has knobs act on the processes that serve now.
    fn note(&self) {
        let record = self.server.record();
        let running = Running {
            is_bare: record.form == Form::Bare.name(),
            cpus: record.cpus.iter().copied().collect(),
            folder: self.server.folder().map(PathBuf::from),
            pids: self.server.pids(),
        };
        locked(&self.running).insert(self.session, running);
    }
}

impl Served for KeptServer {
    fn record(&self) -> String {
        let mut record = self.server.record().clone();
        record.host = serde_json::to_value(host::Host::here()).ok();
        serde_json::to_string(&record).unwrap_or_default()
    }

    fn gone(&mut self) -> Option<String> {
        self.server.gone().map(|error| error.to_string())
    }

    fn logs(&self) -> Vec<String> {
        self.server.logs()
    }

    fn usage(&self) -> String {
        self.server.usage_json()
    }

    fn watch(&mut self, watch: &Watch) -> Result<String, String> {
        let damaged = |error: serde_json::Error| format!("what is to be looked at is damaged: {error}");
        match watch.action.as_str() {
            "begin" => {
                let looks: Looks = serde_json::from_str(&watch.about).map_err(damaged)?;
                // Probes of an earlier trial that ended early would still observe this one.
                self.look_away();
                self.noise = Some((self.watch)(&self.server.pids()));
                self.observer = self.server.observe(&looks);
                Ok(String::new())
            }
            "noise" => {
                let noise = self.noise.take().ok_or("it does not watch its machine")?;
                noise(Time(watch.opened_ns), Nanos(watch.window_ns))
            }
            "end" => {
                self.noise = None;
                let trial: Beside = serde_json::from_str(&watch.about).map_err(damaged)?;
                // The moment in there is of the coordinator's clock.
                let opened_ns = (watch.opened_ns > 0).then_some(watch.opened_ns);
                let trial = Beside { opened_ns, ..trial };
                let seen = self.observer.take().map(|observer| observer.seen(&trial));
                serde_json::to_string(&seen.unwrap_or_default()).map_err(|error| error.to_string())
            }
            other => Err(format!("'{other}' is not one of begin, noise and end")),
        }
    }

    fn halt(&mut self) -> Result<Duration, String> {
        self.look_away();
        self.server.halt().map_err(|error| error.to_string())
    }

    fn resume(&mut self, text: &str) -> Result<Duration, String> {
        let took = self.server.resume(called(text)?).map_err(|error| error.to_string())?;
        self.note();
        Ok(took)
    }

    fn stop(mut self: Box<Self>) {
        self.look_away();
        self.server.stop();
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};
    use spec::workload::Web;

    use super::*;

    fn servers() -> AgentServers {
        let watch: WatchMachine = |_| Box::new(|_, _| Ok(String::new()));
        let allowed = vec!["/opt/memcached".into()];
        AgentServers { allowed, ..AgentServers::new("/bin/taillight".into(), [10, 0, 0, 5].into(), watch) }
    }

    /// Options that a coordinator could type.
    #[derive(Args)]
    struct Line {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        web: Web,
    }

    /// The message of a coordinator that typed `line` for the target `name`.
    fn message(name: &str, line: &str) -> Serve {
        let command = Line::augment_args(Command::new("x").no_binary_name(true));
        let matches = command.try_get_matches_from(line.split_whitespace()).unwrap();
        let Line { mut target, web } = Line::from_arg_matches(&matches).unwrap();
        target.server = TargetName::App(name.into());
        let workload =
            if name.contains("nginx") { Workload::Web(Box::new(web)) } else { Workload::default() };
        let spec = Spec { target, workload, ..Spec::default() };
        Serve { spec: spec.to_json().to_string(), connections: 8, ..Serve::default() }
    }

    #[test]
    fn one_service_is_started_and_told_where_the_others_are() {
        let check = |line: &str, services: &[&str], called: &str, says: Option<&str>| {
            let services = services.iter().map(|name| (*name).to_owned()).collect();
            let serve = Serve { services, called: called.into(), ..message("varnish-nginx", line) };
            match (servers().options(&serve), says) {
                (Ok((_, options)), None) => assert_eq!(options.called.len(), usize::from(!called.is_empty())),
                (Err(error), Some(says)) => assert!(error.contains(says), "{line}: {error}"),
                (found, _) => panic!("{line}: {found:?}"),
            }
        };
        let at = r#"{"nginx":[["10.0.0.9:8080"]]}"#;
        check("", &["nginx"], "", None);
        check("", &["varnish"], at, None);
        check("--server-set varnish.form=bridged", &["nginx"], "", None);
        check("--server-set varnish.form=bridged", &["varnish"], at, Some("own machine only"));
        check("", &["apache"], "", Some("no service 'apache' in varnish-nginx"));
        check("", &["varnish"], r#"{"nginx":[["unix:/run/docker.sock"]]}"#, Some("is not the address"));
        check("", &["varnish"], r#"{"nginx":[["10.0.0.9:80; include /x"]]}"#, Some("is not an address"));
        check("", &["varnish"], "nginx", Some("are damaged"));
    }

    #[test]
    fn only_known_programs_with_harmless_options() {
        let check = |target: &str, line: &str, says: Option<&str>| match (
            servers().options(&message(target, line)),
            says,
        ) {
            (Ok((_, options)), None) => assert_eq!(options.target.listen, Some(IpAddr::from([10, 0, 0, 5]))),
            (Err(error), Some(says)) => assert!(error.contains(says), "{line}: {error}"),
            (found, _) => panic!("{line}: {found:?}"),
        };
        check("memcached", "", None);
        check("sphinx", "--server-threads 2 --server-memory 64MiB --server-arg=--sharing=read", None);
        check("memcached", "--server-arg=-o --server-arg=no_lru_maintainer,hashpower=20", None);
        check("memcached", "--server-arg=-ohashpower=20 --server-arg=-R200", None);
        check("memcached", "--server-binary /opt/memcached", None);
        check("memcached", "--server-binary /bin/sh", Some("--allow /bin/sh"));
        check("10.0.0.9:1", "", Some("mediawiki, memcached"));
        check("/bin/sh", "", Some("mediawiki, memcached"));
        check("memcached", "--server-set memcached.binary=/bin/sh", Some("--allow /bin/sh"));
        check("memcached", "--server-set form=lxc", Some("own machine only"));
        check("memcached", "--server-set cpus=1000", Some("no processor 1000"));
        check(
            "memcached",
            "--server-set listen=0.0.0.1",
            Some("listen on 10.0.0.5, which its operator chose"),
        );
        check("memcached", "--server-set memcached.agent=10.0.0.9:7070", Some("further agents"));
        check("nginx", "--files 10x4KiB --files-seed 3 --server-set=gzip=6 --files-in disk", None);
        check("nginx", "--files 10x4KiB --files-in /etc/x", Some("may not choose folders"));
        check("nginx", "--server-set=include=/x", Some("no setting 'include'"));
        check("nginx", "--file-set /etc", Some("none of its files, such as /etc"));
        check("nginx", "--urls /etc/passwd", Some("none of its files"));
        check("/srv/apps/mine", "", Some("mediawiki, memcached"));
        check("memcached", "--form lxc", Some("own machine only"));
        check("memcached", "--form podman --server-image memcached:1", Some("runs no image"));
        let routed = AgentServers { routed: Some("10.0.7.0/28".parse().unwrap()), ..servers() };
        for form in ["bridged", "lxc", "podman", "docker"] {
            let (_, options) = routed.options(&message("memcached", &format!("--form {form}"))).unwrap();
            assert_eq!((options.target.form.name(), options.routed), (form, routed.routed));
        }
        check("memcached", "--server-cpus 1000", Some("no processor 1000"));
        check("memcached", "--server-cpus cores:2", Some("for studies"));
        for word in [
            "-P",
            "-P/etc/x",
            "-e",
            "-u",
            "-s/tmp/x",
            "-l",
            "--pidfile",
            "-oext_path=/x:1G",
            "x",
            "-o,x",
            "--",
        ] {
            check("memcached", &format!("--server-arg={word}"), Some("not an option that a coordinator"));
        }
        check("memcached", "--server-arg=-o --server-arg=memory_file=/x", Some("memory_file"));
        check("memcached", "--server-arg=-f --server-arg=5 --server-arg=6", Some("'6'"));
        for word in ["--pidfile=/x", "--config=/x", "-u=root", "--listen=0.0.0.0", "--metrics=0.0.0.0:1"] {
            check("sphinx", &format!("--server-arg={word}"), Some("not an option that a coordinator"));
        }
    }
}
