//! Commands of RESP about the connection and the server.

use proto_resp::server::{Args, Version, matches, read_i64, reply};
use reactor::{Address, Reactor};
use tracing::info;

use super::super::Core;
use super::super::requests::Flow;
use super::{NO_INTEGER, PATTERN_MAX, REQUESTS, SYNTAX, unfit_key};
use crate::client::Client;
use crate::message::Work;
use crate::operation::resp::{RespOperation, Verb};
use crate::replies;
use crate::resp::commands::{COMMANDS, Command, Row};
use crate::resp::settings::{self, Moment, Sections};
use crate::resp::{Finish, REDIS_VERSION, Talk, bulk_number};
use crate::stats::CoreStats;

/// The user of a client that gives a password alone. Source: Redis, as for the errors.
const DEFAULT_USER: &[u8] = b"default";
const WRONG_PASSWORD: &[u8] = b"WRONGPASS invalid username-password pair or user is disabled.";
const NO_NAME: &[u8] = b"ERR Client names cannot contain spaces, newlines or special characters.";
const NO_LIBRARY: &[u8] = b"ERR lib-name and lib-ver cannot contain spaces, newlines or special characters.";
/// The longest name of a client or of its library: a connection keeps them, and `CLIENT LIST` has those of all. Units: bytes.
const NAME_MAX: usize = 256;

impl<R: Reactor> Core<R> {
    /// A command that is not about an item.
    #[cold]
    pub(super) fn resp_admin(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        talk: &mut Talk,
        command: Command,
        args: Args<'_>,
    ) -> Flow {
        let arg = |number: usize| args.get(number).unwrap_or_default();
        let is = |number: usize, word: &str| arg(number).eq_ignore_ascii_case(word.as_bytes());
        match command {
            Command::Ping => match args.len() {
                1 => self.resp_simple(reactor, client, b"PONG"),
                2 => self.resp_reply(reactor, client, |out| reply::bulk(out, arg(1))),
                _ => self.refuse_count(reactor, client, "ping"),
            },
            Command::Echo => self.resp_reply(reactor, client, |out| reply::bulk(out, arg(1))),
            Command::Quit => {
                self.make(reactor, client, |out| reply::simple(out, b"OK"));
                Flow::Close
            }
            Command::Reset => {
                *talk = Talk { since: talk.since, ..Talk::default() };
                client.is_known = self.common.users.is_none();
                self.resp_simple(reactor, client, b"RESET")
            }
            Command::Auth => self.resp_auth(reactor, client, args),
            Command::Hello => self.resp_hello(reactor, client, talk, args),
            Command::Select => match read_i64(arg(1)) {
                None => self.refuse_resp(reactor, client, NO_INTEGER),
                Some(0) => self.resp_simple(reactor, client, b"OK"),
                Some(_) => self.refuse_resp(reactor, client, b"ERR DB index is out of range"),
            },
            Command::Time => {
                let now = self.common.clock.micros(reactor.now());
                self.resp_reply(reactor, client, |out| {
                    reply::array(out, 2);
                    bulk_number(out, now / 1_000_000);
                    bulk_number(out, now % 1_000_000);
                })
            }
            Command::DbSize => self.resp_everywhere(reactor, client, Finish::Items, || Work::Report),
            Command::Info => {
                let sections = Sections::of(args.iter().skip(1));
                self.resp_everywhere(reactor, client, Finish::Info(sections, talk.version), || Work::Report)
            }
            Command::Flush => match args.len() {
                _ if !self.common.config.flush_all => {
                    self.refuse_resp(reactor, client, b"ERR flushing is not allowed; the server runs with -F")
                }
                1 => self.resp_everywhere(reactor, client, Finish::Ok, || Work::Flush { delay: 0 }),
                2 if is(1, "sync") || is(1, "async") => {
                    self.resp_everywhere(reactor, client, Finish::Ok, || Work::Flush { delay: 0 })
                }
                _ => self.refuse_resp(reactor, client, SYNTAX),
            },
            Command::Config => self.resp_config(reactor, client, talk.version, args),
            Command::Client => self.resp_client(reactor, client, talk, args),
            Command::Commands => self.resp_commands(reactor, client, talk.version, args),
            Command::Memory if is(1, "usage") && args.len() >= 3 => {
                if let Some(error) = unfit_key(arg(2)) {
                    return self.refuse_resp(reactor, client, &error);
                }
                let operation = RespOperation::new(Verb::Footprint, talk.version);
                self.resp_operate(reactor, client, operation, arg(2), b"")
            }
            Command::Memory => self.refuse_subcommand(reactor, client, "MEMORY", arg(1)),
            _ => unreachable!("it is about an item"),
        }
    }

    fn resp_reply(&mut self, reactor: &mut R, client: &mut Client, write: impl FnOnce(&mut Vec<u8>)) -> Flow {
        self.make(reactor, client, |out| write(out));
        Flow::Next
    }

    fn resp_simple(&mut self, reactor: &mut R, client: &mut Client, text: &[u8]) -> Flow {
        self.resp_reply(reactor, client, |out| reply::simple(out, text))
    }

    fn refuse_subcommand(&mut self, reactor: &mut R, client: &mut Client, of: &str, name: &[u8]) -> Flow {
        /// Characters of a name that are shown. Source: Redis' `addReplySubcommandSyntaxError`.
        const SHOWN: usize = 128;
        let name = &name[..name.len().min(SHOWN)];
        let text = [b"ERR unknown subcommand '", name, b"'. Try ", of.as_bytes(), b" HELP."].concat();
        self.refuse_resp(reactor, client, &text)
    }

    /// `AUTH`.
    fn resp_auth(&mut self, reactor: &mut R, client: &mut Client, args: Args<'_>) -> Flow {
        let (user, password) = match (args.len(), args.get(1), args.get(2)) {
            (2, Some(password), _) => (DEFAULT_USER, password),
            (3, Some(user), Some(password)) => (user, password),
            _ => return self.refuse_resp(reactor, client, SYNTAX),
        };
        if self.common.users.is_none() && args.len() == 2 {
            let text = b"ERR AUTH <password> called without any password configured for the default user. Are you sure \
                         your configuration is correct?";
            return self.refuse_resp(reactor, client, text);
        }
        if self.resp_knows(client, user, password) {
            return self.resp_simple(reactor, client, b"OK");
        }
        self.refuse_password(reactor, client, user)
    }

    /// Whether a client is whom it says; it may use the server then.
    fn resp_knows(&mut self, client: &mut Client, user: &[u8], password: &[u8]) -> bool {
        self.stats.auth_cmds += 1;
        let is_known = match &self.common.users {
            Some(users) => users.know(user, password),
            // As Redis' default user, who needs no password.
            None => user == DEFAULT_USER,
        };
        if is_known {
            (client.is_known, client.failures) = (true, 0);
        }
        is_known
    }

    fn refuse_password(&mut self, reactor: &mut R, client: &mut Client, user: &[u8]) -> Flow {
        self.make(reactor, client, |out| reply::error(out, WRONG_PASSWORD));
        if self.refuse_words(client, Some(user)) {
            client.ends = "error";
            return Flow::Close;
        }
        Flow::Next
    }

    /// `HELLO`.
    fn resp_hello(&mut self, reactor: &mut R, client: &mut Client, talk: &mut Talk, args: Args<'_>) -> Flow {
        let mut version = talk.version;
        if let Some(word) = args.get(1) {
            version = match read_i64(word) {
                Some(2) => Version::Two,
                Some(3) => Version::Three,
                Some(_) => return self.refuse_resp(reactor, client, b"NOPROTO unsupported protocol version"),
                None => {
                    let text = b"ERR Protocol version is not an integer or out of range";
                    return self.refuse_resp(reactor, client, text);
                }
            };
        }
        let (mut words, mut name) = (None, None);
        let mut at = 2;
        while let Some(option) = args.get(at) {
            match (args.get(at + 1), args.get(at + 2)) {
                (Some(user), Some(password)) if option.eq_ignore_ascii_case(b"auth") => {
                    words = Some((user, password));
                    at += 3;
                }
                (Some(own), _) if option.eq_ignore_ascii_case(b"setname") => {
                    name = Some(own);
                    at += 2;
                }
                _ => {
                    let text = [b"ERR Syntax error in HELLO option '", option, b"'"].concat();
                    return self.refuse_resp(reactor, client, &text);
                }
            }
        }
        if let Some((user, password)) = words
            && !self.resp_knows(client, user, password)
        {
            return self.refuse_password(reactor, client, user);
        }
        if !client.is_known {
            let text = b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
                         <user> <pass> option can be used to authenticate the client and select the RESP protocol version \
                         at the same time";
            return self.refuse_resp(reactor, client, text);
        }
        if let Some(name) = name {
            if let Some(error) = unfit_name(name, NO_NAME) {
                return self.refuse_resp(reactor, client, error);
            }
            talk.name = name.to_vec();
        }
        talk.version = version;
        let id = self.number_of(client.conn, self.number) as i64;
        self.resp_reply(reactor, client, |out| {
            reply::map(out, 7, version);
            let mut texts = |pairs: &[(&str, &str)]| {
                for (name, text) in pairs {
                    reply::bulk(out, name.as_bytes());
                    reply::bulk(out, text.as_bytes());
                }
            };
            // Clients look for the name.
            texts(&[("server", "redis"), ("version", REDIS_VERSION)]);
            for (name, number) in [("proto", if version == Version::Two { 2 } else { 3 }), ("id", id)] {
                reply::bulk(out, name.as_bytes());
                reply::integer(out, number);
            }
            for (name, text) in [("mode", "standalone"), ("role", "master")] {
                reply::bulk(out, name.as_bytes());
                reply::bulk(out, text.as_bytes());
            }
            reply::bulk(out, b"modules");
            reply::array(out, 0);
        })
    }

    /// `CONFIG`.
    fn resp_config(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        version: Version,
        args: Args<'_>,
    ) -> Flow {
        let name = args.get(1).unwrap_or_default();
        let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
        if is(b"resetstat") && args.len() == 2 {
            return self.resp_everywhere(reactor, client, Finish::Ok, || Work::Reset);
        }
        if is(b"get") && args.iter().skip(2).map(|pattern| pattern.len() + 1).sum::<usize>() > PATTERN_MAX {
            return self.refuse_resp(reactor, client, b"ERR the patterns are too long together");
        }
        if is(b"get") && args.len() > 2 {
            let wanted = |name: &str| {
                args.iter().skip(2).any(|pattern| matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
            };
            let all = settings::settings(&self.common.config, self.common.memory.bytes(), self.resp_port());
            let all: Vec<_> = all.into_iter().filter(|(name, _)| wanted(name)).collect();
            return self.resp_reply(reactor, client, |out| {
                reply::map(out, all.len(), version);
                for (name, value) in &all {
                    reply::bulk(out, name.as_bytes());
                    reply::bulk(out, value.as_bytes());
                }
            });
        }
        if is(b"set") && args.len() > 3 && args.len().is_multiple_of(2) {
            return self.resp_set_config(reactor, client, args);
        }
        if is(b"get") || is(b"set") || is(b"resetstat") {
            let name = format!("config|{}", String::from_utf8_lossy(name).to_ascii_lowercase());
            return self.refuse_count(reactor, client, &name);
        }
        self.refuse_subcommand(reactor, client, "CONFIG", name)
    }

    /// `CONFIG SET`: the memory may change; of others only their present value is accepted.
    fn resp_set_config(&mut self, reactor: &mut R, client: &mut Client, args: Args<'_>) -> Flow {
        let all = settings::settings(&self.common.config, self.common.memory.bytes(), self.resp_port());
        let mut memory = None;
        for at in (2..args.len()).step_by(2) {
            let (name, value) = (args.get(at).unwrap_or_default(), args.get(at + 1).unwrap_or_default());
            let known = all.iter().find(|(own, _)| name.eq_ignore_ascii_case(own.as_bytes()));
            let failed = |why: &str| {
                let (first, name) = (b"ERR CONFIG SET failed (possibly related to argument '", name);
                [&first[..], name, b"') - ", why.as_bytes()].concat()
            };
            let error = match known {
                None => {
                    [b"ERR Unknown option or number of arguments for CONFIG SET - '", name, b"'"].concat()
                }
                Some(("maxmemory", _)) => match settings::read_memory(value) {
                    // Of which the limit has whole ones.
                    Some(bytes) => {
                        memory = Some(u32::try_from(bytes >> 20).unwrap_or(u32::MAX));
                        continue;
                    }
                    None => failed("argument must be a memory value"),
                },
                Some((_, own)) if value.eq_ignore_ascii_case(own.as_bytes()) => continue,
                Some(_) => failed("can't set immutable config"),
            };
            return self.refuse_resp(reactor, client, &error);
        }
        let Some(megabytes) = memory else { return self.resp_simple(reactor, client, b"OK") };
        match self.common.memory.set(megabytes) {
            Err(refusal) => {
                let line = String::from_utf8_lossy(refusal.line());
                let text = format!(
                    "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - {}",
                    line.trim_end()
                );
                self.refuse_resp(reactor, client, text.as_bytes())
            }
            Ok(limit) => {
                info!(%limit, "CONFIG SET maxmemory: the memory for items is changed");
                self.resp_everywhere(reactor, client, Finish::Ok, || Work::Memory)
            }
        }
    }

    /// `CLIENT`.
    fn resp_client(&mut self, reactor: &mut R, client: &mut Client, talk: &mut Talk, args: Args<'_>) -> Flow {
        let arg = |number: usize| args.get(number).unwrap_or_default();
        let is = |number: usize, word: &str| arg(number).eq_ignore_ascii_case(word.as_bytes());
        let name = arg(1).to_ascii_lowercase();
        match (&name[..], args.len()) {
            (b"id", 2) => {
                let id = self.number_of(client.conn, self.number) as i64;
                self.resp_reply(reactor, client, |out| reply::integer(out, id))
            }
            (b"getname", 2) if talk.name.is_empty() => {
                self.resp_reply(reactor, client, |out| reply::null(out, talk.version))
            }
            (b"getname", 2) => self.resp_reply(reactor, client, |out| reply::bulk(out, &talk.name)),
            (b"setname", 3) => {
                if let Some(error) = unfit_name(arg(2), NO_NAME) {
                    return self.refuse_resp(reactor, client, error);
                }
                talk.name = arg(2).to_vec();
                self.resp_simple(reactor, client, b"OK")
            }
            (b"setinfo", 4) => {
                let place = match () {
                    () if is(2, "lib-name") => &mut talk.library[0],
                    () if is(2, "lib-ver") => &mut talk.library[1],
                    () => {
                        let text = [b"ERR Unrecognized option '", arg(2), b"'"].concat();
                        return self.refuse_resp(reactor, client, &text);
                    }
                };
                if let Some(error) = unfit_name(arg(3), NO_LIBRARY) {
                    return self.refuse_resp(reactor, client, error);
                }
                *place = arg(3).to_vec();
                self.resp_simple(reactor, client, b"OK")
            }
            (b"info", 2) => {
                let mut line = Vec::new();
                self.tell_resp_client(reactor, client, talk, &mut line);
                self.resp_reply(reactor, client, |out| reply::verbatim(out, &line, talk.version))
            }
            (b"list", 2) => {
                // It was taken out for its request.
                let mut line = Vec::new();
                self.tell_resp_client(reactor, client, talk, &mut line);
                let finish = replies::Finish::Resp(Finish::Lines(talk.version));
                self.everywhere_with(reactor, client, line, finish, || Work::RespClients)
            }
            (b"no-evict" | b"no-touch", 3) if is(2, "on") || is(2, "off") => {
                self.resp_simple(reactor, client, b"OK")
            }
            (b"no-evict" | b"no-touch", 3) => self.refuse_resp(reactor, client, SYNTAX),
            (b"reply", 3) if is(2, "on") => self.resp_simple(reactor, client, b"OK"),
            (b"reply", 3) => self.refuse_resp(
                reactor,
                client,
                b"ERR CLIENT REPLY OFF and SKIP are not supported by this cache",
            ),
            (
                b"id" | b"getname" | b"setname" | b"setinfo" | b"info" | b"list" | b"no-evict" | b"no-touch"
                | b"reply",
                _,
            ) => {
                let name = format!("client|{}", String::from_utf8_lossy(&name));
                self.refuse_count(reactor, client, &name)
            }
            _ => self.refuse_subcommand(reactor, client, "CLIENT", arg(1)),
        }
    }

    /// `COMMAND`.
    fn resp_commands(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        version: Version,
        args: Args<'_>,
    ) -> Flow {
        let name = args.get(1).map(<[u8]>::to_ascii_lowercase);
        match name.as_deref() {
            None => self.resp_reply(reactor, client, |out| {
                reply::array(out, COMMANDS.len());
                COMMANDS.iter().for_each(|row| row.tell(out, version));
            }),
            Some(b"count") if args.len() == 2 => {
                self.resp_reply(reactor, client, |out| reply::integer(out, COMMANDS.len() as i64))
            }
            Some(b"list") if args.len() == 2 => self.resp_reply(reactor, client, |out| {
                reply::set(out, COMMANDS.len(), version);
                COMMANDS.iter().for_each(|row| reply::bulk(out, row.name.as_bytes()));
            }),
            // There are no texts about commands.
            Some(b"docs") => self.resp_reply(reactor, client, |out| reply::map(out, 0, version)),
            Some(b"info") if args.len() > 2 + REQUESTS as usize => {
                self.refuse_resp(reactor, client, b"ERR COMMAND INFO takes at most 1024 names")
            }
            Some(b"info") => self.resp_reply(reactor, client, |out| {
                reply::array(out, args.len() - 2);
                for name in args.iter().skip(2) {
                    match Row::find(name) {
                        Some(row) => row.tell(out, version),
                        None if version == Version::Two => out.extend_from_slice(b"*-1\r\n"),
                        None => reply::null(out, version),
                    }
                }
            }),
            Some(_) => self.refuse_subcommand(reactor, client, "COMMAND", args.get(1).unwrap_or_default()),
        }
    }

    /// The first port for RESP.
    fn resp_port(&self) -> u16 {
        self.common.config.resp_places().next().map_or(0, |(at, _)| at.port())
    }

    /// The reply when every thread has done its part.
    pub(in super::super) fn finish_resp(
        &self,
        finish: Finish,
        stats: &CoreStats,
        lines: &[u8],
        text: &mut Vec<u8>,
    ) {
        match finish {
            Finish::Ok => reply::simple(text, b"OK"),
            Finish::Items => reply::integer(text, stats.store.items as i64),
            Finish::Lines(version) => reply::verbatim(text, lines, version),
            Finish::Info(sections, version) => {
                let moment = Moment {
                    uptime: self.now.saturating_sub(self.common.clock.seconds(self.common.started)),
                    now: self.common.clock.micros(self.received),
                    memory: self.common.memory.bytes(),
                    port: self.resp_port(),
                };
                let mut lines = Vec::new();
                settings::info(&self.common.config, stats, &moment, sections, &mut lines);
                reply::verbatim(text, &lines, version);
            }
        }
    }

    /// Appends the lines of `CLIENT LIST` about this thread's connections.
    pub(in super::super) fn tell_resp_clients(&self, reactor: &R, lines: &mut Vec<u8>) {
        for client in self.clients.iter().flatten() {
            if let Some(resp) = &client.resp {
                self.tell_resp_client(reactor, client, &resp.talk, lines);
            }
        }
    }

    /// Appends the line of `CLIENT LIST` about a connection.
    fn tell_resp_client(&self, reactor: &R, client: &Client, talk: &Talk, lines: &mut Vec<u8>) {
        let told = |address: Option<Address>| address.map_or(String::new(), |address| address.to_string());
        let (peer, own) = reactor.addresses(client.conn).unzip();
        let id = self.number_of(client.conn, self.number);
        let (age, idle) = (self.now.saturating_sub(talk.since), self.now.saturating_sub(client.heard));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let version = if talk.version == Version::Two { 2 } else { 3 };
        lines.extend_from_slice(
            format!(
                "id={id} addr={} laddr={} fd={} name={} age={age} idle={idle} flags=N db=0 resp={version} lib-name={} lib-ver={}\n",
                told(peer),
                told(own),
                client.conn.slot,
                text(&talk.name),
                text(&talk.library[0]),
                text(&talk.library[1]),
            )
            .as_bytes(),
        );
    }
}

/// The error for an invalid name, `None` if it is valid; `special` is the error for characters that separate words or lines.
fn unfit_name(text: &[u8], special: &'static [u8]) -> Option<&'static [u8]> {
    if text.len() > NAME_MAX {
        return Some(b"ERR a name has at most 256 bytes");
    }
    let fits = text.iter().all(|byte| (b'!'..=b'~').contains(byte));
    (!fits).then_some(special)
}
