use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits for a command that measures.
pub(crate) trait WaitRan {
    /// Panics unless it ends with 0, or with 75: on a busy machine nothing may be known of the server.
    fn wait_ran(&mut self, within: std::time::Duration);
}

impl WaitRan for launch::Process {
    fn wait_ran(&mut self, within: std::time::Duration) {
        let status = self.wait(within).unwrap();
        assert!(
            matches!(status.code(), Some(0 | 75)),
            "{status}: {}",
            self.not_ready("have ended well".into(), within)
        );
    }
}

/// Addresses for tests of networks (RFC 2544), reserved for benchmarks.
const NETWORK: &str = "198.18";

/// Machines on one switch: network namespaces joined by a bridge, with this one as a further machine. Everything is
/// removed when it is dropped.
pub(crate) struct Net {
    bridge: String,
    subnet: u32,
    hosts: Vec<String>,
}

impl Net {
    /// A switch with hosts `0..hosts`. `None`, with the reason printed, if this environment does not permit it.
    pub(crate) fn new(hosts: usize) -> Option<Net> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let name = format!("tl{pid}x{count}");
        // The first four are of clients with a link of their own (`--bandwidth shape`).
        let subnet = 4 + (pid * 8 + count) % 248;
        // Made first, so that a failing step removes everything set up before it.
        let mut net = Net { bridge: name.clone(), subnet, hosts: Vec::new() };
        let made = net.set_up(&name, hosts);
        match made {
            Ok(()) => Some(net),
            Err(why) => {
                println!("skipped: no network namespaces here: {why}");
                None
            }
        }
    }

    fn set_up(&mut self, name: &str, hosts: usize) -> Result<(), String> {
        let bridge = self.bridge.clone();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        ip(&["addr", "add", &format!("{}/24", self.address(250)), "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for host in 0..hosts {
            let space = format!("{name}n{host}");
            ip(&["netns", "add", &space])?;
            self.hosts.push(space.clone());
            let (here, address) = (self.link(host), format!("{}/24", self.address(host)));
            ip(&["link", "add", &here, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
            ip(&["link", "set", &here, "master", &bridge, "up"])?;
            ip(&["-n", &space, "addr", "add", &address, "dev", "eth0"])?;
            ip(&["-n", &space, "link", "set", "eth0", "up"])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    /// The address of a host.
    pub(crate) fn address(&self, host: usize) -> String {
        format!("{NETWORK}.{}.{}", self.subnet, host + 1)
    }

    /// Gives a host and this machine link-local addresses on their link. Returns that of the host, and the name of this machine's end,
    /// which is the zone of the address here; there it is `eth0`. `None`, with the reason printed, without IPv6.
    pub(crate) fn link_local(&self, host: usize) -> Option<(String, &str)> {
        let address = format!("fe80::{:x}", host + 1);
        let (there, here) = (format!("{address}/64"), "fe80::fa/64");
        let added = ip(&["-n", &self.hosts[host], "addr", "add", &there, "dev", "eth0", "nodad"])
            .and_then(|_| ip(&["addr", "add", here, "dev", &self.bridge, "nodad"]));
        match added {
            Ok(_) => Some((address, self.bridge.as_str())),
            Err(why) => {
                println!("skipped: no link-local addresses here: {why}");
                None
            }
        }
    }

    /// The words before a command that is to run on a host.
    pub(crate) fn on(&self, host: usize) -> Vec<String> {
        ["ip", "netns", "exec", &self.hosts[host]].map(Into::into).into()
    }

    /// Runs a command on the host with the mounts of this machine: `ip` gives a command a `/sys` without control groups, which podman
    /// needs.
    pub(crate) fn within(&self, host: usize) -> Vec<String> {
        vec!["nsenter".into(), format!("--net=/run/netns/{}", self.hosts[host])]
    }

    /// A range of addresses that this machine routes to a host, which forwards them.
    pub(crate) fn route(&self, host: usize) -> String {
        // Far from those of this process's other switches, and on no real network.
        let range = format!("{NETWORK}.{}.0/28", 4 + (self.subnet + 120) % 248);
        ip(&["route", "replace", &range, "via", &self.address(host)]).unwrap();
        range
    }

    /// How a host controls congestion: of all settings the one that each network namespace has for itself.
    pub(crate) fn congestion_control(&self, host: usize) -> String {
        let words = ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"];
        let found = ip(&[&["netns", "exec", &self.hosts[host]], &words[..]].concat()).unwrap();
        found.trim().to_owned()
    }

    /// Has a host forward packets.
    pub(crate) fn forward(&self, host: usize) {
        let words = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"];
        ip(&[&["netns", "exec", &self.hosts[host]], &words[..]].concat()).unwrap();
    }

    /// Plugs a host in or pulls its plug.
    pub(crate) fn plug(&self, host: usize, plugged: bool) {
        ip(&["link", "set", &self.link(host), if plugged { "up" } else { "down" }]).unwrap();
    }

    /// The processes on a host.
    pub(crate) fn processes(&self, host: usize) -> BTreeSet<u32> {
        let pids = ip(&["netns", "pids", &self.hosts[host]]).unwrap();
        pids.lines().map(|pid| pid.trim().parse().unwrap()).collect()
    }

    /// The switch's end of a host's link.
    fn link(&self, host: usize) -> String {
        format!("{}v{host}", self.bridge)
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // A link goes with its namespace, once nothing runs there any more.
        for host in &self.hosts {
            let _ = ip(&["netns", "del", host]);
        }
        let _ = ip(&["link", "del", &self.bridge]);
    }
}

fn ip(words: &[&str]) -> Result<String, String> {
    let output =
        Command::new("ip").args(words).stdin(Stdio::null()).output().map_err(|e| format!("ip: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
