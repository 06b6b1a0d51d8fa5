#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Serving,
    /// It takes no clients, and closes each connection when it owes no reply.
    Draining,
    /// Its threads end.
    Ended,
}

impl Phase {
    /// The phase with that number; an unknown number is the end.
    pub(crate) fn of(number: u8) -> Phase {
        [Phase::Serving, Phase::Draining]
            .into_iter()
            .find(|phase| *phase as u8 == number)
            .unwrap_or(Phase::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_phases() {
        let check = |phase: Phase| assert_eq!(Phase::of(phase as u8), phase);
        check(Phase::Serving);
        check(Phase::Draining);
        check(Phase::Ended);
        assert_eq!(Phase::of(77), Phase::Ended);
    }
}
