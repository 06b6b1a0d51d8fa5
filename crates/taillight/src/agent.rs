//! `taillight agent`: generates load on this machine for a coordinator on another, or runs its server.

mod host_knobs;
mod servers;

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ::agent::{
    Agent, Clock, CredentialFiles, Credentials, Generate, Generators, Servers, Settings, TOKEN, Tune,
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use host_knobs::{HostKnobs, Running};
use spec::workload::OwnFile;

/// The task of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Generate load.
    Client,
    /// Run the server under test, and report the facts of its machine.
    Server,
}

/// Generate load on this machine for a coordinator, taillight load … --agents HOST:PORT; or with --role server run
/// the server that is measured, for taillight load … --server-agent HOST:PORT.
///
/// Any client that can open a session can make this machine send load to any address. With --role server it can start
/// any application that comes with this program, over files that are made for it, and no other program except those of
/// --allow. Beyond loopback a session needs authentication: certificates of both sides, or a token (also from the
/// environment variable TAILLIGHT_TOKEN).
#[derive(Args, Debug)]
pub(crate) struct AgentArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,
    /// The agent's task.
    #[arg(long, value_enum, default_value_t = Role::Client)]
    role: Role,
    /// With --role server: a program that coordinators may have started by --server-binary. May be given more than once.
    #[arg(long, value_name = "FILE")]
    allow: Vec<PathBuf>,
    /// Let coordinators change knobs of this machine (taillight tune), which are reverted when they disconnect.
    #[arg(long)]
    allow_knobs: bool,
    /// With --role server: the address that servers listen on; any host that can reach it can use them [default: the
    /// address of --listen].
    #[arg(long, value_name = "IP")]
    serve_on: Option<IpAddr>,
    /// With --role server: a range of addresses that other machines route to this one, such as 10.0.7.0/28. Servers
    /// behind a bridge and in containers get their addresses from it; without it only bare servers can be started.
    #[arg(long, value_name = "RANGE")]
    serve_range: Option<launch::Subnet>,
    /// What this machine is called in results [default: its host name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A file that holds the token that coordinators must know, of 16 characters or more.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Agree to have the token sent in clear if the agent has no certificate.
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
    let name = args.name.unwrap_or_else(::host::name);
    let exe = lab::this_program()?;
    let mut generators: Option<Arc<dyn Generators>> = None;
    let mut servers: Option<Arc<dyn Servers>> = None;
    let knobs = args.allow_knobs.then(|| HostKnobs::new(knobs::state_folder()));
    match args.role {
        Role::Client if !args.allow.is_empty() || args.serve_on.is_some() || args.serve_range.is_some() => {
            bail!(
                "--allow, --serve-on and --serve-range are for an agent that starts servers; add --role server"
            );
        }
        Role::Client => generators = Some(Arc::new(Loads { exe, knobs })),
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
                routed: args.serve_range,
                knobs,
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

/// Generators of this program.
struct Loads {
    exe: PathBuf,
    /// Knobs of this machine, where its operator allowed them.
    knobs: Option<HostKnobs>,
}

impl Generators for Loads {
    fn spec(&self, task: &Generate, recording: &Path) -> Result<launch::Spec, String> {
        check(task)?;
        let file = recording.with_file_name("spec.json");
        std::fs::write(&file, &task.spec).map_err(|e| format!("it cannot write {}: {e}", file.display()))?;
        let spec = launch::Spec::new("generator", &self.exe).args(["load", "--spec"]);
        let spec = spec.arg(file.display().to_string());
        let spec = spec.args(["--share".into(), format!("{}/{}", task.share, task.shares)]);
        let trial = recording.with_file_name("trial.json");
        Ok(spec.args(["--start-on-stdin", "--live", "--recording"]).args([
            recording.display().to_string(),
            "--trial".into(),
            trial.display().to_string(),
        ]))
    }

    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String> {
        let cpus = lab::allowed_cpus().into_iter().collect();
        let generator = Running { cpus, is_bare: true, ..Running::default() };
        allowed(self.knobs.as_ref())?.tune(session, tune, &generator)
    }

    fn leave(&self, session: u64) {
        self.knobs.iter().for_each(|knobs| knobs.leave(session));
    }
}

/// Knobs of this machine. Errors: its operator did not allow them.
fn allowed(knobs: Option<&HostKnobs>) -> Result<&HostKnobs, String> {
    knobs.ok_or_else(|| "its operator allows no knobs; that takes --allow-knobs".into())
}

/// Checks that a task from the network only asks for load on a running server.
fn check(task: &Generate) -> Result<(), String> {
    let whole = serde_json::from_str(&task.spec).map_err(|e| format!("the specification is damaged: {e}"))?;
    let spec = lab::read_spec(whole).map_err(|e| e.to_string())?;
    if !spec.target.server.is_external() {
        return Err("an agent starts no server; name one that runs".into());
    }
    if !spec.generator.agents.agents.is_empty() {
        return Err("an agent cannot ask further agents".into());
    }
    if !spec.knobs.is_empty() || !spec.client_knobs.is_empty() || !spec.probes.is_empty() {
        return Err("a generator changes and observes nothing; leave out knobs and probes".into());
    }
    // It would send any file of this machine to any address, whole or in an error message.
    if let Some(OwnFile { file, option, is_sent, instead }) = spec.workload.own_file() {
        let (does, file) = (if is_sent { "sends" } else { "reads" }, file.display());
        return Err(format!("an agent {does} none of its files, as --{option} {file} asks for; {instead}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(spec: &str) -> Generate {
        Generate { spec: spec.into(), share: 1, shares: 2 }
    }

    #[test]
    fn only_load_on_a_server_that_runs() {
        let check = |target: &str, more: &str, expect: Result<(), &str>| {
            let spec = format!("{{ \"target\": {{ \"server\": \"{target}\" }}, {more} }}");
            let found = check(&task(&spec));
            match expect {
                Ok(()) => assert_eq!(found, Ok(()), "{spec}"),
                Err(says) => assert!(found.as_ref().is_err_and(|e| e.contains(says)), "{spec}: {found:?}"),
            }
        };
        let rate = r#""load": { "rate": "5krps" }"#;
        check("10.0.0.5:11211", r#""seed": 7, "workload": { "mix": "get:100", "yes": true }"#, Ok(()));
        check("10.0.0.5:1", r#""workload": { "kind": "null" }"#, Ok(()));
        let web = |fields: &str| format!(r#""workload": {{ "kind": "web", {fields} }}"#);
        check("http://h:80/x", &web(r#""files": "10x4KiB", "files-seed": 3, "verify": "checksum""#), Ok(()));
        let social = |site: &str| format!(r#""workload": {{ "kind": "social", "site": "{site}" }}"#);
        check("http://h:80", &social("elgg"), Ok(()));
        check("http://h:80", &social("/etc/passwd"), Err("--site /etc/passwd asks for"));
        check("10.0.0.5:1", r#""workload": { "kind": "rm" }"#, Err("'rm' is not known"));
        check("sphinx", rate, Err("starts no server"));
        check("", rate, Err("HOST:PORT"));
        for section in ["trial", "recording", "out", "share"] {
            check("10.0.0.5:1", &format!("\"{section}\": \"x\""), Err(section));
        }
        check("10.0.0.5:1", r#""generator": { "agents": ["10.0.0.6:7070"] }"#, Err("further agents"));
        check("10.0.0.5:1", r#""knobs": ["smt=off"]"#, Err("leave out knobs"));
        check("10.0.0.5:1", r#""client-knobs": ["smt=off"]"#, Err("leave out knobs"));
        check("http://h", &web(r#""method": "POST", "body-size": "1KiB""#), Ok(()));
        check("http://h", &web(r#""method": "POST", "body": "/etc/passwd""#), Err("none of its files"));
        check("http://h", &web(r#""urls": "/etc/passwd""#), Err("use --files"));
        check("10.0.0.5:1", r#""stray": 1"#, Err("stray"));
        assert!(super::check(&task("{")).unwrap_err().contains("damaged"));
    }

    #[test]
    fn its_place_among_the_generators_is_told() {
        let loads = Loads { exe: "/bin/taillight".into(), knobs: None };
        assert!(loads.tune(1, &Tune::default()).unwrap_err().contains("--allow-knobs"));
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let text = r#"{"target":{"server":"h:1"},"load":{"rate":"5krps"}}"#;
        let spec = loads.spec(&task(text), &folder.path().join("recording.json")).unwrap();
        assert_eq!(
            spec.args.join(" "),
            format!(
                "load --spec {} --share 1/2 --start-on-stdin --live --recording {} --trial {}",
                at("spec.json"),
                at("recording.json"),
                at("trial.json")
            )
        );
        assert_eq!(std::fs::read_to_string(at("spec.json")).unwrap(), text);
    }
}
