//! The role of a server: what a coordinator may have started here, and what it may know.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::agent::{Serve, Served, Servers, Tune};
use clap::parser::ValueSource;
use clap::{Args, Command, FromArgMatches};
use lab::{Server, ServerOptions, TargetName, allowed_cpus};
use launch::{Form, nginx};

use super::settings::{Running, Settings};
use crate::targets::ServerArgs;

/// Options of Sphinx that change how it serves and touch no file, port or account.
const SPHINX: [&str; 11] = [
    "sharing",
    "group",
    "policy",
    "io",
    "spin",
    "queue",
    "lazy_memory",
    "max_item_size",
    "max_reqs_per_event",
    "listen_backlog",
    "no_irq_cpus",
];
/// Options of memcached of that kind.
const MEMCACHED: [&str; 9] = ["-o", "-R", "-f", "-n", "-I", "-b", "-C", "-M", "-F"];
/// What may follow its `-o`. Source: `memcached -h` of 1.6.18; what names a file is left out.
const EXTENDED: [&str; 17] = [
    "modern",
    "no_modern",
    "hashpower",
    "no_hashexpand",
    "hash_algorithm",
    "slab_reassign",
    "no_slab_reassign",
    "slab_automove",
    "lru_crawler",
    "no_lru_crawler",
    "lru_maintainer",
    "no_lru_maintainer",
    "hot_lru_pct",
    "warm_lru_pct",
    "temporary_ttl",
    "idle_timeout",
    "read_buf_mem_limit",
];

/// How a coordinator describes a server.
#[derive(Args)]
struct Wanted {
    #[command(flatten)]
    server: ServerArgs,
    /// The files of a web server, which are made for it.
    #[arg(long)]
    files: Option<String>,
    /// What they are drawn from.
    #[arg(long, default_value_t = 1, requires = "files")]
    files_seed: u64,
}

/// Servers of this machine: Sphinx, memcached, nginx, and programs that the agent's operator allowed.
pub(super) struct Launches {
    pub(super) exe: PathBuf,
    pub(super) allowed: Vec<PathBuf>,
    /// The address that they listen on.
    pub(super) listen: IpAddr,
    /// Settings of this machine, where its operator allowed them.
    pub(super) settings: Option<Settings>,
    /// Each session's server, which settings act on.
    pub(super) running: Arc<Mutex<BTreeMap<u64, Running>>>,
}

impl Launches {
    /// The server that is asked for: what came over the network becomes a command line here.
    fn options(&self, serve: &Serve) -> Result<(TargetName, ServerOptions), String> {
        let target = match serve.target.parse() {
            Ok(target @ (TargetName::Sphinx | TargetName::Memcached | TargetName::Nginx)) => target,
            _ => return Err(format!("it starts sphinx, memcached and nginx, not '{}'", serve.target)),
        };
        let command = Wanted::augment_args(Command::new("server"))
            .no_binary_name(true)
            .disable_help_flag(true)
            .try_get_matches_from(&serve.options)
            .and_then(|matches| Wanted::from_arg_matches(&matches));
        let wanted = command.map_err(|error| {
            let text = error.to_string();
            format!("it is asked for what is not for it: {}", text.lines().next().unwrap_or_default())
        })?;
        let mut args = wanted.server;
        match wanted.files {
            Some(files) if target == TargetName::Nginx => args.serve_set(files, wanted.files_seed)?,
            Some(_) => return Err(format!("{target} is a cache and serves no files")),
            None => {}
        }
        let cpus = args.placement(None).server;
        let mut options = args.options(&target, &self.exe, cpus, serve.connections as usize);
        options.listen = self.listen;
        if let Some(binary) = &options.binary
            && !self.allowed.contains(binary)
        {
            return Err(format!(
                "it may not start {}; its operator can allow that with --allow {}",
                binary.display(),
                binary.display()
            ));
        }
        if options.form != Form::Bare {
            // An address behind a bridge here is nobody's elsewhere.
            return Err(format!(
                "a server of the form {} can be reached from its own machine only; use --form bare",
                options.form
            ));
        }
        if let Some(cpu) = options.cpus.iter().find(|cpu| !allowed_cpus().contains(cpu)) {
            return Err(format!("there is no processor {cpu} for it here; it may use {:?}", allowed_cpus()));
        }
        let extra = options.extra.iter().map(String::as_str);
        match target {
            TargetName::Memcached => check_memcached(extra)?,
            // All that there are change how it serves, and write to its own folder alone.
            TargetName::Nginx => {
                nginx::Settings::read(&options.extra).map_err(|error| error.to_string())?;
            }
            _ => check_sphinx(extra)?,
        }
        Ok((target, options))
    }
}

fn check_sphinx<'a>(words: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let command = sphinx::Options::augment_args(Command::new("sphinx").no_binary_name(true));
    let matches = command.clone().try_get_matches_from(words).map_err(|error| error.to_string())?;
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let refused = command.get_arguments().find(|arg| {
        let id = arg.get_id().as_str();
        given(id) && !SPHINX.contains(&id)
    });
    refused.map_or(Ok(()), |arg| Err(not_allowed(arg.get_long().unwrap_or("?"))))
}

fn check_memcached<'a>(words: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut before = "";
    for word in words {
        let (option, value) = match word.get(..2) {
            Some(option) if word.starts_with('-') => (option, &word[2..]),
            _ => (before, word),
        };
        if !MEMCACHED.contains(&option) {
            return Err(not_allowed(word));
        }
        let of_list = |one: &str| EXTENDED.contains(&one.split('=').next().unwrap_or_default());
        if option == "-o" && !value.is_empty() && !value.split(',').all(of_list) {
            return Err(not_allowed(word));
        }
        before = if value.is_empty() { option } else { "" };
    }
    Ok(())
}

fn not_allowed(word: &str) -> String {
    format!("'{word}' is no option that a coordinator may give a server; start the server by hand for that")
}

impl Servers for Launches {
    fn start(&self, session: u64, serve: &Serve) -> Result<Box<dyn Served>, String> {
        let (target, options) = self.options(serve)?;
        let server = Server::start(&target, &options).map_err(|error| error.to_string())?;
        let kept = Kept { server, session, running: Arc::clone(&self.running) };
        kept.note();
        Ok(Box::new(kept))
    }

    fn facts(&self) -> Result<String, String> {
        serde_json::to_string(&host::Host::here()).map_err(|error| error.to_string())
    }

    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String> {
        let settings = self.settings.as_ref();
        let settings = settings.ok_or("its operator allows no settings; that takes --allow-settings")?;
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned();
        settings.tune(session, tune, &running.unwrap_or_default())
    }

    fn leave(&self, session: u64) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        self.settings.iter().for_each(|settings| settings.leave(session));
    }
}

struct Kept {
    server: Server,
    session: u64,
    running: Arc<Mutex<BTreeMap<u64, Running>>>,
}

impl Kept {
    /// Has settings act on the processes that serve now.
    fn note(&self) {
        let cpus = self.server.record().cpus.iter().copied().collect();
        let running = Running { pids: self.server.pids(), cpus };
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(self.session, running);
    }
}

impl Served for Kept {
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

    fn restart(&mut self) -> Result<(Duration, Duration), String> {
        let restart = self.server.restart().map_err(|error| error.to_string())?;
        self.note();
        Ok((restart.stop, restart.start))
    }

    fn stop(self: Box<Self>) {
        self.server.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches() -> Launches {
        Launches {
            exe: "/bin/taillight".into(),
            allowed: vec!["/opt/memcached".into()],
            listen: [10, 0, 0, 5].into(),
            settings: None,
            running: Arc::default(),
        }
    }

    #[test]
    fn only_known_programs_with_harmless_options() {
        let check = |target: &str, line: &str, says: Option<&str>| {
            let options = line.split_whitespace().map(Into::into).collect();
            let serve = Serve { target: target.into(), options, connections: 8 };
            match (launches().options(&serve), says) {
                (Ok((_, options)), None) => assert_eq!(options.listen, IpAddr::from([10, 0, 0, 5])),
                (Err(error), Some(says)) => assert!(error.contains(says), "{line}: {error}"),
                (found, _) => panic!("{line}: {found:?}"),
            }
        };
        check("memcached", "", None);
        check("sphinx", "--server-threads 2 --server-memory 64MiB --sphinx-arg=--sharing=read", None);
        check("memcached", "--memcached-arg=-o --memcached-arg=no_lru_maintainer,hashpower=20", None);
        check("memcached", "--memcached-arg=-ohashpower=20 --memcached-arg=-R200", None);
        check("memcached", "--server-binary /opt/memcached", None);
        check("memcached", "--server-binary /bin/sh", Some("--allow /bin/sh"));
        check("10.0.0.9:1", "", Some("sphinx, memcached and nginx"));
        check("/bin/sh", "", Some("sphinx, memcached and nginx"));
        check("nginx", "--files 10x4KiB --files-seed 3 --nginx-set=gzip=6 --files-in disk", None);
        check("nginx", "--files 10x4KiB --files-in /etc/x", Some("may not choose folders"));
        check("nginx", "--nginx-set=include=/x", Some("none called 'include'"));
        check("nginx", "--file-set /etc", Some("not for it"));
        check("memcached", "--files 10x4KiB", Some("serves no files"));
        check("memcached", "--form lxc", Some("own machine only"));
        check("memcached", "--server-cpus 1000", Some("no processor 1000"));
        check("memcached", "--agents x:1", Some("not for it"));
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
            check("memcached", &format!("--memcached-arg={word}"), Some("no option that a coordinator"));
        }
        check("memcached", "--memcached-arg=-o --memcached-arg=memory_file=/x", Some("memory_file"));
        check("memcached", "--memcached-arg=-F --memcached-arg=5 --memcached-arg=6", Some("'6'"));
        for word in ["--pidfile=/x", "--config=/x", "-u=root", "--listen=0.0.0.0", "--metrics=0.0.0.0:1"] {
            check("sphinx", &format!("--sphinx-arg={word}"), Some("no option that a coordinator"));
        }
    }
}
