//! The questions to a server of RESP.

use std::io::ErrorKind;
use std::time::Instant;

use proto_resp::client::cluster::{self, Redirect};
use proto_resp::client::{self, Parse, Reply, SetOptions};

use super::{Control, ControlError, Dialect, PROBE, SET, wants_authentication};
use crate::cache::holdings::Holdings;
use crate::cache::{Login, Server};
use crate::peer::excerpt;

/// The first question to a server.
pub(super) const INFO: &str = "INFO";
/// Keys that `SCAN` looks at in one step. Source: redis-cli's `--scan` has 10 by default; 1000 keys are listed in about
/// 0.3 ms, for which other clients wait.
const SCANNED: &[u8] = b"1000";

/// Slots of a Redis Cluster, first and last, and the node that takes writes to them.
pub(in crate::cache) type Slots = (usize, usize, Server);

/// Appends a `SET`; see [`Control::append_set`].
pub(super) fn append_set(
    out: &mut Vec<u8>,
    key: &[u8],
    expiry: i32,
    size: usize,
    value: impl FnOnce(&mut Vec<u8>),
) {
    let options = SetOptions { condition: None, seconds: u64::try_from(expiry).unwrap_or(0) };
    client::set_header(out, key, size, options);
    value(out);
    client::set_end(out, options);
}

impl Control {
    /// Logs in, and makes sure that a server answers which serves reads; returns its version.
    pub(super) fn introduce(
        &mut self,
        login: Option<&Login>,
        cluster: bool,
    ) -> Result<Option<String>, ControlError> {
        let server = self.server.clone();
        if let Some(login) = login {
            let refused = self.ask_resp(
                |out| login.append(out),
                "AUTH",
                |reply| match reply {
                    Reply::Simple(_) => Ok(None),
                    Reply::Error(text) => Ok(Some(excerpt(text))),
                    other => Err(words(other)),
                },
            )?;
            if let Some(answer) = refused {
                return Err(ControlError::Login { server, answer });
            }
        }
        let info = self.info(b"server")?;
        let version = ["sphinx_version", "valkey_version", "dragonfly_version", "redis_version"]
            .into_iter()
            .find_map(|name| field(info.as_deref()?, name));
        if !cluster && info.as_deref().is_some_and(|info| field(info, "redis_mode") == Some("cluster")) {
            return Err(ControlError::Node { server });
        }
        let get = |out: &mut Vec<u8>| client::get(out, PROBE);
        let read = self.ask_resp(get, "GET", |reply| match reply {
            Reply::Bulk(_) | Reply::Null => Ok(()),
            Reply::Error(text) if cluster && Redirect::of(text).is_some() => Ok(()),
            other => Err(words(other)),
        });
        read.map_err(ControlError::of_read)?;
        Ok(version.map(str::to_owned))
    }

    /// A section of the server's information; `None` if it gives none.
    fn info(&mut self, section: &[u8]) -> Result<Option<String>, ControlError> {
        let ask = |out: &mut Vec<u8>| client::command(out, &[INFO.as_bytes(), section]);
        self.ask_resp(ask, INFO, |reply| match reply {
            Reply::Bulk(text) | Reply::Verbatim(text) => Ok(Some(String::from_utf8_lossy(text).into_owned())),
            Reply::Error(text) if !wants_authentication(text) => Ok(None),
            other => Err(words(other)),
        })
    }

    pub(super) fn resp_holdings(&mut self) -> Result<Holdings, ControlError> {
        let info = self.info(b"memory")?.unwrap_or_default();
        let number = |name| field(&info, name)?.parse::<u64>().ok();
        let dbsize = |out: &mut Vec<u8>| client::command(out, &[b"DBSIZE"]);
        let items = self.ask_resp(dbsize, "DBSIZE", |reply| match reply {
            Reply::Integer(count) => Ok(u64::try_from(count).ok()),
            Reply::Error(_) => Ok(None),
            other => Err(words(other)),
        })?;
        // 0 means no limit.
        let limit = number("maxmemory").filter(|limit| *limit > 0);
        Ok(Holdings { items, bytes: number("used_memory"), limit })
    }

    pub(super) fn resp_foreign_key(
        &mut self,
        prefix: &[u8],
        deadline: Instant,
    ) -> Result<Option<String>, ControlError> {
        let mut cursor = b"0".to_vec();
        loop {
            let scan = |out: &mut Vec<u8>| client::command(out, &[b"SCAN", &cursor, b"COUNT", SCANNED]);
            let (next, foreign) = self.ask_resp(scan, "SCAN", |reply| {
                let listed = || {
                    let Reply::Array(parts) = reply else { return None };
                    let mut parts = parts.iter();
                    let (Reply::Bulk(next), Reply::Array(keys)) = (parts.next()?, parts.next()?) else {
                        return None;
                    };
                    let foreign = keys.iter().find_map(|key| match key {
                        Reply::Bulk(key) if !key.starts_with(prefix) => Some(excerpt(key)),
                        _ => None,
                    });
                    Some((next.to_vec(), foreign))
                };
                listed().ok_or_else(|| words(reply))
            })?;
            if foreign.is_some() || next == b"0" {
                return Ok(foreign);
            }
            if Instant::now() > deadline {
                return Err(self.failed(ErrorKind::TimedOut.into(), "SCAN"));
            }
            cursor = next;
        }
    }

    pub(super) fn resp_count(&mut self, key: &[u8], by: u64) -> Result<Option<u64>, ControlError> {
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u64>().ok();
        let get = |out: &mut Vec<u8>| client::get(out, key);
        let present = self.ask_resp(get, "GET", |reply| match reply {
            Reply::Null => Ok(None),
            Reply::Bulk(text) => number(text).map(Some).ok_or_else(|| words(reply)),
            other => Err(words(other)),
        })?;
        if present.is_none() || by == 0 {
            return Ok(present);
        }
        let incr = |out: &mut Vec<u8>| client::incr_by(out, key, by);
        self.ask_resp(incr, "INCRBY", |reply| match reply {
            Reply::Integer(number) => Ok(u64::try_from(number).ok()),
            other => Err(words(other)),
        })
    }

    pub(super) fn resp_stored(&mut self) -> Result<Result<(), String>, ControlError> {
        self.read_resp(None, SET, |reply| match reply {
            Reply::Simple(b"OK") => Ok(()),
            other => Err(words(other)),
        })
    }

    pub(super) fn resp_delete(&mut self, key: &[u8]) -> Result<(), ControlError> {
        self.ask_resp(
            |out| client::del(out, key),
            "DEL",
            |reply| match reply {
                Reply::Integer(_) => Ok(()),
                other => Err(words(other)),
            },
        )
    }

    pub(super) fn resp_get_many(
        &mut self,
        keys: &[&[u8]],
        mut look: impl FnMut(Option<usize>, &[u8]),
    ) -> Result<(), ControlError> {
        let mut out = Vec::new();
        // One command each: a node of a Redis Cluster refuses an MGET of several slots.
        keys.iter().for_each(|key| client::get(&mut out, key));
        self.write(&out, "GET")?;
        for at in 0..keys.len() {
            let read = self.read_resp(None, "GET", |reply| match reply {
                Reply::Bulk(value) => {
                    look(Some(at), value);
                    Ok(())
                }
                Reply::Null => Ok(()),
                other => Err(words(other)),
            })?;
            read.map_err(|answer| self.unexpected("GET", answer))?;
        }
        Ok(())
    }

    /// The nodes of a Redis Cluster that take writes, in the order of their slots, and which slots each has.
    ///
    /// Errors: the server is in no cluster, or some slots have no node.
    pub(in crate::cache) fn slots(&mut self) -> Result<Vec<Slots>, ControlError> {
        let asked_host = self.server.rsplit_once(':').map_or("", |(host, _)| host).to_owned();
        let server = self.server.clone();
        let no_cluster = |problem: String| ControlError::NoCluster { server: server.clone(), problem };
        let found = self.ask_resp(cluster::slots, "CLUSTER SLOTS", |reply| match reply {
            Reply::Error(text) if !wants_authentication(text) => Ok(Err(excerpt(text))),
            reply => {
                let ranges = cluster::ranges(reply).ok_or_else(|| words(reply))?;
                let each = ranges.iter().map(|range| {
                    let host = match range.node.host {
                        b"" => asked_host.trim_start_matches('[').trim_end_matches(']').to_owned(),
                        host => String::from_utf8_lossy(host).into_owned(),
                    };
                    (range.first, range.last, Server { host, port: range.node.port })
                });
                Ok(Ok(each.collect::<Vec<Slots>>()))
            }
        })?;
        let mut found = found.map_err(&no_cluster)?;
        found.sort_unstable_by_key(|(first, _, _)| *first);
        let mut next = 0;
        for (first, last, _) in &found {
            if *first > next {
                break;
            }
            next = next.max(last + 1);
        }
        match next == cluster::SLOTS {
            true => Ok(found),
            false => Err(no_cluster(format!("slot {next} has no node"))),
        }
    }

    /// The nodes of a Redis Cluster that take writes.
    ///
    /// Errors: as of [`Control::slots`].
    pub fn nodes(&mut self) -> Result<Vec<Server>, ControlError> {
        let mut nodes: Vec<Server> = Vec::new();
        for (_, _, node) in self.slots()? {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        Ok(nodes)
    }

    /// Sends one command and interprets its reply; `look` returns `Err` with a description of an unexpected reply.
    fn ask_resp<T>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        asked: &'static str,
        look: impl FnOnce(Reply<'_>) -> Result<T, String>,
    ) -> Result<T, ControlError> {
        let deadline = self.request(write, asked)?;
        let found = self.read_resp(Some(deadline), asked, look)?;
        found.map_err(|answer| self.unexpected(asked, answer))
    }

    fn read_resp<T>(
        &mut self,
        deadline: Option<Instant>,
        asked: &'static str,
        look: impl FnOnce(Reply<'_>) -> T,
    ) -> Result<T, ControlError> {
        debug_assert!(matches!(self.dialect, Dialect::Resp { .. }));
        loop {
            match self.replies.parse(&self.received[self.used..]) {
                Parse::Done { consumed, reply } => {
                    let found = look(reply);
                    self.used += consumed;
                    return Ok(found);
                }
                Parse::Malformed { .. } => return Err(self.garbage(asked)),
                Parse::NeedMore { .. } => self.receive(asked, deadline)?,
            }
        }
    }
}

/// A field of the server's information: lines of `name:value`.
fn field<'t>(info: &'t str, name: &str) -> Option<&'t str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// A reply, as messages quote it.
fn words(reply: Reply<'_>) -> String {
    match reply {
        Reply::Error(text) | Reply::Simple(text) | Reply::Bulk(text) => excerpt(text),
        other => excerpt(format!("{other:?}").as_bytes()),
    }
}
