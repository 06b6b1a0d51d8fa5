use crate::cache::Login;
use crate::peer::Family;

/// The protocol of a server before the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// memcached's text protocol.
    Memcached {
        /// The user to log in as.
        login: Option<Login>,
    },
    /// RESP.
    Resp {
        /// The user to log in as.
        login: Option<Login>,
        /// Whether the server is a node of a Redis Cluster.
        cluster: bool,
    },
}

impl Dialect {
    /// The servers that speak it.
    pub fn family(&self) -> Family {
        match self {
            Dialect::Memcached { .. } => Family::Memcached,
            Dialect::Resp { .. } => Family::Redis,
        }
    }
}
