/// The arguments of a command, its name first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) places: &'b [Place],
}

/// Where an argument lies in the bytes: its start and its end.
pub(super) type Place = (u32, u32);

impl<'b> Args<'b> {
    /// How many there are, the name included.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none; a command that was read has its name.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The argument of that number, from 0 on.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&'b [u8]> {
        self.places.get(number).map(|place| self.at(*place))
    }

    /// All of them in their order.
    pub fn iter(&self) -> impl Iterator<Item = &'b [u8]> + '_ {
        self.places.iter().map(|place| self.at(*place))
    }

    #[inline]
    fn at(&self, (start, end): Place) -> &'b [u8] {
        &self.bytes[start as usize..end as usize]
    }
}
