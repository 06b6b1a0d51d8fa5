use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// Parameters of the network stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Network {
    /// TCP's congestion control. BBR paces by timers, which costs some per cent against `cubic` and `reno`.
    pub congestion_control: Option<String>,
    /// Available congestion control algorithms.
    pub congestion_controls: Vec<String>,
    /// The longest queue of connections that a server has not accepted yet.
    pub listen_backlog: Option<u64>,
    /// The ports that outgoing connections use: lowest and highest.
    pub local_ports: Option<(u16, u16)>,
    /// The default queueing discipline of new network devices: `fq_codel`, `fq`.
    pub default_qdisc: Option<String>,
    /// How long `poll` and the like poll the device's queue before they sleep (`net.core.busy_poll`).
    pub busy_poll_us: Option<u64>,
    /// The same for a blocking `read` (`net.core.busy_read`).
    pub busy_read_us: Option<u64>,
    /// Flows that receive flow steering (RFS) remembers; 0 is off.
    pub flow_entries: Option<u64>,
}

impl Network {
    pub(crate) fn read(tree: &Tree) -> Network {
        let ports = tree.words("proc/sys/net/ipv4/ip_local_port_range");
        Network {
            congestion_control: tree.text("proc/sys/net/ipv4/tcp_congestion_control"),
            congestion_controls: tree.words("proc/sys/net/ipv4/tcp_available_congestion_control"),
            listen_backlog: tree.value("proc/sys/net/core/somaxconn"),
            local_ports: match ports.as_slice() {
                [low, high] => low.parse().ok().zip(high.parse().ok()),
                _ => None,
            },
            default_qdisc: tree.text("proc/sys/net/core/default_qdisc"),
            busy_poll_us: tree.value("proc/sys/net/core/busy_poll"),
            busy_read_us: tree.value("proc/sys/net/core/busy_read"),
            flow_entries: tree.value("proc/sys/net/core/rps_sock_flow_entries"),
        }
    }
}
