use std::collections::HashSet;

use super::Store;

impl Store {
    /// Walks everything and compares; for tests.
    #[doc(hidden)]
    pub fn audit(&self) {
        let (mut live, mut reservations, mut bytes, mut uniques) = (0, 0, 0, HashSet::new());
        let in_line = self.log.order.iter().flatten().copied();
        let others = [Some(self.log.active), self.log.keeping, self.sweep.map(|sweep| sweep.segment)];
        let taken_out = self.gathering.iter().flat_map(|gathering| gathering.taken_out.iter().copied());
        let taken_out = taken_out.filter(|segment| self.log.segments[*segment].live > 0);
        let numbers: Vec<usize> = in_line.chain(others.into_iter().flatten()).chain(taken_out).collect();
        let mut large: HashSet<(usize, usize)> =
            self.log.large.iter().map(|large| (large.extent.run.first, large.extent.length)).collect();
        let large_segments: usize = {
            let live = self.log.large.iter().map(|large| large.extent.run);
            live.chain(self.log.arriving.iter().map(|extent| extent.run)).map(|run| run.count).sum()
        };
        assert_eq!(large_segments, self.log.large_in_use(), "segments of large values");
        assert_eq!(
            numbers.len() + large_segments,
            self.log.supply.in_use(),
            "every segment in use is somewhere, and once: {numbers:?}"
        );
        for &number in &numbers {
            let segment = self.log.segments[number];
            let (mut at, mut live_here, mut bytes_here) = (0, 0, 0);
            while at < segment.used {
                let location = self.log.location(number, at);
                let header = self.log.header(location);
                let hash = self.hasher.hash(self.log.key(location, &header));
                if self.index.find(hash, |at| at == location).is_some() {
                    live_here += 1;
                    if header.is_large() {
                        let extent = self.log.extent(location, &header);
                        let known = large.remove(&(extent.run.first, extent.length));
                        assert!(known, "a record and a large value for each other");
                        bytes += extent.length as u64;
                    }
                    bytes_here += header.size();
                    assert!(header.expiry.moment() >= segment.soonest, "an item ends unexpectedly");
                    assert!(
                        uniques.insert(self.log.cas(location, &header)),
                        "two items have one unique number"
                    );
                }
                at += header.size();
            }
            assert_eq!(at, segment.used, "records fill segment {number}");
            let reserved_here = segment.live - live_here;
            assert_eq!(
                reserved_here == 0,
                segment.live_bytes == bytes_here,
                "live records of {number}, and {reserved_here} reservations"
            );
            reservations += reserved_here;
            assert!(
                segment.live > 0 || number == self.log.active || Some(number) == self.log.keeping,
                "segment {number} waits without a live record"
            );
            live += live_here;
            bytes += segment.live_bytes as u64;
        }
        assert!(large.is_empty(), "a large value without a record: {large:?}");
        assert_eq!(live, self.index.len(), "every entry of the index has its record");
        assert_eq!(reservations, self.reservations, "reservations that stand");
        assert_eq!(bytes, self.stats.bytes, "bytes of live records");
        self.log.supply.audit(self.index.bytes());
    }
}
