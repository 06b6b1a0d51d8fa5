use crate::record;

/// What the meta commands know of an item beside its value.
///
/// Whatever gives an item a new value clears them, unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u32);

impl Marks {
    /// None.
    pub const NONE: Marks = Marks(0);
    /// The key came in base 64, and is to be shown so.
    pub const BINARY_KEY: Marks = Marks(1);
    /// The value is out of date, and a client that reads it is told so.
    pub const STALE: Marks = Marks(2);
    /// A client was told to store a new value, so that no other client is told.
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

    /// Those of these that `other` has too.
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
