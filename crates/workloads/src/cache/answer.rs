use openloop::Fault;
use proto_memcache::client::{ErrorKind, MetaCode, MetaReply, Outcome, Values};

/// The verdict on an answer.
pub(super) type Result = std::result::Result<(), Fault>;

/// The content of an answer, in either protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer<'b> {
    Hit {
        value: &'b [u8],
        cas: Option<u64>,
    },
    Values(Values<'b>),
    /// No such item: the answer to a read, or to a change.
    Missing,
    /// Done: stored, deleted, touched, counted.
    Done,
    NotStored,
    Exists,
    Error {
        kind: ErrorKind,
        text: &'b [u8],
    },
    Other,
}

impl<'b> Answer<'b> {
    #[inline]
    pub(super) fn of(outcome: Outcome<'b>) -> Answer<'b> {
        match outcome {
            Outcome::Values(values) => Answer::Values(values),
            Outcome::Meta(reply) => Answer::of_meta(reply),
            Outcome::Stored | Outcome::Deleted | Outcome::Touched | Outcome::Counter(_) => Answer::Done,
            Outcome::NotStored => Answer::NotStored,
            Outcome::Exists => Answer::Exists,
            Outcome::NotFound => Answer::Missing,
            Outcome::Error { kind, text } => Answer::Error { kind, text },
            Outcome::Ok | Outcome::Version(_) | Outcome::Stats(_) => Answer::Other,
        }
    }

    #[inline]
    fn of_meta(reply: MetaReply<'b>) -> Answer<'b> {
        match (reply.code, reply.data) {
            (MetaCode::Value, Some(value)) => Answer::Hit { value, cas: reply.number(b'c') },
            (MetaCode::Done, _) => Answer::Done,
            (MetaCode::Miss | MetaCode::NotFound, _) => Answer::Missing,
            (MetaCode::NotStored, _) => Answer::NotStored,
            (MetaCode::Exists, _) => Answer::Exists,
            _ => Answer::Other,
        }
    }

    /// The value of the only key requested.
    #[inline]
    pub(super) fn single(self) -> Answer<'b> {
        match self {
            Answer::Values(values) => match values.iter().next() {
                Some(value) => Answer::Hit { value: value.data, cas: value.cas },
                None => Answer::Missing,
            },
            other => other,
        }
    }
}

#[inline]
pub(super) fn expect_done(answer: Answer<'_>) -> Result {
    if matches!(answer, Answer::Done) { Ok(()) } else { unexpected(answer) }
}

#[cold]
pub(super) fn refused(kind: ErrorKind, text: &[u8]) -> Fault {
    let kind = match kind {
        ErrorKind::Server => "server error",
        ErrorKind::Client => "client error",
        ErrorKind::Unknown => "unknown command",
    };
    Fault::new(kind, String::from_utf8_lossy(text))
}

#[cold]
pub(super) fn unexpected(answer: Answer<'_>) -> Result {
    match answer {
        Answer::Error { kind, text } => Err(refused(kind, text)),
        Answer::NotStored => {
            Err(Fault::new("not stored", "the server did not store what it must always store"))
        }
        other => Err(Fault::new("unexpected answer", format!("unexpected answer: {other:?}"))),
    }
}
