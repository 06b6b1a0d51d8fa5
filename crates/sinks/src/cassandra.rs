//! Traces in tables of Cassandra's: one of spans by trace, and one of requests by trial, from which traces are found.
//!
//! Statements are prepared and sent many at a time on one connection, each by itself: a batch of Cassandra's is for rows that must
//! appear together, and is refused from 50 KiB on. A row sent once more is the same row.

mod connection;
mod rows;
mod wire;

use crate::Error;
use crate::destination::Host;
use crate::export::Sink;
use crate::patience::{Failure, Patience};
use crate::trace::Trace;
use connection::Connection;
use wire::{Answer, Ask};

/// Statements under way at once. Source: ours; some 60 KB, of the 16 MiB and more that a node takes from one address at once
/// (`native_transport_max_request_data_in_flight_per_ip`).
const UNDER_WAY: usize = 128;

/// A keyspace of a cluster.
pub(crate) struct Cassandra {
    name: String,
    node: Host,
    keyspace: String,
    patience: Patience,
    session: Option<Session>,
}

/// A connection and the ids of its prepared statements.
struct Session {
    connection: Connection,
    span: Vec<u8>,
    request: Vec<u8>,
    count: Vec<u8>,
}

impl Cassandra {
    pub(crate) fn new(name: String, node: Host, keyspace: &str, patience: Patience) -> Cassandra {
        Cassandra { name, node, keyspace: keyspace.into(), patience, session: None }
    }

    /// The answers to `asked`, in order. After a failure that may pass, all of it is sent again on a new connection.
    fn asked(&mut self, asked: &dyn Fn(&Session) -> Vec<Ask>) -> Result<Vec<Answer>, Error> {
        let Cassandra { name, node, keyspace, patience, session } = self;
        patience.tried(name, || {
            let mut open = match session.take() {
                Some(open) => open,
                None => Session::open(node, keyspace, patience)?,
            };
            let all = asked(&open);
            let answers = open.connection.asked(&all)?;
            *session = Some(open);
            Ok(answers)
        })
    }
}

impl Session {
    /// Creates the keyspace and tables if they do not exist, and prepares the statements.
    fn open(node: &Host, keyspace: &str, patience: &Patience) -> Result<Session, Failure> {
        let mut connection = Connection::open(node, patience.answer)?;
        for statement in rows::schema(keyspace) {
            connection.asked(&[Ask::query(&statement)])?;
        }
        let mut prepared = |statement: String| match connection.asked(&[Ask::prepare(&statement)])?.pop() {
            Some(Answer::Prepared(id)) => Ok(id),
            _ => Err(Failure::Final(format!("it does not prepare '{statement}'"))),
        };
        let [span, request, count] =
            [rows::insert_span(keyspace), rows::insert_request(keyspace), rows::count(keyspace)]
                .map(&mut prepared);
        let (span, request, count) = (span?, request?, count?);
        Ok(Session { connection, span, request, count })
    }
}

impl Sink for Cassandra {
    fn send(&mut self, traces: &[Trace]) -> Result<(), Error> {
        let all = || {
            traces
                .iter()
                .flat_map(|trace| trace.ends.iter().map(move |end| (trace, Some(end))).chain([(trace, None)]))
        };
        let count = all().count();
        for from in (0..count).step_by(UNDER_WAY) {
            self.asked(&|session| {
                let some = all().skip(from).take(UNDER_WAY);
                some.map(|(trace, end)| match end {
                    Some(end) => Ask::execute(&session.span, &rows::span(trace, end)),
                    None => Ask::execute(&session.request, &rows::request(trace)),
                })
                .collect()
            })?;
        }
        Ok(())
    }

    fn held(&mut self, traces: &[[u8; 16]]) -> Result<Option<Vec<u64>>, Error> {
        let mut held = Vec::with_capacity(traces.len());
        for some in traces.chunks(UNDER_WAY) {
            let answers = self.asked(&|session| {
                some.iter().map(|trace| Ask::execute(&session.count, &[wire::blob(trace)])).collect()
            })?;
            for answer in answers {
                let count = answer.number().and_then(|count| u64::try_from(count).ok());
                let problem = || "it does not answer a count by a number".to_owned();
                held.push(
                    count.ok_or_else(|| Error::Refused { sink: self.name.clone(), problem: problem() })?,
                );
            }
        }
        Ok(Some(held))
    }
}

/// The rows of a statement without values.
#[cfg(test)]
pub(crate) fn rows_of(
    node: &Host,
    keyspace: &str,
    statement: &str,
) -> Result<Vec<Vec<Option<Vec<u8>>>>, Failure> {
    let patience = Patience::default();
    let mut session = Session::open(node, keyspace, &patience)?;
    let prepared = session.connection.asked(&[Ask::prepare(statement)])?.pop();
    let Some(Answer::Prepared(id)) = prepared else { return Err(Failure::Final(format!("{prepared:?}"))) };
    match session.connection.asked(&[Ask::execute(&id, &[])])?.pop() {
        Some(Answer::Rows(rows)) => Ok(rows),
        other => Err(Failure::Final(format!("{other:?}"))),
    }
}
