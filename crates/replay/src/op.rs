units::named! {
    /// The operation of a recorded request. The numbers are part of the compiled form: never change one, only add.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    #[allow(missing_docs, reason = "each variant is its name")]
    pub enum Op {
        Get = "get",
        Set = "set",
        Add = "add",
        Replace = "replace",
        Cas = "cas",
        Append = "append",
        Prepend = "prepend",
        Delete = "delete",
        Incr = "incr",
        Decr = "decr",
    }
}

/// How an operation is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its name")]
pub enum Action {
    Get,
    Set,
    Delete,
}

impl Op {
    /// The operation of this number.
    pub(crate) fn of(number: u8) -> Option<Op> {
        Op::ALL.get(usize::from(number)).copied()
    }

    /// The operation of this name, in any case, as memcached and most traces write it.
    pub(crate) fn of_text(name: &[u8]) -> Option<Op> {
        if name.eq_ignore_ascii_case(b"gets") {
            return Some(Op::Get);
        }
        Op::ALL.into_iter().find(|op| name.eq_ignore_ascii_case(op.name().as_bytes()))
    }

    /// How it is replayed: `add`, `replace` and `cas` store as the trace says that they did, so they are sets. The
    /// contents that `append`, `prepend`, `incr` and `decr` work on are unknown: a set of the recorded size stands in.
    pub fn action(self) -> Action {
        match self {
            Op::Get => Action::Get,
            Op::Delete => Action::Delete,
            _ => Action::Set,
        }
    }

    /// Whether a set stands in for an operation whose effect depends on contents.
    pub fn has_stand_in(self) -> bool {
        matches!(self, Op::Append | Op::Prepend | Op::Incr | Op::Decr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_read_back() {
        for (number, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!((op as usize, Op::of(number as u8)), (number, Some(op)));
            assert_eq!(Op::of_text(op.name().to_uppercase().as_bytes()), Some(op));
        }
        assert_eq!((Op::of_text(b"GETS"), Op::of_text(b"touch"), Op::of(10)), (Some(Op::Get), None, None));
    }
}
