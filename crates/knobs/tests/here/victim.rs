use std::path::PathBuf;
use std::time::Duration;

use knobs::Subject;
use launch::{Process, Spec};

const LONG: Duration = Duration::from_secs(60);

/// A process to confine, alone in a network namespace with a pair of devices of four queues each way.
///
/// The namespace and its devices end with the process.
pub(crate) struct Victim {
    process: Process,
    name: String,
}

const SCRIPT: &str = "ip link add tlv0 numtxqueues 4 numrxqueues 4 type veth peer name tlv1 && \
    ip addr add 198.19.255.254/30 dev tlv0 && ip link set tlv0 up && ip link set tlv1 up && echo there && exec sleep 3600";

impl Victim {
    /// `None`, with a printed reason, if a namespace cannot be made.
    pub(crate) fn new(name: &str) -> Option<Victim> {
        let spec = Spec::new("victim", "unshare").args(["--net", "sh", "-c", SCRIPT]);
        let mut process = match Process::spawn(spec) {
            Ok(process) => process,
            Err(error) => {
                println!("skipped: {error}");
                return None;
            }
        };
        if let Err(error) = process.await_line("there", LONG) {
            println!("skipped: no network namespace of its own: {error}");
            return None;
        }
        Some(Victim { process, name: format!("tl-{name}-{}", std::process::id()) })
    }

    pub(crate) fn namespace(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.process.pid()).into()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The process and its first device. It has no interrupts; for these, this machine's own first card.
    pub(crate) fn subject(&self, words: &[&str]) -> Subject {
        let card = words.iter().any(|word| word.starts_with("irq."));
        let hardware =
            host::Host::here().nics.iter().find(|nic| nic.is_hardware()).map(|nic| nic.name.clone());
        Subject {
            name: self.name.clone(),
            pids: vec![self.pid()],
            net_device: if card { hardware.or(Some("no-card".into())) } else { Some("tlv0".into()) },
            net_namespace: (!card).then(|| self.namespace()),
            cpus: "0".parse().unwrap(),
            ..Subject::default()
        }
    }
}
