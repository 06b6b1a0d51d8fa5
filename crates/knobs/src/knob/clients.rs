//! The bandwidth of each client, by its source address.

use std::path::PathBuf;

use units::client_address::{ClientLinks, LINKED};

use super::net::HANDLE;
use super::quantity::{self, BITS};
use super::value::words;
use super::{About, Definition};
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Namespace, Reading};

/// Burst that a link may send after a pause: the bytes of one tick of the slowest kernel clock (`TICKS_PER_S`), and one
/// Ethernet packet. Units: bytes. Source: `tc-htb(8)`.
const TICKS_PER_S: u64 = 100;
const PACKET: u64 = 1_600;

/// `client.pace=on`: paces connections to clients at the bandwidth that their address encodes.
pub(super) const CLIENT_PACE: Definition<()> = Definition {
    about: About {
        name: "client.pace",
        does: "connections to clients whose addresses say a bandwidth (127.77.0.0/16) are paced at it",
        syntax: "client.pace=on",
        source: "ISPASS'16 §IV-A3: a limit for each TCP connection; Linux, socket(7): SO_MAX_PACING_RATE",
    },
    read: |value| (value == "on").then_some(()),
    write: |()| "on".into(),
    plan: |(), planner| {
        let Some(tree) = planner.host.cgroups.hierarchies.iter().find(|tree| tree.version == 2) else {
            let hint =
                "mount them: mkdir -p /sys/fs/cgroup/unified; mount -t cgroup2 none /sys/fs/cgroup/unified";
            return Err(planner.unsupported("no control groups of version 2 are mounted", hint));
        };
        planner.push(Step::Pace { group: PathBuf::from(&tree.mount) });
        Ok(())
    },
};

/// `client.shape=25mbit`: a link for each client address in the range of links, with bandwidths in equal ratios up
/// to this one. Units: bits per second.
pub(super) const CLIENT_SHAPE: Definition<u64> = Definition {
    about: About {
        name: "client.shape",
        does: "a link for each client of 198.18.0.0/22, in equal ratios up to a bandwidth, by HTB in the device's egress",
        syntax: "bits per second of the fastest client, such as client.shape=25mbit",
        source: "ISPASS'16 §IV-A3: a limit for each client's address, there by dummynet",
    },
    read: |value| quantity::read(value, BITS),
    write: |fastest| quantity::write(*fastest, BITS),
    plan: |fastest, planner| {
        let device = planner.device()?;
        let Some(namespace) = planner.namespace()? else {
            let hint =
                "start the server behind a bridge (--form bridged), or name its namespace (--namespace)";
            return Err(planner
                .usage("the server is in no network namespace, so that all clients would be shaped", hint));
        };
        let namespace = Some(namespace);
        let range = format!("{}.{}.0.0/{}", LINKED[0], LINKED[1], ClientLinks::PREFIX);
        planner.tool(
            [
                &format!("ip -4 route show table local {range}"),
                &format!("ip -4 route add local {range} dev lo"),
                &format!("ip -4 route del local {range} dev lo"),
            ],
            Reading::Line { has: format!("local {range}") },
            "there",
            &None,
        )?;
        planner.route_back(&range, device, &namespace)?;
        planner.tool(
            [
                &format!("tc qdisc show dev {device}"),
                &format!("tc qdisc add dev {device} root handle {HANDLE} {{}}"),
                &format!("tc qdisc del dev {device} root"),
            ],
            Reading::Qdisc { handle: HANDLE.into() },
            "htb",
            &namespace,
        )?;
        let last = format!("{HANDLE}{:x}", ClientLinks::COUNT);
        let links = ClientLinks { fastest: *fastest };
        planner.script(
            &format!("tc class show dev {device}"),
            &classes(links, device),
            Reading::Rate { handle: last.clone() },
            &links.rate(ClientLinks::COUNT).to_string(),
            &namespace,
        );
        let filters = filters(device);
        let reading = Reading::Line { has: last };
        planner.script(&format!("tc filter show dev {device}"), &filters, reading, "there", &namespace);
        Ok(())
    },
};

impl Planner<'_> {
    /// Routes packets to the clients to the bridge, which has the first address of the device's range in every form
    /// here.
    fn route_back(&mut self, range: &str, device: &str, namespace: &Option<Namespace>) -> Result<(), Error> {
        let script = format!(
            "ip -4 -o addr show dev {device} | awk '{{split($4, a, \"[./]\"); s = 2 ^ (32 - a[5]); if (s > 256) s = 256; \
             printf \"route add {range} via %d.%d.%d.%d dev {device}\\n\", a[1], a[2], a[3], int(a[4] / s) * s + 1; exit}}' \
             | ip -4 -batch -"
        );
        self.need_program("ip")?;
        self.need_program("awk")?;
        self.push(Step::Tool {
            show: words(&format!("ip -4 route show {range}")),
            reading: Reading::Line { has: range.into() },
            set: vec!["sh".into(), "-c".into(), script],
            unset: words(&format!("ip -4 route del {range} dev {device}")),
            want: Some("there".into()),
            namespace: namespace.clone(),
        });
        Ok(())
    }

    /// Adds a script whose effect is removed with the discipline at the device's root.
    fn script(
        &mut self,
        show: &str,
        script: &str,
        reading: Reading,
        want: &str,
        namespace: &Option<Namespace>,
    ) {
        let step = Step::Tool {
            show: words(show),
            reading,
            set: vec!["sh".into(), "-c".into(), script.into()],
            unset: Vec::new(),
            want: Some(want.into()),
            namespace: namespace.clone(),
        };
        self.actions.push(self.action(step, true));
    }
}

/// The command that makes a class for each link.
fn classes(links: ClientLinks, device: &str) -> String {
    let (count, span, fastest) = (ClientLinks::COUNT, ClientLinks::SPAN, links.fastest);
    format!(
        "awk 'BEGIN {{for (i = 1; i <= {count}; i++) {{r = int({fastest} * exp(-log({span}) * ({count} - i) / {count})); \
         if (r < 8) r = 8; b = int(r / 8 / {TICKS_PER_S}) + {PACKET}; printf \"class add dev {device} parent {HANDLE} \
         classid {HANDLE}%x htb rate %.0fbit ceil %.0fbit burst %.0f cburst %.0f quantum {PACKET}\\n\", i, r, r, b, b}}}}' \
         | tc -batch -"
    )
}

/// The command that sends packets to the class of their address: a hash table on the last byte, since a flat list would
/// be searched for each packet. Source: `tc-u32(8)`; 16 is the offset of IPv4's destination.
fn filters(device: &str) -> String {
    let (count, prefix, [a, b]) = (ClientLinks::COUNT, ClientLinks::PREFIX, LINKED);
    format!(
        "awk 'BEGIN {{p = \"filter add dev {device} parent {HANDLE} prio 1 protocol ip \"; \
         print p \"handle 1: u32 divisor 256\"; \
         print p \"u32 ht 800:: match ip dst {a}.{b}.0.0/{prefix} hashkey mask 0x000000ff at 16 link 1:\"; \
         for (i = 1; i <= {count}; i++) printf \"%su32 ht 1:%x: match ip dst {a}.{b}.%d.%d/32 flowid {HANDLE}%x\\n\", \
         p, i % 256, int(i / 256), i % 256, i}}' | tc -batch -"
    )
}
