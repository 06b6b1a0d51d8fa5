//! The stages of a request in the server, followed by programs in the kernel (`src/bpf/stages.bpf.c`).
//!
//! The times are cut at events, so the stages of a request add up to its time by construction. This does not prove that
//! the right events were assigned to the same request: so a packet socket, independent of the programs, also watches
//! some connections, and both times are printed.

#[cfg(any(feature = "bpf", test))]
mod compared;
#[cfg(feature = "bpf")]
mod kernel;
#[cfg(any(feature = "bpf", test))]
mod seen;

use results::probes::Missing;

use crate::instrument::Instrument;
use crate::subject::Subject;
use spec::Probe;

#[cfg(feature = "bpf")]
pub(crate) fn open(subject: &Subject) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    if subject.pids.is_empty() || subject.ports.is_empty() {
        return Err(missing(
            "the server's processes: none is known to listen at its address on this machine",
        ));
    }
    if subject.ports.len() > crate::kernel::PORTS {
        return Err(missing(&format!(
            "a server at {} ports at most; this one has {}",
            crate::kernel::PORTS,
            subject.ports.len()
        )));
    }
    match kernel::Kernel::open(subject, kernel::CONNECTIONS) {
        Ok(kernel) => Ok(Box::new(kernel)),
        Err(error) => Err(missing(&crate::kernel::hint(&error))),
    }
}

/// Fails, since this build lacks the feature.
#[cfg(not(feature = "bpf"))]
pub(crate) fn open(_: &Subject) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    Err(missing(
        "a build with the feature `bpf`: cargo build --release --features bpf, which takes clang, libelf-dev and zlib1g-dev",
    ))
}

/// Why it cannot be opened for any server.
pub(crate) fn lack() -> Option<String> {
    // No process has the number 0.
    let none = Subject { pids: vec![0], ports: vec![1], ..Subject::default() };
    open(&none)
        .err()
        .map(|lacks| format!("a request's stages cannot be followed here: it takes {}", lacks[0].what))
}

fn missing(what: &str) -> Vec<Missing> {
    vec![Missing {
        probe: Probe::Stages.name().into(),
        what: what.into(),
        disables: "the stages of a request: the server's own time is known as a whole only".into(),
    }]
}

#[cfg(all(test, feature = "bpf"))]
mod tests {
    use super::*;

    #[test]
    fn more_ports_than_can_be_watched_are_refused() {
        let subject = Subject { pids: vec![1], ports: (1..=9).collect(), ..Subject::default() };
        let lacks = open(&subject).err().unwrap();
        assert!(lacks[0].what.contains("8 ports at most; this one has 9"), "{lacks:?}");
    }
}
