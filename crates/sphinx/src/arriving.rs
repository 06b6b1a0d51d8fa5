use cache_store::Reservation;
use proto_memcache::Reply;
use proto_memcache::binary::Echo;

/// A large value that is written where it will be read, as it arrives.
pub(crate) struct Arriving {
    /// Its place.
    pub(crate) reservation: Reservation,
    /// The partition that the place is in.
    pub(crate) partition: usize,
    /// Whether the client wants an answer.
    pub(crate) reply: Reply,
    /// What the response repeats, in the binary protocol, where nothing stands behind the value.
    pub(crate) echo: Option<Echo>,
    /// What has come of the line's end behind the value.
    end: Vec<u8>,
}

impl Arriving {
    pub(crate) fn new(reservation: Reservation, partition: usize, reply: Reply) -> Arriving {
        Arriving { reservation, partition, reply, echo: None, end: Vec::new() }
    }

    /// The same in the binary protocol.
    pub(crate) fn binary(reservation: Reservation, partition: usize, echo: Echo) -> Arriving {
        Arriving { echo: Some(echo), ..Arriving::new(reservation, partition, Reply::Wanted) }
    }

    /// The line's end.
    fn line_end(&self) -> &'static [u8] {
        if self.echo.is_some() { b"" } else { b"\r\n" }
    }

    /// Takes what is its own of the bytes that came next; returns how many.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let rest = self.reservation.rest();
        let (value, behind) = bytes.split_at(bytes.len().min(rest.len()));
        rest[..value.len()].copy_from_slice(value);
        self.reservation.fill(value.len());
        let is_whole = self.reservation.rest().is_empty();
        let end =
            &behind[..if is_whole { behind.len().min(self.line_end().len() - self.end.len()) } else { 0 }];
        self.end.extend_from_slice(end);
        value.len() + end.len()
    }

    /// Whether all has come, and if so whether it ends as it must.
    pub(crate) fn ends_well(&mut self) -> Option<bool> {
        let is_whole = self.reservation.rest().is_empty() && self.end.len() == self.line_end().len();
        is_whole.then(|| self.end == self.line_end())
    }
}

#[cfg(test)]
mod tests {
    use cache_store::{Config, Expiry, Store};

    use super::*;

    #[test]
    fn takes_its_value_and_the_end_behind_it_however_they_are_cut() {
        let check = |end: &str, expect: bool| {
            let value = format!("0123456789{end}");
            let all = format!("{value}get a\r\n");
            for cuts in 1..all.len() {
                let mut store = Store::new(Config::new(64 << 20, 1)).unwrap();
                let key = store.hasher().key(b"k");
                let reservation = store.reserve(key, 0, Expiry::NEVER, 10, 1).unwrap();
                let mut arriving = Arriving::new(reservation, 0, Reply::Wanted);
                let mut taken = 0;
                for piece in all.as_bytes().chunks(cuts) {
                    assert_eq!(arriving.ends_well().is_none(), taken < value.len(), "{cuts}");
                    taken += arriving.take(piece);
                }
                assert_eq!((taken, arriving.ends_well()), (value.len(), Some(expect)), "{cuts}");
                store.commit(arriving.reservation, 1);
                assert_eq!(store.get(store.hasher().key(b"k"), 1).unwrap().value, b"0123456789");
            }
        };
        let mut store = Store::new(Config::new(64 << 20, 1)).unwrap();
        let key = store.hasher().key(b"k");
        let reservation = store.reserve(key, 0, Expiry::NEVER, 10, 1).unwrap();
        let mut arriving = Arriving::binary(reservation, 0, Echo::default());
        assert_eq!((arriving.take(b"012345678"), arriving.ends_well()), (9, None));
        assert_eq!((arriving.take(b"9\r\n"), arriving.ends_well()), (1, Some(true)));
        store.abandon(arriving.reservation);
        check("\r\n", true);
        check("ab", false);
        check("\r\r", false);
    }
}
