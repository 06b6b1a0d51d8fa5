//! What the operator asks of the server: statistics, limits, the end.

use std::borrow::Cow;

use proto_memcache::Reply;
use proto_memcache::server::{Refusal, Shutdown, reply};
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::certificates::Certificates;
use crate::client::Client;
use crate::message::{DetailVerb, Work};
use crate::replies::Finish;
use crate::server::End;
use crate::stats::{groups, settings};

/// What memcached takes at least. Units: MiB.
const MEMORY_MIN: u32 = 8;
/// From here on memcached takes a number for bytes. Units: MiB.
const MEMORY_MAX: u32 = 1_000_000_000;

impl<R: Reactor> Core<R> {
    /// `stats` and its groups.
    pub(super) fn stats(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        group: &[u8],
        arguments: [Option<&[u8]>; 2],
    ) -> Flow {
        match group {
            b"settings" => {
                let mut text = Vec::new();
                settings::write(&self.common.config, self.prefixes.on, &mut text);
                self.answer(reactor, client, Reply::Wanted, &text)
            }
            b"sizes" => {
                let mut text = Vec::new();
                groups::sizes(&mut text);
                self.answer(reactor, client, Reply::Wanted, &text)
            }
            b"slabs" => self.everywhere(reactor, client, Reply::Wanted, Finish::Slabs, || Work::Report),
            // There is no storage beside memory, which memcached answers like this, too.
            b"extstore" => self.answer(reactor, client, Reply::Wanted, reply::END),
            b"items" => self.everywhere(reactor, client, Reply::Wanted, Finish::Items, || Work::Report),
            b"conns" => {
                self.everywhere(reactor, client, Reply::Wanted, Finish::Connections, || Work::Connections)
            }
            b"detail" => self.detail(reactor, client, arguments[0]),
            b"" => self.everywhere(reactor, client, Reply::Wanted, Finish::Stats, || Work::Report),
            b"reset" => self.everywhere(reactor, client, Reply::Wanted, Finish::Reset, || Work::Reset),
            b"cachedump" => self.cachedump(reactor, client, arguments),
            _ => self.answer(reactor, client, Reply::Wanted, Refusal::Unknown.line()),
        }
    }

    /// `stats detail`.
    fn detail(&mut self, reactor: &mut R, client: &mut Client, argument: Option<&[u8]>) -> Flow {
        if !self.common.config.dump {
            return self.answer(reactor, client, Reply::Wanted, Refusal::NoDetail.line());
        }
        let (verb, finish) = match argument {
            Some(b"on") => (DetailVerb::On, Finish::Ok),
            Some(b"off") => (DetailVerb::Off, Finish::Ok),
            Some(b"dump") => (DetailVerb::Dump, Finish::Detail),
            _ => return self.answer(reactor, client, Reply::Wanted, Refusal::StatsDetail.line()),
        };
        self.everywhere(reactor, client, Reply::Wanted, finish, || Work::Detail(verb))
    }

    /// `cache_memlimit`: the memory was taken at the start, as memcached's is with `-L`, which answers the same.
    pub(super) fn memory_limit(&self, megabytes: u32) -> &'static [u8] {
        let limit = u64::from(megabytes) << 20;
        match megabytes {
            ..MEMORY_MIN => Refusal::MemoryTooSmall.line(),
            _ if megabytes > MEMORY_MAX => Refusal::MemoryInBytes.line(),
            _ if limit == self.common.config.memory.0 => reply::OK,
            _ => Refusal::MemoryOutOfBounds.line(),
        }
    }

    /// `refresh_certs`: reads the files of TLS again, for connections that come from now on.
    pub(super) fn refresh_certificates(&self) -> Cow<'static, [u8]> {
        match self.common.certificates.as_ref().map(Certificates::read_again) {
            None => Refusal::NoTls.line().into(),
            Some(Ok(())) => reply::OK.into(),
            Some(Err(error)) => {
                // A path may have line ends, which would look like another reply.
                let reason = format!("{error:#}").replace(char::is_control, " ");
                format!("SERVER_ERROR {reason}; the certificates stay as they were\r\n").into_bytes().into()
            }
        }
    }

    /// `shutdown`: as in memcached, the connection is closed without an answer, and the server ends. Both ways of it let
    /// replies leave first.
    pub(super) fn shutdown(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        how: Shutdown,
        reply: Reply,
    ) -> Flow {
        if !self.common.config.shutdown {
            return self.answer(reactor, client, reply, Refusal::NoShutdown.line());
        }
        match how {
            Shutdown::Now | Shutdown::Graceful => {
                // Where the receiver was dropped the end has come already.
                let _ = self.common.end.send(End::Interrupted);
                Flow::Close
            }
            Shutdown::Unknown => self.answer(reactor, client, reply, Refusal::ShutdownMode.line()),
        }
    }
}
