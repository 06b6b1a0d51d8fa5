use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use reactor::{Address, monotonic_now};
use units::{Nanos, Time};

use super::answer::{self, Answer, Numbers, SPHINX};
use super::connection::Connection;
use super::metrics::{self, ServiceTimes};
use crate::subject::{Subject, listened};

/// Paths of NGINX's status page: the path that `taillight` configures, and the paths in NGINX's manual and packages.
const STATUS: [&str; 3] = ["/.status", "/basic_status", "/nginx_status"];

/// A server that reports its counters.
pub(super) struct Questioned {
    address: Address,
    /// `None` after a missing response: a late one would be taken for the next one.
    connection: Option<Connection>,
    question: Question,
    pub program: String,
    /// The address of Sphinx's metrics.
    pub metrics: Option<SocketAddr>,
    /// Requests for counters so far, which NGINX counts among its requests.
    questions: f64,
}

#[derive(Clone, Copy)]
enum Question {
    Stats,
    /// NGINX's status page at this path.
    Status(&'static str),
}

/// Response of a server at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerReading {
    /// Midpoint between request and response.
    pub at: Time,
    /// Duration of the response.
    pub took: Nanos,
    pub numbers: Numbers,
    pub service: ServiceTimes,
}

impl Question {
    fn ask(self, connection: &mut Connection) -> io::Result<Answer> {
        match self {
            Question::Stats => connection.ask(b"stats\r\n", |bytes, _| answer::stats(bytes)),
            Question::Status(path) => connection.ask(&get(path), answer::status),
        }
    }
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()
}

impl Questioned {
    /// Finds the protocol for the counters of the server at `address`.
    ///
    /// Errors: no protocol works, with a hint.
    pub(super) fn open(address: &Address) -> Result<Questioned, String> {
        let mut said = Vec::new();
        let questions = [Question::Stats].into_iter().chain(STATUS.map(Question::Status));
        for question in questions {
            let opened = Connection::open(address)
                .and_then(|mut connection| Ok((question.ask(&mut connection)?, connection)));
            match opened {
                Ok((answer, connection)) => {
                    return Ok(Questioned {
                        address: address.clone(),
                        connection: Some(connection),
                        question,
                        program: answer.program,
                        metrics: None,
                        questions: 0.0,
                    });
                }
                Err(error) => said.push(error.to_string()),
            }
            // A server that does not respond to one request responds to none.
            if said.len() == 1 && said[0].contains("no whole answer") {
                break;
            }
        }
        Err(format!(
            "a server at {address} that answers 'stats' in plain text as memcached does, or has NGINX's stub_status at one of {} \
             (asked for 'stats': {})",
            STATUS.join(", "),
            said.first().map_or("nothing", String::as_str)
        ))
    }

    pub(super) fn is_sphinx(&self) -> bool {
        self.program.starts_with(SPHINX)
    }

    pub(super) fn own_port(&self) -> Option<u16> {
        self.connection.as_ref()?.own_port()
    }

    /// Finds the port of a Sphinx's metrics, among those at which its processes listen.
    pub(super) fn find_metrics(&mut self, proc: &Path, subject: &Subject) {
        let served: BTreeSet<u16> = subject.ports.iter().copied().collect();
        let own = self.address.socket().map(|socket| socket.ip());
        let hosts = [Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), own];
        let ports = self.processes(proc, subject).into_iter().flat_map(|pid| listened(proc, pid));
        let ports: BTreeSet<u16> = ports.filter(|port| !served.contains(port)).collect();
        let places =
            ports.iter().flat_map(|port| hosts.iter().flatten().map(|host| SocketAddr::new(*host, *port)));
        self.metrics = places.into_iter().find(|place| scrape(*place).is_ok());
    }

    /// The processes of this server among all processes.
    fn processes(&self, proc: &Path, subject: &Subject) -> Vec<u32> {
        let port = self.address.socket().map(|socket| socket.port());
        let of_it = |pid: &&u32| port.is_none_or(|port| listened(proc, **pid).contains(&port));
        subject.pids.iter().filter(of_it).copied().collect()
    }

    /// Requests the counters.
    ///
    /// Errors: the response differs from the first one in kind.
    pub(super) fn ask(&mut self) -> io::Result<ServerReading> {
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let asked = monotonic_now();
        let answer = self.question.ask(connection);
        let took = monotonic_now().since(asked);
        let mut numbers = answer.inspect_err(|_| self.connection = None)?.numbers;
        if let Some(requests) = numbers.get_mut("requests") {
            self.questions += 1.0;
            *requests -= self.questions;
        }
        let service = self.metrics.map_or(Ok(ServiceTimes::default()), scrape)?;
        Ok(ServerReading { at: asked + Nanos(took.0 / 2), took, numbers, service })
    }
}

fn scrape(place: SocketAddr) -> io::Result<ServiceTimes> {
    let mut connection = Connection::open(&Address::Tcp(place))?;
    connection.ask(&get("/metrics"), |bytes, more| {
        let Some(page) = answer::page(bytes, more)? else { return Ok(None) };
        let times = metrics::service_times(&String::from_utf8_lossy(&page.body));
        times.map(Some).ok_or_else(|| io::Error::other("no service times of Sphinx"))
    })
}
