use std::collections::HashSet;

use super::Store;

impl Store {
    /// Walks everything and compares; for tests.
    #[doc(hidden)]
    pub fn audit(&self) {
        let (mut live, mut reservations, mut bytes, mut uniques) = (0, 0, 0, HashSet::new());
        let in_line = self.log.order.iter().flatten().copied();
        let others = [Some(self.log.active), self.log.keeping, self.sweep.map(|sweep| sweep.segment)];
        let numbers: Vec<usize> = in_line.chain(others.into_iter().flatten()).collect();
        assert_eq!(
            numbers.len(),
            self.log.in_use(),
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
        assert_eq!(live, self.index.len(), "every entry of the index has its record");
        assert_eq!(reservations, self.reservations, "reservations that stand");
        assert_eq!(bytes, self.stats.bytes, "bytes of live records");
        self.log.audit(self.index.bytes());
    }
}
