//! Services of an application on other machines, and the addresses of services.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::description::Service;

/// The address of an instance. Its text form is that of `--target`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A socket of the file system.
    Unix(PathBuf),
}

const UNIX: &str = "unix:";

impl Address {
    /// The TCP address, if it is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        if let Address::Tcp(address) = self { Some(*address) } else { None }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        match text.strip_prefix(UNIX) {
            Some(path) => Ok(Address::Unix(path.into())),
            None => text.parse().map(Address::Tcp).map_err(|_| format!("'{text}' is not an address")),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

/// The addresses of services: by service name, a list of instances, each with its addresses in the order of the
/// description.
pub type Addresses = BTreeMap<String, Vec<Vec<Address>>>;

/// Other machines, each with an agent.
pub trait Machines {
    /// Prepares for these services on the machine of the agent at `agent`, without starting them.
    ///
    /// Errors: the machine is unavailable.
    fn open(&self, agent: &str, services: &[String]) -> Result<Box<dyn Elsewhere>, String>;
}

/// Services of one application on another machine. Dropping it ends them.
pub trait Elsewhere: Send {
    /// The name of its machine: `b (10.0.0.5:7070)`.
    fn name(&self) -> &str;

    /// Starts or restarts the services in the same places; `called` holds the addresses of services that already run.
    ///
    /// Errors: the reason why they do not run.
    fn start(&mut self, called: &Addresses) -> Result<StartReport, String>;

    /// Stops them; their places stay. Returns how long that took.
    fn halt(&mut self) -> Result<Duration, String>;

    /// Their resource usage so far, in the format of the program there.
    fn usage(&self) -> Result<String, String>;

    /// Has the machine observe them during a trial; returns its report.
    ///
    /// Errors: the reason why it does not observe, or that it does not answer.
    fn watch(&self, what: &WatchOrder<'_>) -> Result<String, String>;

    /// Why one of them ended without being asked to, or the machine was lost; `None` while all run.
    fn gone(&mut self) -> Option<String>;

    /// Ends them in good order.
    fn stop(&mut self);
}

/// Request to another machine during a trial. Times refer to this machine's `CLOCK_MONOTONIC`; texts have the format of
/// the program there. Units: ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum WatchOrder<'a> {
    /// Start observing with these probes.
    Begin(&'a str),
    /// Report the host's activity during the window that opened at `opened_ns`.
    Noise { opened_ns: u64, window_ns: u64 },
    /// Stop observing, and report the observations of `trial`; `opened_ns` is the start of its window, if known.
    End { opened_ns: Option<u64>, trial: &'a str },
}

/// Another machine's report on the services that it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartReport {
    /// Where they listen.
    pub addresses: Addresses,
    /// Their entry in a result, in the format of the program there.
    pub record: String,
    /// How long they took to start, by the clock there.
    pub took: Duration,
}

/// Services that follow each other in the order of starting and run on one other machine.
pub struct Away {
    services: Vec<String>,
    pub(crate) link: Box<dyn Elsewhere>,
    told: StartReport,
}

impl Away {
    /// Prepares for these services on the machine of the agent at `agent`.
    pub(crate) fn open(
        agent: &str,
        services: &[&Service],
        machines: Option<&dyn Machines>,
    ) -> Result<Away, Error> {
        let services: Vec<String> = services.iter().map(|service| service.name.clone()).collect();
        let open = machines.map_or_else(
            || Err(format!("the agent at {agent} is to run it, and this command asks none; leave agent out")),
            |machines| machines.open(agent, &services),
        );
        match open {
            Ok(link) => Ok(Away { services, link, told: StartReport::default() }),
            Err(problem) => Err(Error::Elsewhere { services: services.join(", "), problem }),
        }
    }

    /// Starts them; returns how long they took.
    pub(crate) fn start(&mut self, called: &Addresses) -> Result<Duration, Error> {
        self.told = self.link.start(called).map_err(|problem| self.error(problem))?;
        Ok(self.told.took)
    }

    /// Stops them and forgets their addresses, which are no longer valid.
    pub(crate) fn halt(&mut self) -> Result<Duration, Error> {
        self.told.addresses.clear();
        self.link.halt().map_err(|problem| self.error(problem))
    }

    fn error(&self, problem: String) -> Error {
        Error::Elsewhere { services: self.services.join(", "), problem }
    }

    /// The name of their machine: `b (10.0.0.5:7070)`.
    pub fn name(&self) -> &str {
        self.link.name()
    }

    /// Their names, in the order in which they started.
    pub fn services(&self) -> &[String] {
        &self.services
    }

    /// Their machine's report after it had started them.
    pub fn told(&self) -> &StartReport {
        &self.told
    }

    /// Their resource usage so far, in the format of the program there.
    ///
    /// Errors: the machine does not answer.
    pub fn usage(&self) -> Result<String, String> {
        self.link.usage()
    }

    /// Has their machine observe them during a trial; returns its report.
    ///
    /// Errors: the reason why it does not observe, or that it does not answer.
    pub fn watch(&self, what: &WatchOrder<'_>) -> Result<String, String> {
        self.link.watch(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back() {
        let check = |text: &str, is_tcp: bool| {
            let address = Address::try_from(text.to_owned()).unwrap();
            assert_eq!((address.to_string().as_str(), address.tcp().is_some()), (text, is_tcp));
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(serde_json::from_str::<Address>(&json).unwrap(), address);
        };
        check("127.0.0.1:80", true);
        check("[::1]:80", true);
        check("unix:/tmp/a b", false);
        for text in ["", "localhost:80", "127.0.0.1", "1.2.3.4:80; include /x"] {
            assert!(Address::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
