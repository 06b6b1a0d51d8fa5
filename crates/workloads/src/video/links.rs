//! The addresses from which viewers come whose bandwidth is kept on the server's side.

use openloop::Route;
use reactor::Via;
use units::client_address::{ClientLinks, paced_address};

/// The segments of a paced connection. Units: bytes. Source: Ethernet's, with TCP's time stamps. Loopback's have 64 KB, ten
/// of which leave before the kernel begins to pace: seconds of video for a slow client.
const SEGMENT: u32 = 1_448;

/// How a viewer of this bandwidth reaches a server that paces by the address.
pub(super) fn paced(bandwidth: f64) -> Route {
    let via = Via {
        source: Some(paced_address(bandwidth as u64).into()),
        segment: Some(SEGMENT),
        ..Via::default()
    };
    Route { via, read_rate: None }
}

/// The links of this thread's viewers: each has one to itself while any are free.
pub(super) struct Links {
    links: ClientLinks,
    /// The links of this thread are those whose number, divided by `threads`, leaves this.
    thread: u16,
    threads: u16,
    /// How many have each.
    taken: Vec<u16>,
}

impl Links {
    /// The links of thread `share.0` of `share.1`, up to the fastest. Units: bits per second.
    pub(super) fn new(fastest: f64, share: (u32, u32)) -> Links {
        // A thread beyond the last link would have none, and shares those of another.
        let threads = share.1.clamp(1, u32::from(ClientLinks::COUNT)) as u16;
        let thread = (share.0 % u32::from(threads)) as u16;
        let taken = vec![0; usize::from(ClientLinks::COUNT) + 1];
        Links { links: ClientLinks { fastest: fastest as u64 }, thread, threads, taken }
    }

    /// Takes the free link with the nearest bandwidth; if all are taken, the nearest among the least shared.
    ///
    /// Cost: as many steps as there are links at most.
    pub(super) fn take(&mut self, bandwidth: f64) -> u16 {
        let wanted = self.links.nearest(bandwidth as u64);
        let own = (1..=ClientLinks::COUNT).filter(|link| link % self.threads == self.thread);
        let best = own.min_by_key(|link| (self.taken[usize::from(*link)], link.abs_diff(wanted)));
        let link = best.unwrap_or(wanted);
        self.taken[usize::from(link)] += 1;
        link
    }

    /// Its viewer has left.
    pub(super) fn leave(&mut self, link: u16) {
        let taken = &mut self.taken[usize::from(link)];
        *taken = taken.saturating_sub(1);
    }

    /// How its viewer reaches the server.
    pub(super) fn route(link: u16) -> Route {
        let via = Via { source: Some(ClientLinks::address(link).into()), ..Via::default() };
        Route { via, read_rate: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_viewer_comes_from_the_address_of_the_bandwidth() {
        let route = paced(1e6);
        assert_eq!(route.via.source, Some("127.77.103.66".parse().unwrap()));
        assert_eq!((route.via.segment, route.read_rate), (Some(SEGMENT), None));
    }

    #[test]
    fn each_viewer_has_a_link_of_their_own_as_long_as_there_are_any() {
        let mut links = Links::new(25e6, (0, 1));
        assert_eq!([links.take(25e6), links.take(25e6), links.take(25e6)], [1023, 1022, 1021]);
        links.leave(1022);
        assert_eq!(links.take(25e6), 1022);
        for _ in 3..u32::from(ClientLinks::COUNT) {
            links.take(10e6);
        }
        assert!(links.taken[1..].iter().all(|taken| *taken == 1), "{:?}", links.taken);
        assert_eq!((links.take(25e6), links.take(25e6)), (1023, 1022));
    }

    #[test]
    fn threads_have_different_links() {
        let mut all = [Links::new(25e6, (0, 3)), Links::new(25e6, (1, 3)), Links::new(25e6, (2, 3))];
        let mut taken: Vec<u16> =
            all.iter_mut().flat_map(|links| [links.take(5e6), links.take(5e6)]).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 6);
        assert!(taken.last().unwrap() - taken[0] < 8, "{taken:?}");
        // More threads than links.
        assert_eq!(Links::new(25e6, (1023, 2000)).take(1.0), 1023);
    }

    impl Links {
        /// The number of viewers with a link.
        pub(crate) fn viewers(&self) -> usize {
            self.taken.iter().map(|taken| usize::from(*taken)).sum()
        }
    }
}
