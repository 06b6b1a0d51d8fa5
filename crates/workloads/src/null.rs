//! Lines to the null server: the least that a request can be.

use openloop::{Parsed, Parts, Workload};
use spec::{Chapter, Entry, Section};

/// Sends an empty line's worth of request and expects `ok`, as `reference_servers::null::Dialect::Lines` answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Workload for Null {
    type Job = ();
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["line".into()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<()>) -> usize {
        parts.push(0, ());
        0
    }

    fn request(&mut self, (): &mut (), _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"x\n");
    }

    fn response(&mut self, (): &mut (), (): &mut (), bytes: &[u8]) -> Parsed<()> {
        match bytes.iter().position(|&b| b == b'\n') {
            None if bytes.len() < 3 => Parsed::Partial,
            Some(2) if bytes.starts_with(b"ok") => Parsed::done(3, Ok(())),
            _ => Parsed::Garbage("the answer is not 'ok': is this a null server?".into()),
        }
    }
}

/// The explanation of the workload, which has no options.
pub fn chapter() -> Chapter {
    let line = Entry {
        name: "null".into(),
        meaning:
            "A line to a null server, which answers each with a line after a service time that is known."
                .into(),
        source: "ours, because a generator is held against response times that are known".into(),
        ..Entry::default()
    };
    Chapter::of([Section::new("The workload null has no fields", [line])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn understands_its_answer_only() {
        let check = |bytes: &[u8], expect: Option<usize>| match Null.response(&mut (), &mut (), bytes) {
            Parsed::Partial | Parsed::Used(_) => assert_eq!(expect, Some(0)),
            Parsed::Done { used, .. } => assert_eq!(expect, Some(used)),
            Parsed::Garbage(_) | Parsed::Refused(_) => assert_eq!(expect, None),
        };
        check(b"ok", Some(0));
        check(b"ok\nok\n", Some(3));
        check(b"no\n", None);
        check(b"okk", None);
    }
}
