//! Commands of RESP about the connection and the server.

use proto_memcache::Reply;
use proto_resp::server::{Args, Version, matches, read_i64, reply};
use reactor::{Address, Reactor};
use tracing::info;

use super::super::Core;
use super::super::requests::Flow;
use super::{Error, NO_INTEGER, PATTERN_MAX, REQUESTS, SYNTAX, unfit_key, wrong_count};
use crate::client::Client;
use crate::message::Task;
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
/// The longest name of a client or of its library: a connection keeps both, and `CLIENT LIST` prints them for all
/// connections. Units: bytes.
const NAME_MAX: usize = 256;

/// The outcome of a command.
enum Then {
    /// The reply that it has written.
    Answer,
    /// The same, and the end of the connection.
    Close,
    /// A reply that every thread has a part in, after the lines that it has written.
    Everywhere(Finish, Task),
}

impl<R: Reactor> Core<R> {
    /// A command that is not about an item, and `MEMORY USAGE`.
    #[cold]
    pub(super) fn resp_admin(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        talk: &mut Talk,
        command: Command,
        args: Args<'_>,
    ) -> Flow {
        if command == Command::Memory
            && let (Some(word), Some(key)) = (args.get(1), args.get(2))
            && word.eq_ignore_ascii_case(b"usage")
        {
            if let Some(error) = unfit_key(key) {
                return self.refuse_resp(reactor, client, &error);
            }
            let operation = RespOperation::new(Verb::Footprint, talk.version);
            return self.resp_operate(reactor, client, operation, key, b"");
        }
        let mut text = self.buffers.take();
        let flow = match self.administer(reactor, client, talk, (command, args), &mut text) {
            Ok(Then::Answer) => self.answer(reactor, client, Reply::Wanted, &text),
            Ok(Then::Close) => {
                self.answer(reactor, client, Reply::Wanted, &text);
                Flow::Close
            }
            Ok(Then::Everywhere(finish, task)) => {
                let finish = replies::Finish::Resp(finish);
                // A copy without spare capacity, as the account counts the lines only.
                self.everywhere_with(reactor, client, text.clone(), finish, task)
            }
            Err(error) => self.refuse_resp(reactor, client, &error),
        };
        self.buffers.give(text);
        flow
    }

    /// The same for all but `MEMORY USAGE`: writes the reply of this thread.
    fn administer(
        &mut self,
        reactor: &R,
        client: &mut Client,
        talk: &mut Talk,
        (command, args): (Command, Args<'_>),
        out: &mut Vec<u8>,
    ) -> Result<Then, Error> {
        let arg = |number: usize| args.get(number).unwrap_or_default();
        let is = |number: usize, word: &str| arg(number).eq_ignore_ascii_case(word.as_bytes());
        match command {
            Command::Ping => match args.len() {
                1 => reply::simple(out, b"PONG"),
                2 => reply::bulk(out, arg(1)),
                _ => return Err(wrong_count("ping").into()),
            },
            Command::Echo => reply::bulk(out, arg(1)),
            Command::Quit => {
                reply::simple(out, b"OK");
                return Ok(Then::Close);
            }
            Command::Reset => {
                *talk = Talk { since: talk.since, ..Talk::default() };
                client.is_known = self.common.users.is_none();
                reply::simple(out, b"RESET");
            }
            Command::Auth => return self.resp_auth(client, args, out),
            Command::Hello => return self.resp_hello(client, talk, args, out),
            Command::Select => match read_i64(arg(1)) {
                None => return Err(NO_INTEGER.into()),
                Some(0) => reply::simple(out, b"OK"),
                Some(_) => return Err(b"ERR DB index is out of range".into()),
            },
            Command::Time => {
                let now = self.common.clock.micros(reactor.now());
                reply::array(out, 2);
                bulk_number(out, now / 1_000_000);
                bulk_number(out, now % 1_000_000);
            }
            Command::DbSize => return Ok(Then::Everywhere(Finish::Items, Task::Report)),
            Command::Info => {
                let sections = Sections::of(args.iter().skip(1));
                return Ok(Then::Everywhere(Finish::Info(sections, talk.version), Task::Report));
            }
            Command::Flush => match args.len() {
                _ if !self.common.config.flush_all => {
                    return Err(b"ERR flushing is not allowed; the server runs with -F".into());
                }
                2 if !is(1, "sync") && !is(1, "async") => return Err(SYNTAX.into()),
                1 | 2 => return Ok(Then::Everywhere(Finish::Ok, Task::Flush { delay: 0 })),
                _ => return Err(SYNTAX.into()),
            },
            Command::Config => return self.resp_config(talk.version, args, out),
            Command::Client => return self.resp_client(reactor, client, talk, args, out),
            Command::Commands => return commands(talk.version, args, out),
            Command::Memory => return Err(unknown_subcommand("MEMORY", arg(1))),
            _ => unreachable!("it is about an item"),
        }
        Ok(Then::Answer)
    }

    /// `AUTH`.
    fn resp_auth(&mut self, client: &mut Client, args: Args<'_>, out: &mut Vec<u8>) -> Result<Then, Error> {
        let (user, password) = match (args.len(), args.get(1), args.get(2)) {
            (2, Some(password), _) => (DEFAULT_USER, password),
            (3, Some(user), Some(password)) => (user, password),
            _ => return Err(SYNTAX.into()),
        };
        if self.common.users.is_none() && args.len() == 2 {
            let text = b"ERR AUTH <password> called without any password configured for the default user. Are you sure \
                         your configuration is correct?";
            return Err(text.into());
        }
        if !self.resp_knows(client, user, password) {
            return Ok(self.refuse_password(client, user, out));
        }
        reply::simple(out, b"OK");
        Ok(Then::Answer)
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

    fn refuse_password(&mut self, client: &mut Client, user: &[u8], out: &mut Vec<u8>) -> Then {
        reply::error(out, WRONG_PASSWORD);
        if self.refuse_words(client, Some(user)) {
            client.ends = "error";
            return Then::Close;
        }
        Then::Answer
    }

    /// `HELLO`.
    fn resp_hello(
        &mut self,
        client: &mut Client,
        talk: &mut Talk,
        args: Args<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Then, Error> {
        let version = match args.get(1).map(read_i64) {
            None => talk.version,
            Some(Some(2)) => Version::Two,
            Some(Some(3)) => Version::Three,
            Some(Some(_)) => return Err(b"NOPROTO unsupported protocol version".into()),
            Some(None) => return Err(b"ERR Protocol version is not an integer or out of range".into()),
        };
        let (mut words, mut name, mut at) = (None, None, 2);
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
                _ => return Err([b"ERR Syntax error in HELLO option '", option, b"'"].concat().into()),
            }
        }
        if let Some((user, password)) = words
            && !self.resp_knows(client, user, password)
        {
            return Ok(self.refuse_password(client, user, out));
        }
        if !client.is_known {
            let text = b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
                         <user> <pass> option can be used to authenticate the client and select the RESP protocol version \
                         at the same time";
            return Err(text.into());
        }
        if let Some(name) = name {
            talk.name = fit_name(name, NO_NAME)?;
        }
        talk.version = version;
        let id = self.number_of(client.conn, self.number) as i64;
        reply::map(out, 7, version);
        // Clients look for the name.
        texts(out, &[("server", "redis"), ("version", REDIS_VERSION)]);
        for (name, number) in [("proto", if version == Version::Two { 2 } else { 3 }), ("id", id)] {
            reply::bulk(out, name.as_bytes());
            reply::integer(out, number);
        }
        texts(out, &[("mode", "standalone"), ("role", "master")]);
        reply::bulk(out, b"modules");
        reply::array(out, 0);
        Ok(Then::Answer)
    }

    /// `CONFIG`.
    fn resp_config(&self, version: Version, args: Args<'_>, out: &mut Vec<u8>) -> Result<Then, Error> {
        let name = args.get(1).unwrap_or_default();
        let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
        if is(b"resetstat") && args.len() == 2 {
            return Ok(Then::Everywhere(Finish::Ok, Task::Reset));
        }
        if is(b"get") && args.iter().skip(2).map(|pattern| pattern.len() + 1).sum::<usize>() > PATTERN_MAX {
            return Err(b"ERR the patterns are too long together".into());
        }
        if is(b"get") && args.len() > 2 {
            let wanted = |name: &str| {
                args.iter().skip(2).any(|pattern| matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
            };
            let all = self.resp_settings();
            let all: Vec<_> = all.into_iter().filter(|(name, _)| wanted(name)).collect();
            reply::map(out, all.len(), version);
            texts(out, &all);
            return Ok(Then::Answer);
        }
        if is(b"set") && args.len() > 3 && args.len().is_multiple_of(2) {
            return self.resp_set_config(args, out);
        }
        if is(b"get") || is(b"set") || is(b"resetstat") {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            return Err(wrong_count(&format!("config|{name}")).into());
        }
        Err(unknown_subcommand("CONFIG", name))
    }

    /// `CONFIG SET`: the memory may change; of others only their present value is accepted.
    fn resp_set_config(&self, args: Args<'_>, out: &mut Vec<u8>) -> Result<Then, Error> {
        let all = self.resp_settings();
        let mut memory = None;
        for at in (2..args.len()).step_by(2) {
            let (name, value) = (args.get(at).unwrap_or_default(), args.get(at + 1).unwrap_or_default());
            let failed = |why: &str| {
                let first = b"ERR CONFIG SET failed (possibly related to argument '";
                [&first[..], name, b"') - ", why.as_bytes()].concat()
            };
            match all.iter().find(|(own, _)| name.eq_ignore_ascii_case(own.as_bytes())) {
                None => {
                    let first = b"ERR Unknown option or number of arguments for CONFIG SET - '";
                    return Err([&first[..], name, b"'"].concat().into());
                }
                Some(("maxmemory", _)) => {
                    let bytes = settings::read_memory(value);
                    let bytes = bytes.ok_or_else(|| failed("argument must be a memory value"))?;
                    // The limit is in whole MiB.
                    memory = Some(u32::try_from(bytes >> 20).unwrap_or(u32::MAX));
                }
                Some((_, own)) if value.eq_ignore_ascii_case(own.as_bytes()) => {}
                Some(_) => return Err(failed("can't set immutable config").into()),
            }
        }
        let Some(megabytes) = memory else {
            reply::simple(out, b"OK");
            return Ok(Then::Answer);
        };
        let limit = self.common.memory.set(megabytes).map_err(|refusal| {
            let line = String::from_utf8_lossy(refusal.line());
            let why = line.trim_end();
            format!("ERR CONFIG SET failed (possibly related to argument 'maxmemory') - {why}").into_bytes()
        })?;
        info!(%limit, "CONFIG SET maxmemory: the memory for items is changed");
        Ok(Then::Everywhere(Finish::Ok, Task::Memory))
    }

    /// The settings that `CONFIG` knows.
    fn resp_settings(&self) -> Vec<(&'static str, String)> {
        settings::settings(&self.common.config, self.common.memory.bytes(), self.resp_port())
    }

    /// `CLIENT`.
    fn resp_client(
        &self,
        reactor: &R,
        client: &Client,
        talk: &mut Talk,
        args: Args<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Then, Error> {
        let arg = |number: usize| args.get(number).unwrap_or_default();
        let is = |number: usize, word: &str| arg(number).eq_ignore_ascii_case(word.as_bytes());
        let name = arg(1).to_ascii_lowercase();
        match (&name[..], args.len()) {
            (b"id", 2) => reply::integer(out, self.number_of(client.conn, self.number) as i64),
            (b"getname", 2) if talk.name.is_empty() => reply::null(out, talk.version),
            (b"getname", 2) => reply::bulk(out, &talk.name),
            (b"setname", 3) => {
                talk.name = fit_name(arg(2), NO_NAME)?;
                reply::simple(out, b"OK");
            }
            (b"setinfo", 4) => {
                let place = match () {
                    () if is(2, "lib-name") => &mut talk.library[0],
                    () if is(2, "lib-ver") => &mut talk.library[1],
                    () => return Err([b"ERR Unrecognized option '", arg(2), b"'"].concat().into()),
                };
                *place = fit_name(arg(3), NO_LIBRARY)?;
                reply::simple(out, b"OK");
            }
            (b"info", 2) => {
                let mut line = Vec::new();
                self.tell_resp_client(reactor, client, talk, &mut line);
                reply::verbatim(out, &line, talk.version);
            }
            (b"list", 2) => {
                // It was taken out for its request.
                self.tell_resp_client(reactor, client, talk, out);
                return Ok(Then::Everywhere(Finish::Lines(talk.version), Task::RespClients));
            }
            (b"no-evict" | b"no-touch" | b"reply", 3) if is(2, "on") => reply::simple(out, b"OK"),
            (b"no-evict" | b"no-touch", 3) if is(2, "off") => reply::simple(out, b"OK"),
            (b"no-evict" | b"no-touch", 3) => return Err(SYNTAX.into()),
            (b"reply", 3) => {
                return Err(b"ERR CLIENT REPLY OFF and SKIP are not supported by this cache".into());
            }
            (
                b"id" | b"getname" | b"setname" | b"setinfo" | b"info" | b"list" | b"no-evict" | b"no-touch"
                | b"reply",
                _,
            ) => {
                let name = String::from_utf8_lossy(&name);
                return Err(wrong_count(&format!("client|{name}")).into());
            }
            _ => return Err(unknown_subcommand("CLIENT", arg(1))),
        }
        Ok(Then::Answer)
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

/// `COMMAND`.
fn commands(version: Version, args: Args<'_>, out: &mut Vec<u8>) -> Result<Then, Error> {
    let name = args.get(1).map(<[u8]>::to_ascii_lowercase);
    match name.as_deref() {
        None => {
            reply::array(out, COMMANDS.len());
            COMMANDS.iter().for_each(|row| row.tell(out, version));
        }
        Some(b"count") if args.len() == 2 => reply::integer(out, COMMANDS.len() as i64),
        Some(b"list") if args.len() == 2 => {
            reply::set(out, COMMANDS.len(), version);
            COMMANDS.iter().for_each(|row| reply::bulk(out, row.name.as_bytes()));
        }
        // There are no texts about commands.
        Some(b"docs") => reply::map(out, 0, version),
        Some(b"info") if args.len() > 2 + REQUESTS as usize => {
            return Err(b"ERR COMMAND INFO takes at most 1024 names".into());
        }
        Some(b"info") => {
            reply::array(out, args.len() - 2);
            for name in args.iter().skip(2) {
                match Row::find(name) {
                    Some(row) => row.tell(out, version),
                    None if version == Version::Two => out.extend_from_slice(b"*-1\r\n"),
                    None => reply::null(out, version),
                }
            }
        }
        Some(_) => return Err(unknown_subcommand("COMMAND", args.get(1).unwrap_or_default())),
    }
    Ok(Then::Answer)
}

fn unknown_subcommand(of: &str, name: &[u8]) -> Error {
    /// Characters of a name that are shown. Source: Redis' `addReplySubcommandSyntaxError`.
    const SHOWN: usize = 128;
    let name = &name[..name.len().min(SHOWN)];
    [b"ERR unknown subcommand '", name, b"'. Try ", of.as_bytes(), b" HELP."].concat().into()
}

/// Appends names and texts in turn.
fn texts(out: &mut Vec<u8>, pairs: &[(&str, impl AsRef<str>)]) {
    for (name, text) in pairs {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, text.as_ref().as_bytes());
    }
}

/// A valid name, as it is kept; `special` is the error for characters that separate words or lines.
fn fit_name(text: &[u8], special: &'static [u8]) -> Result<Vec<u8>, Error> {
    if text.len() > NAME_MAX {
        return Err(b"ERR a name has at most 256 bytes".into());
    }
    let fits = text.iter().all(|byte| (b'!'..=b'~').contains(byte));
    if fits { Ok(text.to_vec()) } else { Err(special.into()) }
}
