//! `taillight agent`: generates load on this machine for a coordinator on another, or runs its server.

mod servers;
mod settings;

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ::agent::{Agent, Clock, CredentialFiles, Credentials, Generate, Generators, Servers, Settings};
use anyhow::{Result, bail};
use clap::{Arg, Args, ValueEnum};
use lab::TargetName;
use launch::Spec;
use units::Rate;

use crate::args::{WorkloadName, generator_options};

/// Where the token may come from instead of a file.
pub(crate) const TOKEN: &str = "TAILLIGHT_TOKEN";

/// What an agent is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// To generate load.
    Client,
    /// To run the server that is measured, and to tell about its machine.
    Server,
}

/// Generate load on this machine for a coordinator, taillight load … --agents HOST:PORT; or with --role server run
/// the server that is measured, for taillight load … --server-agent HOST:PORT.
///
/// Whoever can open a session can have load sent from here, to any address, or have Sphinx, memcached and nginx started,
/// over files that are made for it, and no other program but those of --allow. Beyond loopback it wants to know who asks: by certificates of both sides, or by a token (also from the environment variable TAILLIGHT_TOKEN).
#[derive(Args, Debug)]
pub(crate) struct AgentArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,
    /// What it is there for.
    #[arg(long, value_enum, default_value_t = Role::Client)]
    role: Role,
    /// With --role server: a program that coordinators may have started by --server-binary. May be given more than once.
    #[arg(long, value_name = "FILE")]
    allow: Vec<PathBuf>,
    /// With --role server: let coordinators change settings of this machine (taillight tune), which are put back when
    /// they go.
    #[arg(long)]
    allow_settings: bool,
    /// With --role server: the address that servers listen on; whoever can reach it can use them [default: that of
    /// --listen].
    #[arg(long, value_name = "IP")]
    serve_on: Option<IpAddr>,
    /// What this machine is called in results [default: its host name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A file that holds the token that coordinators must know, of 16 characters or more.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Agree to have the token sent in clear, where there is no certificate.
    #[arg(long)]
    insecure_token: bool,
    /// The agent's certificate, PEM; it names the address by which the agent is reached.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate, PEM.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// The authority whose coordinators are let in, PEM.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}

pub(crate) fn run(args: AgentArgs) -> Result<ExitCode> {
    let files =
        CredentialFiles { cert: args.tls_cert, key: args.tls_key, ca: args.tls_ca, token: args.token_file };
    let name = args.name.unwrap_or_else(host_name);
    let exe = lab::this_program()?;
    let mut generators: Option<Arc<dyn Generators>> = None;
    let mut servers: Option<Arc<dyn Servers>> = None;
    match args.role {
        Role::Client if !args.allow.is_empty() || args.allow_settings || args.serve_on.is_some() => {
            bail!(
                "--allow, --allow-settings and --serve-on are for an agent that starts servers; add --role server"
            );
        }
        Role::Client => generators = Some(Arc::new(Loads { exe })),
        Role::Server => {
            let listen = args.serve_on.unwrap_or(args.listen.ip());
            if listen.is_unspecified() {
                bail!(
                    "servers would listen on all addresses, and coordinators not know one; give it with --serve-on IP"
                );
            }
            servers = Some(Arc::new(servers::Launches {
                exe,
                allowed: args.allow,
                listen,
                settings: args.allow_settings.then(|| settings::Settings::new(knobs::state_folder())),
                running: Arc::default(),
            }));
        }
    }
    let settings = Settings {
        name: name.clone(),
        credentials: Credentials::read(&files, std::env::var(TOKEN).ok().as_deref())?,
        insecure_token: args.insecure_token,
        clock: Clock::monotonic(),
        generators,
        servers,
        log: Arc::new(|line| eprintln!("taillight agent: {line}")),
    };
    let agent = Agent::start(args.listen, settings)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "taillight agent {name} ready on {}", agent.address()).and_then(|()| out.flush())?;
    drop(out);
    agent.serve()?;
    Ok(ExitCode::SUCCESS)
}

/// What this machine calls itself.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Generators of this program.
struct Loads {
    exe: PathBuf,
}

impl Generators for Loads {
    fn spec(&self, task: &Generate, recording: &Path) -> Result<Spec, String> {
        check(task)?;
        let spec = Spec::new("generator", &self.exe).args(["load", &task.workload]);
        let spec = spec.args(task.options.iter().cloned());
        let spec = spec.args(["--share".into(), format!("{}/{}", task.share, task.shares)]);
        let trial = recording.with_file_name("trial.json");
        Ok(spec.args(["--start-on-stdin", "--live", "--recording"]).args([
            recording.display().to_string(),
            "--trial".into(),
            trial.display().to_string(),
        ]))
    }
}

/// Whether a task asks for load on a server that runs, and nothing else: what came over the network becomes a command
/// line here.
fn check(task: &Generate) -> Result<(), String> {
    WorkloadName::from_str(&task.workload, false)
        .map_err(|_| format!("there is no workload '{}' here", task.workload))?;
    let command = generator_options()
        .no_binary_name(true)
        .disable_help_flag(true)
        .arg(Arg::new("target").long("target").required(true).value_parser(running))
        .arg(Arg::new("rate").long("rate").value_parser(clap::value_parser!(Rate)));
    let matches = command.try_get_matches_from(&task.options).map_err(|error| {
        let text = error.to_string();
        // The rest is a usage that is nobody's here.
        let first: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        format!("it is asked for what is not for it: {}", first.join(" ").trim_start_matches("error: "))
    })?;
    if matches.get_many::<String>("agents").is_some() {
        return Err("an agent cannot ask further agents".into());
    }
    // It would send any file of this machine to any address, whole or line by line.
    for (option, instead) in [("body", "--body-size"), ("urls", "--files, or the target's URL alone")] {
        if matches.contains_id(option) {
            return Err(format!("an agent sends none of its files, as --{option} asks for; use {instead}"));
        }
    }
    Ok(())
}

/// The address of servers that run: an agent starts none.
fn running(text: &str) -> Result<String, String> {
    match text.parse::<TargetName>() {
        Ok(TargetName::Foreign(_)) => Ok(text.into()),
        Ok(_) => Err("an agent starts no server; name one that runs".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(workload: &str, options: &str) -> Generate {
        let options = options.split_whitespace().map(Into::into).collect();
        Generate { workload: workload.into(), options, share: 1, shares: 2 }
    }

    #[test]
    fn only_load_on_a_server_that_runs() {
        let check = |workload: &str, options: &str, expect: Result<(), &str>| {
            let found = check(&task(workload, options));
            match expect {
                Ok(()) => assert_eq!(found, Ok(()), "{options}"),
                Err(says) => assert!(found.as_ref().is_err_and(|e| e.contains(says)), "{options}: {found:?}"),
            }
        };
        check("cache", "--target 10.0.0.5:11211 --rate 5k --seed 7 --window 2s --mix get:100 --yes", Ok(()));
        check("null", "--target 10.0.0.5:1 --rate 5k", Ok(()));
        check(
            "web",
            "--target http://10.0.0.5:80/x --rate 5k --files 10x4KiB --files-seed 3 --verify checksum",
            Ok(()),
        );
        check("rm", "--target 10.0.0.5:1", Err("no workload 'rm'"));
        check("cache", "--rate 5k", Err("--target"));
        check("cache", "--target sphinx", Err("starts no server"));
        for option in
            ["--trial x", "--recording x", "--out x", "--share 0/1", "--json", "--help", "--repeats 3"]
        {
            let name = option.split(' ').next().unwrap();
            check("cache", &format!("--target 10.0.0.5:1 {option}"), Err(name));
        }
        check("cache", "--target 10.0.0.5:1 --agents 10.0.0.6:7070", Err("further agents"));
        check("web", "--target http://h --rate 5k --method POST --body-size 1KiB", Ok(()));
        check("web", "--target http://h --method POST --body /etc/passwd", Err("none of its files"));
        check("web", "--target http://h --urls /etc/passwd", Err("use --files"));
        check("cache", "--target 10.0.0.5:1 stray", Err("stray"));
    }

    #[test]
    fn its_place_among_the_generators_is_told() {
        let loads = Loads { exe: "/bin/taillight".into() };
        let spec =
            loads.spec(&task("cache", "--target h:1 --rate 5k"), Path::new("/x/recording.json")).unwrap();
        assert_eq!(
            spec.args.join(" "),
            "load cache --target h:1 --rate 5k --share 1/2 --start-on-stdin --live --recording /x/recording.json \
             --trial /x/trial.json"
        );
    }
}
