use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// The TCP settings that shape a load. A new namespace starts with the values of the machine's first namespace or the
/// kernel's defaults, not with its parent's, so they are copied; settings that the kernel lacks are left out.
const SETTINGS: [&str; 12] = [
    "core/somaxconn",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_rmem",
    "ipv4/tcp_wmem",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_notsent_lowat",
    "ipv4/tcp_limit_output_bytes",
    "ipv4/tcp_autocorking",
    "ipv4/tcp_timestamps",
    "ipv4/tcp_sack",
    "ipv4/tcp_no_metrics_save",
];

/// The one of [`SETTINGS`] that is not always taken over.
const CONTROL: &str = "ipv4/tcp_congestion_control";

/// The congestion controls without pacing that take BBR's place, the preferred one first.
const WITHOUT_PACING: [&str; 2] = ["cubic", "reno"];

/// Note for the reader about TCP behind the bridge, if the machine uses the congestion control `own` and the servers'
/// namespaces use `taken`; `None` if both are the same and do not pace.
pub fn network_note(own: &str, taken: &str) -> Option<String> {
    if paces(taken) {
        return Some(format!(
            "Behind the bridge TCP's congestion control is {taken}, since the kernel allows network namespaces no other: \
             it sends the segments of an answer at a rate that pauses between requests make it underestimate, so that \
             some answers wait for milliseconds."
        ));
    }
    if own == taken {
        return None;
    }
    Some(if paces(own) {
        format!(
            "Behind the bridge TCP's congestion control is {taken}, not {own} as on its machine: {own} sends the \
             segments of an answer at a rate that it believes in, which pauses between requests make it underestimate, \
             so that some answers wait for milliseconds."
        )
    } else {
        format!("Behind the bridge TCP's congestion control is {taken}, not {own} as on its machine.")
    })
}

fn paces(control: &str) -> bool {
    control.starts_with("bbr")
}

/// The congestion controls to try in a new namespace, in this order: `own` unless it paces, then the `allowed` ones
/// that do not pace.
///
/// Outside the machine's first namespace, the kernel refuses controls that are merely *available*. Source:
/// `tcp_set_default_congestion_control` in the kernel's `net/ipv4/tcp_cong.c`.
fn choices(own: &str, allowed: &str) -> Vec<String> {
    if !paces(own) {
        return vec![own.to_owned()];
    }
    let is_allowed = |name: &&str| allowed.split_whitespace().any(|word| word == *name);
    WITHOUT_PACING.into_iter().filter(is_allowed).map(str::to_owned).collect()
}

/// A network namespace without a name: it lives as long as this, and as the processes in it.
///
/// One with a name (`ip netns add`) is a mount, which outlives its maker; this one goes by itself when the process
/// does, and takes the ends of its links with it.
pub(crate) struct NetSpace {
    file: File,
    control: Option<String>,
}

impl NetSpace {
    /// A new one, with nothing in it but loopback, and this process's settings of TCP. Errors: only root may.
    pub(crate) fn new() -> io::Result<NetSpace> {
        apart(|| {
            let settings = Settings::read();
            // SAFETY: of the flags only CLONE_FILES is unsafe: it would separate this thread's file descriptors from
            // the process's.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            let control = settings.set();
            Ok(NetSpace { file: File::open("/proc/thread-self/ns/net")?, control })
        })
    }

    /// Where others find it, such as `ip`, LXC and podman, while this process lives.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// TCP's congestion control in it, as the kernel said after it was set.
    pub(crate) fn control(&self) -> Option<&str> {
        self.control.as_deref()
    }
}

/// Gives the namespace at `space`, which an engine made, this process's settings of TCP; the congestion control that
/// is in force in it then.
pub(crate) fn take_over_settings(space: &Path) -> io::Result<Option<String>> {
    let space = File::open(space)?;
    apart(move || {
        let settings = Settings::read();
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(settings.set())
    })
}

/// Runs `work` in a thread of its own, which may leave its network namespace as nothing runs in it afterwards.
fn apart<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let thread = thread::Builder::new().name("namespace".into()).spawn(work)?;
    thread.join().map_err(|_| io::Error::other("the thread that enters namespaces panicked"))?
}

/// The file of a setting; `/proc/sys/net` shows each thread its own namespace.
fn file(name: &str) -> PathBuf {
    Path::new("/proc/sys/net").join(name)
}

/// The setting's value in the calling thread's namespace; `None` if the kernel lacks it.
fn read(name: &str) -> Option<String> {
    fs::read_to_string(file(name)).ok()
}

/// Settings of TCP, and which congestion controls to try.
struct Settings {
    values: Vec<(&'static str, String)>,
    controls: Vec<String>,
}

impl Settings {
    fn read() -> Settings {
        let values = SETTINGS.into_iter().filter(|name| *name != CONTROL);
        let own = read(CONTROL).unwrap_or_default();
        let allowed = read("ipv4/tcp_allowed_congestion_control").unwrap_or_default();
        Settings {
            values: values.filter_map(|name| Some((name, read(name)?))).collect(),
            controls: choices(own.trim(), &allowed),
        }
    }

    /// Writes those that differ to the calling thread's namespace; the congestion control that is in force then.
    ///
    /// A value that cannot be written is one for the whole machine, and the same already.
    fn set(&self) -> Option<String> {
        for (name, value) in &self.values {
            if read(name).is_some_and(|now| now != *value) {
                let _ = fs::write(file(name), value.trim());
            }
        }
        for control in &self.controls {
            // The value read back next decides, not the write's result.
            let _ = fs::write(file(CONTROL), control);
            if read(CONTROL).is_some_and(|now| now.trim() == control) {
                break;
            }
        }
        read(CONTROL).map(|now| now.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    #[test]
    fn a_control_that_paces_is_replaced_by_one_that_the_kernel_allows() {
        let check = |own: &str, allowed: &str, expect: &[&str]| assert_eq!(choices(own, allowed), expect);
        check("bbr", "reno bbr cubic\n", &["cubic", "reno"]);
        // cubic may be available on such a machine, but a namespace would be refused it.
        check("bbr", "reno bbr\n", &["reno"]);
        check("bbr3", "reno bbr3\n", &["reno"]);
        check("bbr", "bbr\n", &[]);
        check("cubic", "reno cubic\n", &["cubic"]);
        check("dctcp", "reno cubic dctcp\n", &["dctcp"]);
    }

    #[test]
    fn the_note_names_what_is_in_force() {
        assert_eq!(network_note("cubic", "cubic"), None);
        let replaced = network_note("bbr", "reno").unwrap();
        assert!(replaced.contains("is reno, not bbr"), "{replaced}");
        let other = network_note("cubic", "reno").unwrap();
        assert!(other.ends_with("is reno, not cubic as on its machine."), "{other}");
        let stuck = network_note("bbr", "bbr").unwrap();
        assert!(stuck.contains("is bbr, since the kernel allows"), "{stuck}");
    }

    /// Runs `work` in the namespace at `space`.
    fn inside<T: Send + 'static>(space: PathBuf, work: impl FnOnce() -> T + Send + 'static) -> T {
        let space = File::open(space).unwrap();
        let enter = move || {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        };
        apart(enter).unwrap()
    }

    #[test]
    fn a_namespace_has_a_network_of_its_own_and_the_same_settings() {
        if !User::is_root() {
            println!("skipped: needs root");
            return;
        }
        // The test's own copy of the machine's first namespace, in which no other program changes settings.
        let outer = NetSpace::new().unwrap();
        let (here, inner) = inside(outer.path(), || {
            let backlog = file("ipv4/tcp_max_syn_backlog");
            fs::write(backlog, "777").unwrap();
            (Settings::read().values, NetSpace::new().unwrap())
        });
        let link = |space: &NetSpace| fs::read_link(space.path()).unwrap();
        assert_ne!(link(&outer), link(&inner));
        assert_ne!(link(&inner), fs::read_link("/proc/self/ns/net").unwrap());
        assert!(here.len() > 5 && here.contains(&("ipv4/tcp_max_syn_backlog", "777\n".into())), "{here:?}");
        let (there, control) = inside(inner.path(), || (Settings::read().values, read(CONTROL).unwrap()));
        // A setting that the kernel keeps for the whole machine is missing inside.
        assert!(there.len() > 3 && there.iter().all(|setting| here.contains(setting)), "{there:?} {here:?}");
        assert_eq!(inner.control(), Some(control.trim()));
    }

    #[test]
    fn the_control_that_is_told_is_the_one_in_force() {
        if !User::is_root() {
            println!("skipped: needs root");
            return;
        }
        let allowed = read("ipv4/tcp_allowed_congestion_control").unwrap();
        let in_force = |controls: &[&str]| {
            let controls = controls.iter().map(|&name| name.to_owned()).collect();
            let space = NetSpace::new().unwrap();
            let settings = Settings { values: Vec::new(), controls };
            inside(space.path(), move || (settings.set(), read(CONTROL)))
        };
        for control in allowed.split_whitespace() {
            // One that does not exist is refused, as one is that is not allowed.
            let (told, read) = in_force(&["nosuchcontrol", control]);
            assert_eq!(told.as_deref(), Some(control));
            assert_eq!(read.unwrap().trim(), control);
        }
        let (told, read) = in_force(&["nosuchcontrol"]);
        assert_eq!(told.unwrap(), read.unwrap().trim());
        let space = NetSpace::new().unwrap();
        let replaceable =
            WITHOUT_PACING.iter().any(|name| allowed.split_whitespace().any(|word| word == *name));
        assert!(!replaceable || !paces(space.control().unwrap()), "{:?} {allowed}", space.control());
    }
}
