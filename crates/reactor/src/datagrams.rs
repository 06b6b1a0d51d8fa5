/// Counts of a reactor's datagrams, without those lost by the network between two kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Taken by the kernel.
    pub sent: u64,
    /// Handed to the handler.
    pub received: u64,
    /// Not taken by the kernel when they were flushed, its send buffer being full.
    pub dropped_sending: u64,
    /// Come from a peer of a datagram server while reading from it was paused.
    pub dropped_paused: u64,
    /// The smallest receive buffer that the kernel gave to a datagram socket, in bytes as Linux counts them: data and
    /// bookkeeping, about 2300 for a datagram of 1400. 0 without such a socket.
    pub receive_buffer: usize,
}
