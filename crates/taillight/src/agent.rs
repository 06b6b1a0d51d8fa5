//! `taillight agent`: generates load on this machine for a coordinator on another, or runs its server.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use ::agent::{Agent, Clock, CredentialFiles, Credentials, Generators, Servers, Settings, TOKEN};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use lab::agents::{AgentGenerators, AgentServers, HostKnobs, SeenOfMachine};

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

pub(crate) fn run(args: AgentArgs) -> Result<()> {
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
        Role::Client => generators = Some(Arc::new(AgentGenerators { exe, knobs })),
        Role::Server => {
            let listen = args.serve_on.unwrap_or(args.listen.ip());
            if listen.is_unspecified() {
                bail!(
                    "servers would listen on all addresses, and coordinators not know one; give it with --serve-on IP"
                );
            }
            let mut all = AgentServers::new(exe, listen, watch);
            (all.allowed, all.routed, all.knobs) = (args.allow, args.serve_range, knobs);
            servers = Some(Arc::new(all));
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
    Ok(agent.serve()?)
}

/// Begins to observe the machine of a server with these processes, as a trial is observed.
fn watch(pids: &[u32]) -> SeenOfMachine {
    let watch = trial::Watch::of_server(pids);
    Box::new(move |opened, window| {
        serde_json::to_string(&watch.seen(opened, window)).map_err(|error| error.to_string())
    })
}
