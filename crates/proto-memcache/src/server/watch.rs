/// Kinds of events that `watch` asks for, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched(u16);

/// Source: memcached's `process_watch_command`; kinds without a constant of their own are accepted, but never occur
/// here.
const NAMES: [(&[u8], Watched); 10] = [
    (b"fetchers", Watched::FETCHERS),
    (b"mutations", Watched::MUTATIONS),
    (b"evictions", Watched::EVICTIONS),
    (b"connevents", Watched::CONNECTIONS),
    (b"deletions", Watched::DELETIONS),
    (b"rawcmds", Watched::OTHERS),
    (b"sysevents", Watched::OTHERS),
    (b"proxyreqs", Watched::OTHERS),
    (b"proxyevents", Watched::OTHERS),
    (b"proxyuser", Watched::OTHERS),
];

impl Watched {
    /// None.
    pub const NONE: Watched = Watched(0);
    /// Items requested; the default of `watch`.
    pub const FETCHERS: Watched = Watched(1);
    /// Items that are stored.
    pub const MUTATIONS: Watched = Watched(1 << 1);
    /// Items that make room for others.
    pub const EVICTIONS: Watched = Watched(1 << 2);
    /// Connections that begin and end.
    pub const CONNECTIONS: Watched = Watched(1 << 3);
    /// Items that are deleted.
    pub const DELETIONS: Watched = Watched(1 << 4);
    /// memcached's other kinds.
    pub const OTHERS: Watched = Watched(1 << 5);

    /// Both.
    #[must_use]
    pub fn with(self, other: Watched) -> Watched {
        Watched(self.0 | other.0)
    }

    /// Whether they have anything in common.
    #[inline]
    pub fn has(self, other: Watched) -> bool {
        self.0 & other.0 != 0
    }

    /// As a number.
    #[inline]
    pub fn bits(self) -> u16 {
        self.0
    }

    /// The set of this number.
    #[inline]
    pub fn from_bits(bits: u16) -> Watched {
        Watched(bits)
    }

    /// The kinds that these words name; none if one is unknown.
    pub(super) fn read<'b>(words: impl Iterator<Item = &'b [u8]>) -> Option<Watched> {
        let mut all = Watched::NONE;
        for word in words {
            let (_, kind) = NAMES.iter().find(|(name, _)| *name == word)?;
            all = all.with(*kind);
        }
        Some(if all == Watched::NONE { Watched::FETCHERS } else { all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named() {
        let check = |text: &str, expect: Option<Watched>| {
            let words = text.split(' ').filter(|word| !word.is_empty()).map(str::as_bytes);
            assert_eq!(Watched::read(words), expect, "{text}");
        };
        check("", Some(Watched::FETCHERS));
        check("mutations", Some(Watched::MUTATIONS));
        check("evictions fetchers evictions", Some(Watched::FETCHERS.with(Watched::EVICTIONS)));
        check("sysevents proxyreqs", Some(Watched::OTHERS));
        check("fetchers foo", None);
        check("fetch", None);
    }

    #[test]
    fn a_set_is_a_number() {
        let both = Watched::FETCHERS.with(Watched::CONNECTIONS);
        assert!(both.has(Watched::CONNECTIONS) && !both.has(Watched::MUTATIONS) && !Watched::NONE.has(both));
        assert_eq!(Watched::from_bits(both.bits()), both);
    }
}
