//! An application that is started apart from a measurement, and watched: its state on disk, its memory, its end.

mod analytics;
mod background;
mod revival;
mod state;

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use launch::Interrupt;

pub use analytics::{Learning, forget_learnt};
pub use background::start_in_background;
pub use state::{Phase, Row, State, StateFile};

use crate::{EndedPart, Error, Making, Plan, Running, Service, Starting, counters, ready, thrift};
use revival::Revivals;

/// How often it is looked whether all run and whether they are still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// The interval between two updates of the state: an update reads some 80 files of the kernel.
const EVERY: Duration = Duration::from_secs(2);

impl Plan {
    /// How many instances of services it starts.
    pub fn processes(&self) -> usize {
        rows(self).len()
    }
}

/// A row for each instance, in the order of their numbers.
fn rows(plan: &Plan) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for service in plan.app().services.iter().filter(|service| plan.starts(&service.name)) {
        let instances = plan.placement(&service.name).map_or(1, |placement| placement.instances.max(1));
        rows.extend((0..instances).map(|instance| Row::of(service, instance, instances)));
    }
    rows.sort_by_key(|row| (row.number.unwrap_or(u16::MAX), row.instance));
    rows
}

/// Starts `plan` and keeps its state up to date. `show` receives the progress and returns whether to go on.
///
/// Errors: a service did not become ready, with its last lines; it was stopped before all were ready.
pub fn start(
    plan: Plan,
    kept: &StateFile,
    state: &mut State,
    show: &mut dyn FnMut(&str) -> bool,
) -> Result<Running, Error> {
    state.services = rows(&plan);
    state.data = plan.data_folder();
    let (mut ready, mut written) = (0, Instant::now());
    let running = plan.start_telling(&mut |starting| {
        let line = match starting {
            Starting::Making(Making::Filled { table, rows, of }) => {
                format!("data of databases: {:.0} %, {table}", 100.0 * *rows as f64 / (*of).max(1) as f64)
            }
            Starting::Making(_) => "data of databases".to_owned(),
            Starting::Begun { service, instance: _ } => format!("{ready} ready · {service}"),
            Starting::Ready { service, instance, took, pid, addresses } => {
                ready += 1;
                let mut rows = state.services.iter_mut();
                if let Some(row) = rows.find(|row| row.name == *service && row.instance == *instance) {
                    row.pid = *pid;
                    row.ready_ms = Some(took.as_millis() as u64);
                    row.address = addresses.first().map(ToString::to_string).unwrap_or_default();
                }
                format!("{ready} ready · {service}")
            }
        };
        if written.elapsed() >= EVERY {
            let _ = kept.write(state);
            written = Instant::now();
        }
        show(&line)
    })?;
    let front = running.plan().app().front().map(|service| service.name.clone()).unwrap_or_default();
    let address = state.services.iter().find(|row| row.name == front).map(|row| row.address.clone());
    state.address = format!("http://{}/", address.unwrap_or_default());
    state.phase = Phase::Ready;
    update(&running, state);
    kept.write(state)?;
    Ok(running)
}

/// Keeps the state up to date until the services are no longer wanted, and starts those again that end. `show` receives the
/// state and its age.
///
/// Errors: another machine with some of the services was lost.
pub fn watch(
    running: &mut Running,
    kept: &StateFile,
    state: &mut State,
    interrupt: &Interrupt,
    show: &mut dyn FnMut(&State, Duration),
) -> Result<(), Error> {
    let (begun, mut last, mut revivals) = (Instant::now(), None::<Instant>, Revivals::default());
    while interrupt.cause().is_none() {
        let mut changed = false;
        for ended in running.ended() {
            match ended {
                EndedPart::Service { name, instance, how, last } => {
                    changed |= revivals.attend(running, state, (&name, instance), &said(&how, &last));
                }
                EndedPart::Elsewhere { name, why } => {
                    return Err(Error::Supervision(format!("{name}: {why}")));
                }
            }
        }
        if changed || last.is_none_or(|last| last.elapsed() >= EVERY) {
            last = Some(Instant::now());
            update(running, state);
            kept.write(state)?;
            show(state, begun.elapsed());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether the service of a row runs and answers: a call of its counters, the request by which its readiness is seen, or
/// a connection to its address.
///
/// Errors: the service does not answer `within`, in words.
pub fn asked(service: &Service, row: &Row, within: Duration) -> Result<(), String> {
    // The kernel accepts connections for a stopped process.
    if is_stopped(row.pid) {
        return Err(format!("process {} is stopped", row.pid));
    }
    let Ok(address) = row.address.parse::<SocketAddr>() else { return Ok(()) };
    let counters = service.counters.as_ref();
    if let Some(method) = counters.and_then(|counters| counters.thrift.as_ref()) {
        return thrift::asked(address, method, within).map(drop);
    }
    if let Some(send) = counters.and_then(|counters| counters.send.as_ref()) {
        return counters::sent(address, send, within).map(drop);
    }
    // Only `up` knows the values in a path with templates.
    if let Some(path) = service.ready.http.as_ref().filter(|path| !path.contains("{{")) {
        return match ready::get(address, path, within) {
            Ok((200, _)) => Ok(()),
            Ok((status, _)) => Err(format!("{address} answers {status} for {path}")),
            Err(error) => Err(format!("{address}: {error}")),
        };
    }
    TcpStream::connect_timeout(&address, within).map(drop).map_err(|error| format!("{address}: {error}"))
}

/// Whether a process was stopped by a signal. Source: `proc_pid_stat(5)`, the state.
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}

/// How a service ended, with its last lines.
fn said(how: &str, last: &[String]) -> String {
    if last.is_empty() { how.to_owned() } else { format!("{how}: {}", last.join("\n")) }
}

/// Reads the memory of all processes.
fn update(running: &Running, state: &mut State) {
    for service in running.services() {
        for (number, instance) in service.instances.iter().enumerate() {
            let pids = instance.pids();
            let mut rows = state.services.iter_mut();
            let is_it = |row: &&mut Row| row.name == service.service.name && row.instance == number;
            if let Some(row) = rows.find(is_it).filter(|row| row.ended.is_none()) {
                row.pid = instance.pid();
                row.processes = pids.len();
                row.memory_bytes = pids.into_iter().map(memory).sum();
            }
        }
    }
}

/// Memory of a process that it does not share. Source: `proc_pid_status(5)`, `RssAnon`.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_web_server_is_asked_whether_all_behind_it_answer() {
        let check = |answer: &'static str, expect: Result<(), &str>| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let served = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> =
                    lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
                stream.write_all(answer.as_bytes()).unwrap();
                head[0].clone()
            });
            let app = crate::of_name("movies").unwrap();
            let row = Row { address, pid: std::process::id(), ..Row::default() };
            let found = asked(app.service("web").unwrap(), &row, Duration::from_secs(60));
            assert!(served.join().unwrap().starts_with("GET /api/.ready "));
            match expect {
                Ok(()) => assert_eq!(found, Ok(())),
                Err(says) => assert!(found.unwrap_err().contains(says)),
            }
        };
        check("HTTP/1.0 200 OK\r\n\r\n{}", Ok(()));
        check("HTTP/1.0 503 X\r\n\r\n{}", Err("answers 503 for /api/.ready"));
    }

    #[test]
    fn a_process_has_memory_of_its_own() {
        assert!(memory(std::process::id()) > 100_000);
        assert_eq!(memory(u32::MAX), 0);
    }
}
