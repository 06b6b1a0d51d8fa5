/// A published table of stages, in the order of [`crate::figure::STAGES`]; mean times in µs, `None` for a missing
/// stage.
pub(super) struct Published {
    /// The server that it is of, as targets are named.
    pub server: &'static str,
    pub name: &'static str,
    /// The total as printed, which is not always the sum.
    pub total: f64,
    pub stages: [Option<f64>; 7],
}

const fn memcached(name: &'static str, us: [f64; 6], total: f64) -> Published {
    let [network, epoll, library, read, own, send] = us;
    let stages = [Some(network), Some(epoll), Some(library), Some(read), None, Some(own), Some(send)];
    Published { server: "memcached", name, total, stages }
}

const fn nginx(name: &'static str, us: [f64; 7], total: f64) -> Published {
    let [network, epoll, library, read, open, own, send] = us;
    let stages = [Some(network), Some(epoll), Some(library), Some(read), Some(open), Some(own), Some(send)];
    Published { server: "nginx", name, total, stages }
}

/// Source: IISWC'17 Tables II and III, in this order of rows. Table III gives milliseconds; its magnitudes are
/// microseconds.
pub(super) const PUBLISHED: [Published; 8] = [
    memcached("Xeon, 10 %", [6.0, 3.0, 1.0, 1.0, 1.0, 5.0], 20.0),
    memcached("Xeon, 90 %", [6.0, 782.0, 1009.0, 3.0, 1.0, 5.0], 1806.0),
    memcached("ThunderX, 10 %", [14.0, 4.0, 5.0, 9.0, 7.0, 24.0], 67.0),
    memcached("ThunderX, 90 %", [14.0, 1290.0, 1650.0, 20.0, 7.0, 24.0], 3005.0),
    nginx("Xeon, 10 %", [9.0, 13.0, 11.0, 1.0, 4.0, 12.0, 26.0], 76.0),
    nginx("Xeon, 95 %", [10.0, 10_230.0, 23_186.0, 3.0, 4.0, 12.0, 26.0], 33_471.0),
    nginx("ThunderX, 10 %", [15.0, 38.0, 12.0, 8.0, 14.0, 46.0, 73.0], 206.0),
    nginx("ThunderX, 95 %", [15.0, 12_364.0, 25_821.0, 19.0, 14.0, 46.0, 73.0], 38_353.0),
];
