pub(crate) mod connections;
pub(crate) mod general;
pub(crate) mod groups;
pub(crate) mod prefixes;
pub(crate) mod sampled;
pub(crate) mod settings;

use std::fmt::Display;
use std::ops::AddAssign;

/// Takes the name and the value of each line of an answer to `stats` or `INFO`.
pub(crate) type Line<'a> = &'a mut dyn FnMut(&str, &dyn Display);

/// A line for each of these fields, under its own name.
macro_rules! fields {
    ($line:ident, $of:expr; $($name:ident)*) => { $($line(stringify!($name), &$of.$name);)* };
}

/// A line for each of these names, which memcached counts and Sphinx does not have.
macro_rules! zeros {
    ($line:ident; $($name:ident)*) => { $($line(stringify!($name), &0);)* };
}

use {fields, zeros};

macro_rules! core_stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Contents and counters of one thread. The sum over all threads is the server's.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct CoreStats {
            pub(crate) store: cache_store::Stats,
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl AddAssign for CoreStats {
            fn add_assign(&mut self, other: CoreStats) {
                self.store += other.store;
                $(self.$name += other.$name;)*
            }
        }
    };
}

core_stats! {
    connections,
    total_connections,
    /// Connections turned away because there were too many.
    rejected_connections,
    /// Connections that the system could not give.
    accept_failures,
    /// Connections closed since their TLS failed.
    tls_errors,
    /// Connections and datagrams refused for speaking memcached's binary protocol.
    refused_binary,
    /// Connections without TLS refused for speaking it.
    refused_tls,
    /// Connections refused for speaking HTTP.
    refused_http,
    /// Connections refused for speaking text to a server with only the binary protocol.
    refused_text,
    /// Connections closed for their silence.
    idle_kicks,
    /// Connections closed because their clients did not read replies.
    slow_reader_kicks,
    resp_connections,
    resp_commands,
    auth_cmds,
    auth_errors,
    /// Datagrams dropped because too many of the same peer waited.
    datagrams_dropped,
    /// Units: bytes.
    bytes_read,
    /// Units: bytes.
    bytes_written,
    /// Times that a connection had to leave the others their turn.
    yields,
    /// Values sent directly from the store.
    values_lent,
    /// Values received directly into the store.
    values_placed,
    /// `me` commands.
    cmd_meta,
    /// Requests passed to other threads.
    asks,
    /// Connections whose first packets the thread's own processor received; counted with `--steering cpu`.
    connections_here,
    wakeups,
    /// Time spent looking for work instead of sleeping. Units: µs.
    spin_us,
    /// Pauses that ended while the thread looked.
    spin_found,
    sleeps,
    /// Memory of connections' buffers charged to their budget. Units: bytes.
    connection_memory,
    connection_memory_waits,
    /// Connections closed since they held memory that others waited for, and made no progress.
    connection_memory_kicks,
    /// Times that a connection had to wait for a full queue.
    queue_waits,
    /// Times that a connection had to wait for its own replies to leave.
    output_waits,
}

impl CoreStats {
    /// Sets the event counters to 0.
    pub(crate) fn reset(&mut self) {
        *self = CoreStats { store: self.store, connections: self.connections, ..CoreStats::default() };
        self.store.reset();
    }
}
