use crate::record;

/// State of an item that only the meta commands use.
///
/// A new value clears them, unless its command sets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u32);

impl Marks {
    /// None.
    pub const NONE: Marks = Marks(0);
    /// The key was sent in base 64, and is to be shown so.
    pub const BINARY_KEY: Marks = Marks(1);
    /// The value is out of date; clients that read it are informed.
    pub const STALE: Marks = Marks(2);
    /// One client has been elected to store a new value; other clients are not.
    pub const CLAIMED: Marks = Marks(4);

    /// Whether all of `other` are set.
    pub fn has(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub fn with(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }

    /// These without `other`.
    #[must_use]
    pub fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }

    /// The marks that `other` has too.
    #[must_use]
    pub fn only(self, other: Marks) -> Marks {
        Marks(self.0 & other.0)
    }

    pub(crate) fn to_u32(self) -> u32 {
        self.0
    }

    pub(crate) fn from_u32(marks: u32) -> Marks {
        Marks(marks & !record::LARGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_set_and_cleared_one_by_one() {
        let both = Marks::STALE.with(Marks::CLAIMED);
        assert!(both.has(Marks::STALE) && both.has(Marks::NONE) && !Marks::STALE.has(both));
        assert_eq!(both.without(Marks::STALE), Marks::CLAIMED);
        assert_eq!(both.only(Marks::CLAIMED.with(Marks::BINARY_KEY)), Marks::CLAIMED);
        assert_eq!(Marks::from_u32(both.to_u32() | record::LARGE), both);
    }
}
