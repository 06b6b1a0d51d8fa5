use crate::cache::cluster::{Server, hash};

/// The circle of consistent hashing: points that belong to servers, and a key to the next point.
///
/// Source: libmemcached's `update_continuum` and `dispatch_host`, read and asked of 1.1.4.
#[derive(Clone, Debug)]
pub(super) struct Continuum {
    /// Point and server, in ascending order of both.
    points: Vec<(u32, u32)>,
}

/// Points of a server when all weigh the same. Source: libmemcached's `MEMCACHED_POINTS_PER_SERVER_KETAMA`.
const POINTS: u32 = 160;
/// Points that one MD5 gives.
const POINTS_PER_HASH: u32 = 4;

impl Continuum {
    pub(super) fn new(servers: &[Server]) -> Continuum {
        let mut points = Vec::with_capacity(servers.len() * POINTS as usize);
        for (index, server) in servers.iter().enumerate() {
            let name = match server.port {
                Server::DEFAULT_PORT => server.host.clone(),
                port => format!("{}:{port}", server.host),
            };
            for hash in 0..hashes(servers.len()) {
                let words = hash::md5_words(format!("{name}-{hash}").as_bytes());
                points.extend(words.map(|point| (point, index as u32)));
            }
        }
        points.sort_unstable();
        Continuum { points }
    }

    /// The server of the first point from `hash` on, past the end the first of all.
    #[inline]
    pub(super) fn server(&self, hash: u32) -> usize {
        let at = self.points.partition_point(|&(point, _)| point < hash);
        self.points[if at == self.points.len() { 0 } else { at }].1 as usize
    }
}

/// How many MD5s a server gets. libmemcached computes the share of its weight in single precision, and so does
/// this: for some numbers of servers the rounding costs each of them 4 of its 160 points.
fn hashes(servers: usize) -> u32 {
    let share = 1.0f32 / servers as f32;
    (share * POINTS as f32 / POINTS_PER_HASH as f32 * servers as f32 + 1e-10).floor() as u32
}
