//! Knobs of an agent's machine that a coordinator has applied: by the same engine and journal as `taillight tune`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use ::agent::Tune;
use host::Host;
use knobs::{Action, Applied, Engine, LocalKernel, Planned, Profile, RequestedKnobs, Subject};
use units::CpuList;

use super::locked;
use crate::{LEFT_OUT, forget_files};

/// The knobs in force, for each session. Dropping it restores the machine.
///
/// A killed agent leaves its journal for `taillight tune undo` on its machine.
pub struct HostKnobs {
    folder: PathBuf,
    /// The root of the machine's file system.
    root: PathBuf,
    in_force: Mutex<InForce>,
}

#[derive(Default)]
struct InForce {
    /// One engine for the knobs of all sessions, because only one engine can hold the lock; `None` without knobs.
    engine: Option<Engine>,
    applied: BTreeMap<u64, Applied>,
}

/// A session's server.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    pub(super) pids: Vec<u32>,
    /// The processors that it was given.
    pub(super) cpus: CpuList,
    /// The folder whose files it serves.
    pub(super) folder: Option<PathBuf>,
    /// Whether it uses this machine's network instead of a network namespace.
    pub(super) is_bare: bool,
}

impl HostKnobs {
    /// None yet; journals go to `folder`.
    pub fn new(folder: PathBuf) -> HostKnobs {
        HostKnobs { folder, root: "/".into(), in_force: Mutex::default() }
    }

    /// Does what `tune` asks, for this server; returns the actions, one in a line.
    pub(super) fn tune(&self, session: u64, tune: &Tune, running: &Running) -> Result<String, String> {
        match tune.action.as_str() {
            "plan" => Ok(told(&plan(session, tune, running)?)),
            "apply" => {
                let mut in_force = locked(&self.in_force);
                if in_force.applied.contains_key(&session) {
                    return Err("its knobs are in force already; undo them first".into());
                }
                let plan = plan(session, tune, running)?;
                if let Some(object) = in_force.applied.values().find_map(|other| other.overlap(&plan.actions))
                {
                    return Err(format!(
                        "{object} is in force for another session, and one machine has one value of it; ask again once that \
                         session has undone its knobs"
                    ));
                }
                let engine = match &in_force.engine {
                    Some(engine) => Ok(engine.clone()),
                    None => Engine::open(&self.folder, LocalKernel::new(&self.root)),
                };
                let engine = engine.map_err(|error| error.to_string())?;
                let asked = RequestedKnobs::read(&tune.knobs).map_err(|error| error.to_string())?;
                forget_files(asked.knobs(), running.folder.as_deref()).map_err(|error| error.to_string())?;
                let applied = engine.apply(&plan.actions).map_err(|error| error.to_string())?;
                in_force.applied.insert(session, applied);
                in_force.engine = Some(engine);
                Ok(told(&plan))
            }
            "status" => {
                let in_force = locked(&self.in_force);
                let applied = in_force.applied.get(&session);
                Ok(applied.map_or(String::new(), |applied| typed(applied.actions())))
            }
            "undo" => {
                let drifts = self.revert(session).map_err(|error| error.to_string())?;
                Ok(drifts.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
            }
            other => Err(format!("'{other}' is not one of plan, apply, status and undo")),
        }
    }

    /// Reverts the session's knobs.
    pub(super) fn leave(&self, session: u64) {
        // What cannot be reverted stays in the journal, and has been told.
        if let Ok(drifts) = self.revert(session) {
            drifts.iter().for_each(|drift| eprintln!("taillight: {drift}"));
        }
    }

    /// Reverts the session's knobs; returns the values that another process has changed since.
    fn revert(&self, session: u64) -> Result<Vec<knobs::Drift>, knobs::Error> {
        // Until it is done, so that another session does not find the lock held by this one's engine.
        let mut in_force = locked(&self.in_force);
        let drifts = in_force.applied.remove(&session).map(Applied::revert);
        if in_force.applied.is_empty() {
            in_force.engine = None;
        }
        drifts.unwrap_or(Ok(Vec::new()))
    }
}

/// Knobs of this machine. Errors: its operator did not allow them.
pub(super) fn allowed(knobs: Option<&HostKnobs>) -> Result<&HostKnobs, String> {
    knobs.ok_or_else(|| "its operator allows no knobs; that takes --allow-knobs".into())
}

fn plan(session: u64, tune: &Tune, running: &Running) -> Result<Planned, String> {
    // A file of this machine is not the coordinator's to name.
    if let Some(file) = RequestedKnobs::profiles(&tune.knobs)
        .iter()
        .find(|name| !Profile::names().any(|known| known == **name))
    {
        let names: Vec<&str> = Profile::names().collect();
        return Err(format!("there is no profile '{file}'; name {}", names.join(", ")));
    }
    let asked = RequestedKnobs::read(&tune.knobs).map_err(|error| error.to_string())?;
    let host = Host::here();
    let mut running = running.clone();
    if !tune.cpus.is_empty() {
        running.cpus = tune.cpus.parse::<CpuList>().map_err(|error| error.to_string())?;
    }
    asked.plan(&host, &subject(session, tune, &running, &host)).map_err(|error| error.to_string())
}

/// The actions of a plan as commands, one in a line, and the skipped knobs of profiles as comments.
fn told(planned: &Planned) -> String {
    let mut lines = typed(&planned.actions);
    for one in &planned.skipped {
        lines += if lines.is_empty() { "" } else { "\n" };
        lines += &format!("{LEFT_OUT}{}: {}", one.knob, one.reason);
    }
    lines
}

/// The subject of a session's knobs: its server, and the requested network device, else the server's device, else the only card.
fn subject(session: u64, tune: &Tune, running: &Running, host: &Host) -> Subject {
    let asked = Some(tune.device.clone()).filter(|name| !name.is_empty());
    let (net_device, net_namespace) = match (asked, running.pids.first()) {
        (None, Some(pid)) if !running.is_bare => {
            (Some(launch::DEVICE.to_owned()), Some(format!("/proc/{pid}/ns/net").into()))
        }
        (asked, _) => (asked.or_else(|| host.only_device().map(|nic| nic.name.clone())), None),
    };
    let subject = Subject {
        name: format!("taillight-agent-{}-{session}", std::process::id()),
        pids: running.pids.clone(),
        net_device,
        net_namespace,
        folder: running.folder.clone(),
        cpus: running.cpus.clone(),
        ..Subject::default()
    };
    subject.with_descendants()
}

fn typed<'a>(actions: impl IntoIterator<Item = &'a Action>) -> String {
    actions.into_iter().map(Action::typed).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tune(action: &str, knob: &str) -> Tune {
        Tune { action: action.into(), knobs: vec![knob.into()], ..Tune::default() }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let knobs = HostKnobs::new(folder.path().into());
        let check = |action: &str, knob: &str, says: &str| {
            let error = knobs.tune(1, &tune(action, knob), &Running::default()).unwrap_err();
            assert!(error.contains(says), "{error}");
        };
        check("wipe", "cpu.set=0", "plan, apply, status and undo");
        check("plan", "no-such-knob=1", "no-such-knob");
        // Without a server, a session has no process to confine.
        check("plan", "cpu.quota=50%", "it acts on processes");
        assert_eq!(knobs.tune(1, &tune("undo", ""), &Running::default()), Ok(String::new()));
    }

    #[test]
    fn knobs_act_on_the_server_and_its_card() {
        let nic = |name: &str| host::Nic {
            name: name.into(),
            driver: Some("virtio_net".into()),
            ..host::Nic::default()
        };
        let one = Host { nics: vec![nic("ens3")], ..Host::default() };
        let two = Host { nics: vec![nic("ens3"), nic("ens4")], ..Host::default() };
        let running =
            Running { pids: vec![u32::MAX], cpus: "2-3".parse().unwrap(), folder: None, is_bare: true };
        let check = |device: &str, host: &Host, expect: Option<&str>| {
            let tune = Tune { device: device.into(), ..tune("plan", "rps=subject") };
            let subject = subject(1, &tune, &running, host);
            assert_eq!((subject.net_device.as_deref(), &subject.cpus), (expect, &running.cpus));
            assert_eq!(subject.pids, running.pids);
        };
        check("", &one, Some("ens3"));
        check("lo", &one, Some("lo"));
        check("", &two, None);
        check("ens4", &two, Some("ens4"));
        // A network namespace has no card.
        let played = ["lo", "eth0"].map(|name| host::Nic { name: name.into(), ..host::Nic::default() });
        check("", &Host { nics: played.to_vec(), ..Host::default() }, Some("eth0"));
        let behind = Running { is_bare: false, ..running.clone() };
        let found = subject(1, &tune("plan", "net.rate=1gbit"), &behind, &one);
        let space = format!("/proc/{}/ns/net", u32::MAX);
        assert_eq!((found.net_device.as_deref(), found.net_namespace), (Some("eth0"), Some(space.into())));
    }

    #[test]
    fn what_a_profile_lists_and_this_machine_lacks_is_told() {
        let tune = |cpus: &str| Tune {
            cpus: cpus.into(),
            device: "lo".into(),
            ..tune("plan", "profile=cache-client")
        };
        let knobs = HostKnobs::new("/no/such/folder".into());
        let said = knobs.tune(1, &tune("0"), &Running::default()).unwrap();
        // No machine has interrupts of loopback.
        let left_out =
            said.lines().find(|line| line.contains("irq.affinity")).unwrap_or_else(|| panic!("{said}"));
        assert!(left_out.starts_with(LEFT_OUT), "{said}");
        assert!(said.lines().any(|line| !line.starts_with('#')), "{said}");
        let error = knobs.tune(1, &tune("x"), &Running::default()).unwrap_err();
        assert!(error.contains('x'), "{error}");
    }

    #[test]
    fn what_is_in_force_for_one_session_is_refused_to_another() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = root.path().join("proc/sys/net/core/somaxconn");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "4096\n").unwrap();
        let text = || std::fs::read_to_string(&file).unwrap().trim().to_owned();
        let knobs = HostKnobs { root: root.path().into(), ..HostKnobs::new(folder.path().into()) };
        let ask = |session, action: &str, value: u32| {
            let knob = format!("sysctl.net.core.somaxconn={value}");
            knobs.tune(session, &tune(action, &knob), &Running::default())
        };
        ask(1, "apply", 100).unwrap();
        for value in [200, 100, 4096] {
            let error = ask(2, "apply", value).unwrap_err();
            assert!(error.contains("somaxconn is in force for another session"), "{error}");
        }
        assert_eq!((text().as_str(), ask(2, "undo", 200)), ("100", Ok(String::new())));
        assert_eq!((ask(1, "undo", 100), text().as_str()), (Ok(String::new()), "4096"));
        ask(2, "apply", 200).unwrap();
        assert_eq!((text().as_str(), ask(2, "undo", 200)), ("200", Ok(String::new())));
        assert_eq!((text().as_str(), knobs::status(folder.path()).unwrap().journals.len()), ("4096", 0));
    }

    #[test]
    fn several_sessions_have_knobs_at_once() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: needs root");
        }
        let folder = tempfile::tempdir().unwrap();
        let knobs = HostKnobs::new(folder.path().into());
        let before = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        // The current value, so that the test changes nothing.
        let knob = format!("sysctl.net.core.somaxconn={}", before.trim());
        let ask = |session, action: &str| knobs.tune(session, &tune(action, &knob), &Running::default());
        let typed = Ok(format!("echo {} > /proc/sys/net/core/somaxconn", before.trim()));
        let is_held = || knobs::status(folder.path()).unwrap().running;
        assert_eq!((ask(1, "apply"), ask(2, "apply")), (typed.clone(), typed.clone()));
        assert!(ask(1, "apply").is_err_and(|why| why.contains("in force already")));
        assert_eq!((ask(1, "status"), ask(2, "status")), (typed.clone(), typed));
        assert_eq!(ask(3, "status"), Ok(String::new()));
        assert_eq!((ask(1, "undo"), is_held()), (Ok(String::new()), true));
        knobs.leave(2);
        // No knobs are in force, so that another session may set its own. A process that another test is about to start may
        // have the lock for a moment.
        let begun = std::time::Instant::now();
        while is_held() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(60), "knobs are still held");
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap(), before);
    }
}
