use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use host::Host;
use knobs::{Planned, RequestedKnobs, Subject};
use units::CpuList;

/// Knobs, and the target that they act on.
#[derive(Args, Debug)]
pub(crate) struct TuneRequest {
    /// Knobs (cpu.set=0-3), profiles (cache-server, cache-server-apart, cache-client), or files of profiles.
    ///
    /// A knob overrides the line of that name in a profile.
    #[arg(required = true, value_name = "KNOB|PROFILE|FILE")]
    words: Vec<String>,
    #[command(flatten)]
    pub(super) target: Target,
    /// Skip knobs that this machine lacks, and name them; always done with a profile's lines.
    #[arg(long)]
    skip_unsupported: bool,
}

/// The target that knobs act on.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// A process to confine, with all that it has started; several times for several.
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// The network device whose egress, interrupts and queues are set [default: the only card, if there is only one].
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// The network namespace that the device is in: a name of `ip netns`, or a file such as /proc/PID/ns/net.
    #[arg(long, value_name = "NAME|FILE")]
    namespace: Option<String>,
    /// The processors that the service works on, for `subject` and `others` in knobs.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Name of the control groups; two runs at the same time need two names.
    #[arg(long, default_value = "taillight", value_name = "NAME")]
    group: String,
}

impl Target {
    /// The named subject, and `pid`.
    ///
    /// Without a device, its device is the only card of `host`, if knobs can act on that card.
    pub(super) fn subject(&self, host: &Host, pid: Option<u32>) -> Subject {
        let namespace = self.namespace.as_ref().map(|name| {
            if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) }
        });
        // No default in another namespace, which has other devices.
        let only_card = || host.only_card().filter(|_| self.namespace.is_none()).map(|nic| nic.name.clone());
        let subject = Subject {
            name: self.group.clone(),
            pids: self.pid.iter().copied().chain(pid).collect(),
            net_device: self.device.clone().or_else(only_card),
            net_namespace: namespace,
            cpus: self.cpus.clone().unwrap_or_default(),
            ..Subject::default()
        };
        subject.with_descendants()
    }
}

impl TuneRequest {
    /// The actions on this machine, for the named processes and `pid`.
    ///
    /// Errors: a word is not a knob, a profile or a readable file; a knob requested by name is not supported.
    pub(super) fn plan(&self, pid: Option<u32>) -> Result<Planned> {
        let asked = RequestedKnobs::read(&self.words)?;
        let host = Host::here();
        let subject = self.target.subject(&host, pid);
        Ok(match self.skip_unsupported {
            true => asked.plan_what_can_be(&host, &subject)?,
            false => asked.plan(&host, &subject)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use host::Nic;

    use super::*;

    fn request(words: &[&str]) -> TuneRequest {
        TuneRequest {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            target: Target { pid: vec![], device: None, namespace: None, cpus: None, group: "x".into() },
            skip_unsupported: false,
        }
    }

    #[test]
    fn the_only_card_needs_no_name() {
        let nic = |name: &str, hardware: bool| Nic {
            name: name.into(),
            driver: hardware.then(|| "virtio_net".into()),
            ..Nic::default()
        };
        let check = |nics: Vec<Nic>, device: Option<&str>, namespace: Option<&str>, expect: Option<&str>| {
            let host = Host { nics, ..Host::default() };
            let mut target = request(&["x"]).target;
            (target.device, target.namespace) = (device.map(Into::into), namespace.map(Into::into));
            assert_eq!(target.subject(&host, None).net_device.as_deref(), expect);
        };
        let one = || vec![nic("lo", false), nic("eth0", true), nic("veth1", false)];
        check(one(), None, None, Some("eth0"));
        check(one(), Some("lo"), None, Some("lo"));
        check(one(), None, Some("/proc/1/ns/net"), None);
        check(vec![nic("eth0", true), nic("eth1", true)], None, None, None);
        check(vec![nic("lo", false)], None, None, None);
    }

    #[test]
    fn a_namespace_is_a_name_or_a_file() {
        let check = |given: &str, expect: &str| {
            let mut target = request(&["rps=0"]).target;
            target.namespace = Some(given.into());
            assert_eq!(target.subject(&Host::default(), None).net_namespace, Some(expect.into()));
        };
        check("a", "/run/netns/a");
        check("/proc/7/ns/net", "/proc/7/ns/net");
    }
}
