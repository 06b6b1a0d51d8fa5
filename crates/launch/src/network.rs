use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::guardian::Guardian;
use crate::netspace::NetSpace;
use crate::subnet::{POOL, Subnet, in_use};
use crate::tool::{IPROUTE, ip, ip_spec, run};
use crate::{Error, Form, User, owner};

/// How many ranges of addresses are tried. Two that start at once and meet go on to different ones.
const RANGE_TRIES: u32 = 64;
/// Name of a server's network device in its namespace behind the bridge.
pub const DEVICE: &str = "eth0";
/// Whether the kernel forwards, in this process's namespace.
const FORWARDS: &str = "/proc/sys/net/ipv4/ip_forward";
/// The servers that one bridge holds: two base-36 digits name their links, and a /24 their addresses.
pub(crate) const MOST_PLACES: usize = 250;

/// A bridge on this machine with links to network namespaces, as container engines set it up, and the same for every
/// form. Dropping it removes everything.
///
/// Links are veth pairs as the kernel makes them, with all offloads on; a namespace takes over the settings of TCP of
/// the one that it is made from. Nothing is translated, and nothing forwarded but to a range that other machines route to this
/// one, where its operator has the kernel forward: no filter of packets is touched.
pub(crate) struct Network {
    name: String,
    subnet: Subnet,
    /// Whether the places answer other machines, too.
    is_routed: bool,
    /// The namespace of each place, if it is made here.
    spaces: Vec<Option<NetSpace>>,
    _guardian: Guardian,
}

impl Network {
    /// A bridge with one place for each of these `forms`. Namespaces are made now, except for bare places, which need
    /// none, and for docker, which makes its own: see [`Network::join`]. Addresses come from `routed`, a range that
    /// other machines route to this one.
    ///
    /// Errors: not root, `ip` is not installed, or this machine does not forward packets for the routed range.
    pub(crate) fn new(forms: &[Form], routed: Option<Subnet>) -> Result<Network, Error> {
        let places = forms.len();
        let form = forms.iter().copied().find(|form| *form != Form::Bare).unwrap_or_default();
        let refused = |why: String, remedy| Error::NoForm { form, why, remedy };
        if !User::is_root() {
            return Err(refused(
                "a bridge and network namespaces take root".into(),
                "run it as root, or use --form bare",
            ));
        }
        if places > MOST_PLACES {
            let why = format!("{places} instances are more than the {MOST_PLACES} that a bridge holds here");
            return Err(refused(why, "use fewer --server-instances"));
        }
        if let Some(range) = routed {
            if range.part(0, places).is_none() {
                let why = format!("{range} has no room for {places} servers, a bridge and its two ends");
                return Err(refused(why, "give a longer range by --serve-range"));
            }
            if !std::fs::read_to_string(FORWARDS).is_ok_and(|text| text.trim() == "1") {
                let why = format!("this machine forwards no packets, so that none from others reach {range}");
                return Err(refused(why, "set net.ipv4.ip_forward=1 on it"));
            }
        }
        let name = owner::fresh();
        let guardian = Guardian::start(&undo(&name))
            .map_err(Error::os(&name, "cannot start what removes the bridge"))?;
        ip(&["link", "add", &name, "type", "bridge", "stp_state", "0", "forward_delay", "0"])?;
        let subnet = take_range(&name, places, routed.unwrap_or(POOL))?;
        ip(&["link", "set", &name, "up"])?;
        let is_routed = routed.is_some();
        let mut network =
            Network { name: name.clone(), subnet, is_routed, spaces: Vec::new(), _guardian: guardian };
        for (place, form) in forms.iter().enumerate() {
            let space = match form {
                Form::Bare | Form::Docker => None,
                _ => Some(NetSpace::new().map_err(Error::os(&name, "cannot make a network namespace"))?),
            };
            if let Some(space) = &space {
                network.join(place, &space.path())?;
            }
            network.spaces.push(space);
        }
        Ok(network)
    }

    /// Links place number `place` to the network namespace at `space`.
    pub(crate) fn join(&self, place: usize, space: &Path) -> Result<(), Error> {
        let link = self.link(place);
        let at = space.display().to_string();
        let mac = mac(self.address(place));
        ip(&["link", "add", &link, "type", "veth", "peer", "name", DEVICE, "address", &mac, "netns", &at])?;
        ip(&["link", "set", &link, "master", &self.name, "up"])?;
        let address = self.subnet.with_length(place + 1);
        for words in [
            &["addr", "add", &address, "dev", DEVICE][..],
            &["link", "set", DEVICE, "up"],
            &["link", "set", "lo", "up"],
        ] {
            run(ip_spec(words).net(space), IPROUTE)?;
        }
        if self.is_routed {
            let bridge = self.bridge_address().to_string();
            run(ip_spec(&["route", "add", "default", "via", &bridge]).net(space), IPROUTE)?;
        }
        Ok(())
    }

    pub(crate) fn address(&self, place: usize) -> Ipv4Addr {
        self.subnet.address(place + 1)
    }

    /// The address of the bridge itself, which is one of this machine's.
    pub(crate) fn bridge_address(&self) -> Ipv4Addr {
        self.subnet.address(0)
    }

    /// The namespace of a place, if it was made here.
    pub(crate) fn space(&self, place: usize) -> Option<PathBuf> {
        self.spaces[place].as_ref().map(NetSpace::path)
    }

    /// TCP's congestion control in the namespace of a place, if it was made here.
    pub(crate) fn control(&self, place: usize) -> Option<&str> {
        self.spaces[place].as_ref()?.control()
    }

    /// Name or prefix of all its parts.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The bridge's end of a link.
    fn link(&self, place: usize) -> String {
        let digit = |n: usize| char::from_digit(n as u32 % 36, 36).unwrap_or('0');
        format!("{}{}{}", self.name, digit(place / 36), digit(place))
    }
}

/// The hardware address of a place: locally administered, with the place's IP address. A place keeps it when its container
/// is started again; with another one, connections waited up to a minute for the neighbour tables to forget the first.
fn mac(ip: Ipv4Addr) -> String {
    let [a, b, c, d] = ip.octets();
    format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

/// Gives the bridge an address of a part of `pool` that is unused on this machine.
fn take_range(bridge: &str, places: usize, pool: Subnet) -> Result<Subnet, Error> {
    // Concurrent processes begin at different ranges.
    let begin = std::process::id().wrapping_mul(97);
    for attempt in 0..RANGE_TRIES {
        let Some(subnet) = pool.part(begin.wrapping_add(attempt * (attempt + 1)), places) else { break };
        if is_taken(&subnet, bridge)? {
            continue;
        }
        let address = subnet.with_length(0);
        ip(&["addr", "add", &address, "dev", bridge])?;
        // Another process may have taken it between the check and this; then each sees the other now.
        if !is_taken(&subnet, bridge)? {
            return Ok(subnet);
        }
        ip(&["addr", "del", &address, "dev", bridge])?;
    }
    let error = Error::os(format!("{bridge} in {pool}"), "cannot find a range of addresses that is free");
    Err(error(ErrorKind::AddrInUse))
}

fn is_taken(subnet: &Subnet, bridge: &str) -> Result<bool, Error> {
    let (addresses, routes) = (ip(&["-o", "-4", "addr", "show"])?, ip(&["-4", "route", "show"])?);
    Ok(in_use(&addresses, &routes).iter().any(|(device, other)| device != bridge && other.overlaps(subnet)))
}

/// The script that removes everything of the network `name`; the links go with their ends.
pub(crate) fn undo(name: &str) -> String {
    format!(
        "ip -o link show 2>/dev/null | sed -n 's/^[0-9]*: \\({name}[0-9a-z]*\\)[@:].*/\\1/p' | \
         while read -r link; do ip link del \"$link\" 2>/dev/null; done"
    )
}

/// The networks that are there, by name.
pub(crate) fn present() -> Vec<String> {
    let links = ip(&["-o", "link", "show"]).unwrap_or_default();
    let names = links.lines().filter_map(|line| owner::name_in(line.split_whitespace().nth(1)?));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}
