//! A server that an agent on another machine runs: the coordinator's side.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::agent::{Serve, Serving, Tenant, Tune};
use anyhow::{Context, Result, bail};
use lab::{Files, Remote, Restart, Server, ServerOptions, TargetName};
use units::CpuList;

use crate::from_agents::AgentsOptions;

/// How long a server on another machine may take to start; those of the other forms take longer than bare ones.
const START: Duration = Duration::from_secs(120);

/// Has the agent at `address` start a server, with these settings of its machine for as long as it runs.
///
/// Errors: it cannot be had, or will not or cannot start it.
pub(super) fn start(
    address: &str,
    credentials: &AgentsOptions,
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
    credentials: &AgentsOptions,
    (target, options): (&TargetName, &ServerOptions),
) -> Result<(Server, Session)> {
    let words = words(target, options)?;
    let mut tenant = Tenant::open(&credentials.party_of(vec![address.into()])?)?;
    let connections = options.connections as u32;
    let serving = tenant.serve(Serve { target: target.to_string(), options: words, connections }, START)?;
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

/// A server's options as they could be typed, for an agent.
///
/// Errors: it is to serve a folder, which is one of this machine.
fn words(target: &TargetName, options: &ServerOptions) -> Result<Vec<String>> {
    let mut words = vec![
        format!("--form={}", options.form),
        format!("--server-instances={}", options.instances),
        format!("--server-threads={}", options.threads),
        format!("--server-memory={}", options.memory.0),
    ];
    if !options.cpus.is_empty() {
        words.push(format!("--server-cpus={}", options.cpus.iter().copied().collect::<CpuList>()));
    }
    words.extend(options.binary.iter().map(|binary| format!("--server-binary={}", binary.display())));
    words.extend(options.image.iter().map(|image| format!("--server-image={image}")));
    let extra = match target {
        TargetName::Sphinx => "sphinx-arg",
        TargetName::Memcached => "memcached-arg",
        TargetName::Nginx => "nginx-set",
        TargetName::Foreign(_) => bail!("{target} already runs, so that no agent starts it"),
    };
    words.extend(options.extra.iter().map(|arg| format!("--{extra}={arg}")));
    match &options.files {
        Some(Files::Set { files, seed, place }) => words.extend([
            format!("--files={files}"),
            format!("--files-seed={seed}"),
            format!("--files-in={place}"),
        ]),
        Some(Files::Folder(folder)) => bail!(
            "--file-set {}: that folder is one of this machine, and the server runs on another; name a set that is made \
             there by --files, such as --files 100000x4KiB",
            folder.display()
        ),
        None => {}
    }
    Ok(words)
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
        // One that is gone has no log.
        locked(&self.tenant).stop().unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn options_are_words_that_an_agent_reads() {
        let check = |target: TargetName, change: fn(&mut ServerOptions), expect: Result<&str, &str>| {
            let mut options = ServerOptions { cpus: Vec::new(), ..ServerOptions::new(Path::new("/x")) };
            change(&mut options);
            let found = words(&target, &options).map(|words| words[4..].join(" "));
            match (found, expect) {
                (Ok(found), Ok(expect)) => assert_eq!(found, expect),
                (Err(found), Err(says)) => assert!(found.to_string().contains(says), "{found}"),
                (found, expect) => panic!("{found:?} and not {expect:?}"),
            }
        };
        check(TargetName::Sphinx, |_| (), Ok(""));
        check(TargetName::Sphinx, |o| o.cpus = vec![0, 2, 3], Ok("--server-cpus=0,2-3"));
        check(TargetName::Sphinx, |o| o.extra = vec!["--io=epoll".into()], Ok("--sphinx-arg=--io=epoll"));
        check(TargetName::Memcached, |o| o.extra = vec!["-R5".into()], Ok("--memcached-arg=-R5"));
        let set = |o: &mut ServerOptions| {
            o.extra = vec!["gzip=6".into()];
            o.files = Some(Files::Set { files: "10xweb".into(), seed: 3, place: Default::default() });
        };
        let expect = "--nginx-set=gzip=6 --files=10xweb --files-seed=3 --files-in=memory";
        check(TargetName::Nginx, set, Ok(expect));
        let folder = |o: &mut ServerOptions| o.files = Some(Files::Folder("/srv".into()));
        check(TargetName::Nginx, folder, Err("--file-set /srv"));
        check("10.0.0.5:1".parse().unwrap(), |_| (), Err("already runs"));
    }
}
