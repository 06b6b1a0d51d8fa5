use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// How the network stack is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Network {
    /// TCP's congestion control. BBR paces by timers, which costs some per cent against `cubic` and `reno`.
    pub congestion_control: Option<String>,
    /// Those that the kernel offers.
    pub congestion_controls: Vec<String>,
    /// The longest queue of connections that a server has not accepted yet.
    pub listen_backlog: Option<u64>,
    /// The ports that outgoing connections use: lowest and highest.
    pub local_ports: Option<(u16, u16)>,
}

impl Network {
    pub(crate) fn read(tree: &Tree) -> Network {
        let words = |path: &str| -> Vec<String> {
            tree.text(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        };
        let ports = words("proc/sys/net/ipv4/ip_local_port_range");
        Network {
            congestion_control: tree.text("proc/sys/net/ipv4/tcp_congestion_control"),
            congestion_controls: words("proc/sys/net/ipv4/tcp_available_congestion_control"),
            listen_backlog: tree.value("proc/sys/net/core/somaxconn"),
            local_ports: match ports.as_slice() {
                [low, high] => low.parse().ok().zip(high.parse().ok()),
                _ => None,
            },
        }
    }
}
