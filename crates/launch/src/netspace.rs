use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// The settings of TCP that shape a load. A new namespace has the machine's first values or the kernel's defaults, not
/// those of the namespace that it is made from, so they are copied; one that the kernel lacks is left out.
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

/// What a reader must know of the network behind the bridge; `None` where it is as this machine's own.
pub fn network_note() -> Option<String> {
    let (own, taken) = unpaced()?;
    Some(format!(
        "Behind the bridge TCP's congestion control is {taken}, not {own} as on this machine: {own} sends the segments of an \
         answer at a rate that it believes in, which pauses between requests make it underestimate, so that some \
         answers wait for milliseconds."
    ))
}

/// This process's congestion control, where it paces, and the one that takes its place.
fn unpaced() -> Option<(String, &'static str)> {
    let own = read(CONTROL)?.trim().to_owned();
    let offered = read("ipv4/tcp_available_congestion_control")?;
    let taken = without_pacing(&own, &offered)?;
    Some((own, taken))
}

/// What takes the place of `own`; `None` where that does not pace, or nothing else is `offered`.
fn without_pacing(own: &str, offered: &str) -> Option<&'static str> {
    let known = ["cubic", "reno"];
    let has = |name: &&str| offered.split_whitespace().any(|word| word == *name);
    own.starts_with("bbr").then(|| known.into_iter().find(has))?
}

/// A network namespace without a name: it lives as long as this, and as the processes in it.
///
/// One with a name (`ip netns add`) is a mount, which outlives its maker; this one goes by itself when the process
/// does, and takes the ends of its links with it.
pub(crate) struct NetSpace {
    file: File,
}

impl NetSpace {
    /// A new one, with nothing in it but loopback, and this process's settings of TCP. Errors: only root may.
    pub(crate) fn new() -> io::Result<NetSpace> {
        let file = apart(|| {
            let settings = settings();
            // SAFETY: of the flags only CLONE_FILES is unsafe: what others take for open would not be.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            set(&settings);
            File::open("/proc/thread-self/ns/net")
        })?;
        Ok(NetSpace { file })
    }

    /// Where others find it, such as `ip`, LXC and podman, while this process lives.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }
}

/// Gives the namespace at `space`, which somebody else made, this process's settings of TCP.
pub(crate) fn take_over_settings(space: &Path) -> io::Result<()> {
    let space = File::open(space)?;
    apart(move || {
        let settings = settings();
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
        set(&settings);
        Ok(())
    })
}

/// Runs `work` in a thread of its own, which may leave its network namespace as nobody comes after it.
fn apart<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let thread = thread::Builder::new().name("namespace".into()).spawn(work)?;
    thread.join().map_err(|_| io::Error::other("the thread that enters namespaces panicked"))?
}

/// The file of a setting; `/proc/sys/net` shows each thread that of its own namespace.
fn file(name: &str) -> PathBuf {
    Path::new("/proc/sys/net").join(name)
}

/// What the calling thread's namespace has; `None` of what the kernel lacks.
fn read(name: &str) -> Option<String> {
    fs::read_to_string(file(name)).ok()
}

/// The values of [`SETTINGS`] in the calling thread's namespace, of which nothing paces.
fn settings() -> Vec<(PathBuf, String)> {
    let unpaced = unpaced().map(|(_, taken)| format!("{taken}\n"));
    let value = |name: &str| unpaced.clone().filter(|_| name == CONTROL).or_else(|| read(name));
    SETTINGS.iter().filter_map(|name| Some((file(name), value(name)?))).collect()
}

/// Writes those that differ. One that cannot be written is one for the whole machine, and the same already.
fn set(settings: &[(PathBuf, String)]) {
    for (file, value) in settings {
        if fs::read_to_string(file).is_ok_and(|now| now != *value) {
            let _ = fs::write(file, value.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    #[test]
    fn nothing_paces_behind_the_bridge() {
        let check =
            |own: &str, offered: &str, taken: Option<&str>| assert_eq!(without_pacing(own, offered), taken);
        check("bbr", "reno bbr cubic\n", Some("cubic"));
        check("bbr3", "reno bbr3\n", Some("reno"));
        check("bbr", "bbr\n", None);
        check("cubic", "reno cubic\n", None);
        check("dctcp", "reno cubic dctcp\n", None);
    }

    #[test]
    fn a_namespace_has_a_network_of_its_own_and_the_same_settings() {
        if !User::is_root() {
            println!("skipped: needs root");
            return;
        }
        let space = NetSpace::new().unwrap();
        assert_ne!(fs::read_link(space.path()).unwrap(), fs::read_link("/proc/self/ns/net").unwrap());
        let here = settings();
        assert!(here.len() > 6, "{here:?}");
        let inside = File::open(space.path()).unwrap();
        let there = apart(move || {
            move_into_link_name_space(inside.as_fd(), Some(LinkNameSpaceType::Network))?;
            let control = fs::read_to_string(file(CONTROL))?;
            assert!(!control.starts_with("bbr"), "{control}");
            Ok(settings())
        });
        // A setting that the kernel keeps for the whole machine is missing inside.
        let there = there.unwrap();
        assert!(there.iter().all(|setting| here.contains(setting)), "{there:?} {here:?}");
    }
}
