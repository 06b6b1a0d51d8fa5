//! Servers that are started as processes of their own: in a container, behind a bridge, or several at once.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use app::App;
use clap::{Args, Command};
use lab::{Server, ServerOptions, TargetName};
use launch::{Form, Interrupt};
use serde_json::json;

use crate::args::Typed;
use crate::movies::build;
use crate::shown::make_data;
use crate::terminal::{say, say_json};
use crate::up::for_people;

/// How often it is checked whether the servers run and whether they are still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// The isolation form of the server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Form")]
pub(super) struct Around {
    /// bare, bridged (behind the bridge that containers use), lxc, podman or docker. All but bare need root.
    #[arg(long, value_name = "FORM")]
    form: Option<Form>,
    /// Program to start in place of the embedded Sphinx (a taillight or sphinxd) or of the program that is found here.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Image that podman or docker runs in place of this machine's own program.
    #[arg(long, value_name = "IMAGE", conflicts_with = "binary")]
    image: Option<String>,
    /// Servers to start, among which threads, memory and processors are divided.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=250))]
    instances: Option<u16>,
    /// Start, restart this many times, print how long each took, and end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    restarts: Option<u32>,
    /// With --restarts: as JSON.
    #[arg(long, requires = "restarts")]
    json: bool,
}

impl Around {
    /// Whether any of these options is set.
    pub(super) fn is_given(&self) -> bool {
        let Around { form, binary, image, instances, restarts, json: _ } = self;
        form.is_some() || binary.is_some() || image.is_some() || instances.is_some() || restarts.is_some()
    }

    pub(super) fn options(&self) -> Result<ServerOptions> {
        let target = spec::Target {
            form: self.form.unwrap_or_default(),
            binary: self.binary.clone(),
            image: self.image.clone(),
            instances: self.instances.map_or(1, u32::from),
            ..spec::Target::default()
        };
        Ok(ServerOptions { target, ..ServerOptions::new(&lab::this_program()?) })
    }
}

/// Options of Sphinx for its addresses and its process, which the form determines, and options that are divided among instances.
const PLACES: [&str; 8] =
    ["port", "listen", "unix_socket", "udp_port", "tls_port", "resp_port", "pidfile", "daemon"];
const DIVIDED: [&str; 4] = ["threads", "memory_limit", "conn_limit", "cpus"];

pub(super) fn sphinx(given: &sphinx::Options, typed: &Typed, around: &Around) -> Result<()> {
    let config = given.resolve()?;
    let mut cpus = config.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let mut options = ServerOptions { connections: config.connections, cpus, ..around.options()? };
    options.target.threads = config.cpus.len() as u32;
    (options.target.memory, options.target.args) = (config.memory, words(typed)?);
    run(&TargetName::app("sphinx"), &options, around)
}

/// The arguments of each instance.
///
/// Errors: an option that fixes the place of a single server.
fn words(typed: &Typed) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (id, name, words) in typed.words(&sphinx::Options::augment_args(Command::new("sphinx"))) {
        if PLACES.contains(&id.as_str()) {
            bail!(
                "--{name} says where one server is, but the form gives each instance its place; leave it out"
            );
        }
        if !DIVIDED.contains(&id.as_str()) {
            all.extend(words);
        }
    }
    Ok(all)
}

pub(super) fn run(name: &TargetName, options: &ServerOptions, around: &Around) -> Result<()> {
    let spec::Target { threads, instances, .. } = options.target;
    if threads < instances {
        bail!(
            "{threads} threads for {instances} instances: each needs one; use --threads {instances} or more"
        );
    }
    if let Some(times) = around.restarts {
        return restarts(name, options, times as usize, around.json);
    }
    let interrupt = Interrupt::on_signals()?;
    let app = lab::application(name)?;
    if let Some(app) =
        app.as_ref().filter(|_| options.target.binary.is_none() && options.target.image.is_none())
    {
        // Programs that are up to date with their sources are not built again.
        build::built(app, &app.built_folder(), &[], &interrupt)?;
    }
    make_data(name, options)?;
    let mut server = Server::start(name, options)?;
    let lasts = "changes are lost when this command ends";
    let link = app.as_deref().and_then(|app| for_people(app, server.address(), lasts));
    let link = link.map_or_else(String::new, |link| format!("{link}\n"));
    say(&format!("{}\n{link}", ready(&server, app.as_deref())))?;
    while interrupt.cause().is_none() {
        if let Some(error) = server.gone() {
            return Err(error.into());
        }
        thread::sleep(LOOK);
    }
    server.stop();
    Ok(())
}

/// The line printed once the server accepts connections: its address, and further addresses of its front, if any.
fn ready(server: &Server, app: Option<&App>) -> String {
    let record = server.record();
    let around = [Some(&record.form), record.engine.as_ref(), Some(&record.version), record.image.as_ref()];
    let around: Vec<&str> =
        around.into_iter().flatten().filter(|s| !s.is_empty()).map(String::as_str).collect();
    let first = format!("{} ready on {} ({})", record.name, server.address(), around.join(", "));
    let listens = app.and_then(App::front).map_or(&[][..], |front| &front.listens);
    let front = app.and_then(App::front).map(|front| front.name.as_str());
    let addresses = record.services.iter().find(|one| Some(one.name.as_str()) == front);
    let named = listens.iter().zip(addresses.into_iter().flat_map(|one| &one.addresses)).skip(1);
    named.fold(first, |line, (listen, address)| format!("{line}; {} on {address}", listen.name))
}

fn restarts(name: &TargetName, options: &ServerOptions, times: usize, json: bool) -> Result<()> {
    let measured = lab::restart_times(name, options, times)?;
    let whole: Vec<f64> = measured.iter().map(|restart| restart.whole().as_secs_f64()).collect();
    let median_restart_s = stats::median(&whole).unwrap_or_default();
    let halves = measured.iter().map(|restart| (restart.stop.as_secs_f64(), restart.start.as_secs_f64()));
    if json {
        let restarts = halves.map(|(stop_s, start_s)| json!({ "stop_s": stop_s, "start_s": start_s }));
        return say_json(&json!({
            "server": name.to_string(),
            "form": options.target.form.to_string(),
            "instances": options.target.instances,
            "median_restart_s": median_restart_s,
            "restarts": restarts.collect::<Vec<_>>(),
        }));
    }
    for (i, (stop, start)) in halves.enumerate() {
        println!("{:>5}: {:.3} s (stop {stop:.3} s, start {start:.3} s)", i + 1, stop + start);
    }
    let form = options.target.form;
    println!("restart of {name}, {form}: {median_restart_s:.3} s (median of {times})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn sphinx_gets_its_own_words_and_not_those_of_the_form() {
        let check = |line: &str, expect: Result<&str, &str>| {
            let command = sphinx::Options::augment_args(Command::new("sphinx").no_binary_name(true));
            let matches = Around::augment_args(command).get_matches_from(line.split_whitespace());
            let found = words(&Typed::from_arg_matches(&matches).unwrap());
            match expect {
                Ok(words) => assert_eq!(found.unwrap().join(" "), words, "{line}"),
                Err(says) => assert!(found.unwrap_err().to_string().contains(says), "{line}"),
            }
        };
        check("--form lxc", Ok(""));
        check("--form lxc -t 4 -m 100 --cpus 0-3 -c 50 --instances 2", Ok(""));
        check(
            "--form lxc --sharing read -vv --spin=off",
            Ok("--sharing=read --spin=off --verbose --verbose"),
        );
        check("--form lxc -F -o idle_timeout=3", Ok("--disable-flush-all --extended=idle_timeout=3"));
        check("--form lxc -p 11212", Err("--port"));
        check("--form lxc -l 0.0.0.0", Err("--listen"));
    }
}
