use super::request::{BinaryRequest, Command};
use super::{Echo, HEADER, Header, REQUEST, Status, opcode};
use crate::{StoreVerb, limits};

/// The longest name of a mechanism of SASL. Units: bytes. Source: memcached's `MAX_SASL_MECH_LEN`.
pub const MECHANISM_MAX: usize = 32;

/// The longest message of SASL PLAIN: three texts of up to 255 characters of up to 4 bytes, and two zero bytes between them.
/// Units: bytes. Source: RFC 4616, 2.
pub const PLAIN_MAX: usize = 3 * 255 * 4 + 2;

/// The result of [`BinaryParser::parse`]; after `consumed` bytes the next request starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum BinaryParse<'b> {
    /// The request cannot be complete with fewer than this many further bytes.
    NeedMore { at_least: usize },
    /// A part of a refused body, to be dropped; there may be more of it.
    Skipped { consumed: usize },
    /// A request is complete, or as much of it as it takes to refuse it.
    Done { consumed: usize, request: BinaryRequest<'b> },
    /// The bytes are not a request: the connection must be closed without an answer.
    Close,
}

/// A `set` received except for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited<'b> {
    /// The fields that its response echoes.
    pub echo: Echo,
    /// The key.
    pub key: &'b [u8],
    /// The client's own number.
    pub flags: u32,
    /// The item's.
    pub exptime: u32,
    /// The value's length. Units: bytes.
    pub length: usize,
}

/// Reads one request after the other, however they are cut into pieces.
///
/// Shape: one per connection. It is shown the same request from its first byte on at each call.
/// Bounds: items of [`item_max`](Self::with_item_max); longer ones are skipped and not gathered. Unknown requests are
/// refused by their header alone, except for the steps of SASL, which have at most [`MECHANISM_MAX`] + [`PLAIN_MAX`]
/// bytes after it.
#[derive(Clone, Debug)]
pub struct BinaryParser {
    item_max: usize,
    /// The largest item that is gathered. Units: bytes.
    gathered_max: usize,
    /// The request cannot be complete while it is shorter.
    need: usize,
    /// The rest of a refused body.
    skip: usize,
}

impl Default for BinaryParser {
    /// A parser that takes items up to memcached's default of 1 MiB.
    fn default() -> BinaryParser {
        BinaryParser::with_item_max(limits::ITEM_MAX)
    }
}

/// The lengths that a command's header must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Neither extras nor key nor value.
    Bare,
    /// A key.
    Key,
    /// Extras of 4 bytes and a key.
    Touch,
    /// Extras of 8 bytes, a key and a value.
    Store(StoreVerb),
    /// A key and a value.
    Join(StoreVerb),
    /// Extras of 20 bytes and a key.
    Count,
    /// Extras of 4 bytes, or none.
    Flush,
    /// Extras of 4 bytes.
    Verbosity,
    /// A key, or none.
    Stats,
    /// A key, and a value with bounds of its own.
    Sasl,
    /// None is known.
    Unknown,
}

impl Layout {
    #[inline]
    fn of(code: u8) -> Layout {
        use opcode as op;
        match code {
            op::GET | op::GETQ | op::GETK | op::GETKQ | op::DELETE | op::DELETEQ => Layout::Key,
            op::SET | op::SETQ => Layout::Store(StoreVerb::Set),
            op::ADD | op::ADDQ => Layout::Store(StoreVerb::Add),
            op::REPLACE | op::REPLACEQ => Layout::Store(StoreVerb::Replace),
            op::APPEND | op::APPENDQ => Layout::Join(StoreVerb::Append),
            op::PREPEND | op::PREPENDQ => Layout::Join(StoreVerb::Prepend),
            op::INCREMENT | op::INCREMENTQ | op::DECREMENT | op::DECREMENTQ => Layout::Count,
            op::TOUCH | op::GAT | op::GATQ | op::GATK | op::GATKQ => Layout::Touch,
            op::FLUSH | op::FLUSHQ => Layout::Flush,
            op::NOOP | op::VERSION | op::QUIT | op::QUITQ | op::SASL_LIST => Layout::Bare,
            op::SASL_AUTH | op::SASL_STEP => Layout::Sasl,
            op::STAT => Layout::Stats,
            op::VERBOSITY => Layout::Verbosity,
            _ => Layout::Unknown,
        }
    }

    /// Whether a header has the lengths that the command must have. `value`: the length left for a value.
    #[inline]
    fn fits(self, extras: usize, key: usize, value: usize) -> bool {
        match self {
            Layout::Bare => extras == 0 && key == 0 && value == 0,
            Layout::Key => extras == 0 && key > 0 && value == 0,
            Layout::Touch => extras == 4 && key > 0 && value == 0,
            Layout::Store(_) => extras == 8 && key > 0,
            Layout::Join(_) | Layout::Sasl => extras == 0 && key > 0,
            Layout::Count => extras == 20 && key > 0 && value == 0,
            Layout::Flush => matches!(extras, 0 | 4) && key == 0 && value == 0,
            Layout::Verbosity => extras == 4 && key == 0 && value == 0,
            Layout::Stats => extras == 0 && value == 0,
            Layout::Unknown => true,
        }
    }
}

impl BinaryParser {
    /// A parser that takes items up to `item_max` bytes, as [`limits::item_size`] counts them.
    pub fn with_item_max(item_max: usize) -> BinaryParser {
        BinaryParser::with_limits(item_max, item_max)
    }

    /// The same for a caller that gathers items up to `gathered_max` bytes, and takes the value of a larger one from its first
    /// byte on ([`awaited`](Self::awaited)); only a `set` without a unique number has larger ones.
    pub fn with_limits(item_max: usize, gathered_max: usize) -> BinaryParser {
        BinaryParser { item_max, gathered_max, need: 1, skip: 0 }
    }

    /// Looks for one complete request at the start of `bytes`; `known`: whether the client may use the server.
    ///
    /// After [`BinaryParse::NeedMore`] call it again with the same bytes, extended by new ones.
    #[inline]
    pub fn parse<'b>(&mut self, bytes: &'b [u8], known: bool) -> BinaryParse<'b> {
        if bytes.len() < self.need {
            return BinaryParse::NeedMore { at_least: self.need - bytes.len() };
        }
        if self.skip > 0 {
            let consumed = self.skip.min(bytes.len());
            self.skip -= consumed;
            return BinaryParse::Skipped { consumed };
        }
        if bytes[0] != REQUEST {
            return BinaryParse::Close;
        }
        let Some(header) = bytes.first_chunk() else { return self.wait(HEADER, bytes) };
        let header = Header::read(header);
        let (extras, key) = (usize::from(header.extras), usize::from(header.key));
        let body = header.body as usize;
        let layout = Layout::of(header.opcode);
        let Some(value) = body.checked_sub(extras + key) else {
            return self.refuse(&header, Status::Unknown);
        };
        let is_open = layout == Layout::Sasl || matches!(header.opcode, opcode::SASL_LIST | opcode::VERSION);
        if !known && !is_open {
            return self.refuse(&header, Status::AuthError);
        }
        if key > limits::KEY_MAX || !layout.fits(extras, key, value) {
            return self.refuse(&header, Status::Invalid);
        }
        if layout == Layout::Unknown {
            let command = Command::Refused { status: Status::Unknown, closes: false };
            return self.done_and_skip(HEADER, &header, command, body);
        }
        if layout == Layout::Sasl {
            if value > PLAIN_MAX {
                return self.refuse(&header, Status::NoMemory);
            }
            if key > MECHANISM_MAX {
                let command = Command::Refused { status: Status::Invalid, closes: false };
                return self.done_and_skip(HEADER, &header, command, body);
            }
        }
        let key_at = HEADER + extras;
        let value_at = key_at + key;
        if bytes.len() < value_at {
            return self.wait(value_at, bytes);
        }
        let key = &bytes[key_at..value_at];
        let extras = &bytes[HEADER..key_at];
        if let Layout::Store(verb) | Layout::Join(verb) = layout {
            // `append` and `prepend` have none.
            let flags = number(extras, 0);
            let size = limits::item_size(key.len(), flags, value);
            if size > self.gathered_max {
                if size <= self.item_max && verb == StoreVerb::Set && header.cas == 0 {
                    return self.wait(value_at + value, bytes);
                }
                // An item of this size is allowed, only not for this command, so the old value stays.
                let unlink = verb == StoreVerb::Set && size > self.item_max;
                let command = Command::TooLarge { key, unlink };
                return self.done_and_skip(value_at, &header, command, value);
            }
        }
        let end = value_at + value;
        let Some(value) = bytes.get(value_at..end) else { return self.wait(end, bytes) };
        let command = command(layout, &header, extras, key, value);
        self.done(end, &header, command)
    }

    /// The length that the request has at least which is not whole yet. Units: bytes, from its first one on.
    #[inline]
    pub fn needed(&self) -> usize {
        self.need
    }

    /// The `set`, without a unique number, whose value [`parse`](Self::parse) waits for, and where in these bytes the value
    /// starts.
    ///
    /// A caller that takes the value from there on calls [`put_back`](Self::put_back).
    pub fn awaited<'b>(&self, bytes: &'b [u8]) -> Option<(Awaited<'b>, usize)> {
        let header = Header::read(bytes.first_chunk()?);
        let key_at = HEADER + usize::from(header.extras);
        let value_at = key_at + usize::from(header.key);
        let end = HEADER + header.body as usize;
        let is_set = matches!(header.opcode, opcode::SET | opcode::SETQ) && header.cas == 0;
        // It waits for the end once it has looked at all that is before the value.
        let key = bytes.get(key_at..value_at).filter(|_| is_set && self.skip == 0 && self.need == end)?;
        let extras = &bytes[HEADER..key_at];
        let (flags, exptime) = (number(extras, 0), number(extras, 4));
        Some((Awaited { echo: header.echo(), key, flags, exptime, length: end - value_at }, value_at))
    }

    /// Drops the next `bytes` bytes: a value that the caller wanted to take, and cannot.
    pub fn skip(&mut self, bytes: usize) {
        (self.need, self.skip) = (1, bytes);
    }

    /// Whether the next bytes are dropped.
    pub fn skips(&self) -> bool {
        self.skip > 0
    }

    /// Makes the last request unread: it will be parsed again, from its first byte on.
    pub fn put_back(&mut self) {
        (self.need, self.skip) = (1, 0);
    }

    #[inline]
    fn wait<'b>(&mut self, need: usize, bytes: &[u8]) -> BinaryParse<'b> {
        self.need = need;
        // A caller that gathers a value not has to take it, however much is here.
        BinaryParse::NeedMore { at_least: need.saturating_sub(bytes.len()).max(1) }
    }

    #[inline]
    fn done<'b>(&mut self, consumed: usize, header: &Header, command: Command<'b>) -> BinaryParse<'b> {
        self.need = 1;
        BinaryParse::Done { consumed, request: BinaryRequest { echo: header.echo(), command } }
    }

    #[cold]
    fn done_and_skip<'b>(
        &mut self,
        consumed: usize,
        header: &Header,
        command: Command<'b>,
        skip: usize,
    ) -> BinaryParse<'b> {
        self.skip = skip;
        self.done(consumed, header, command)
    }

    /// The bytes after such a header are not parsed.
    #[cold]
    fn refuse<'b>(&mut self, header: &Header, status: Status) -> BinaryParse<'b> {
        self.done(HEADER, header, Command::Refused { status, closes: true })
    }
}

/// The command of a complete request with valid lengths.
#[inline]
fn command<'b>(
    layout: Layout,
    header: &Header,
    extras: &[u8],
    key: &'b [u8],
    value: &'b [u8],
) -> Command<'b> {
    let Header { opcode: code, cas, .. } = *header;
    let quiet = opcode::is_quiet(code);
    let shows_key = opcode::shows_key(code);
    match layout {
        Layout::Key if matches!(code, opcode::DELETE | opcode::DELETEQ) => {
            Command::Delete { key, cas, quiet }
        }
        Layout::Key => Command::Get { key, shows_key, quiet },
        Layout::Touch if code == opcode::TOUCH => Command::Touch { key, exptime: number(extras, 0) },
        Layout::Touch => Command::GetAndTouch { key, exptime: number(extras, 0), shows_key, quiet },
        Layout::Store(verb) => {
            let (flags, exptime) = (number(extras, 0), number(extras, 4));
            Command::Store { verb, key, flags, exptime, cas, value, quiet }
        }
        Layout::Join(verb) => Command::Store { verb, key, flags: 0, exptime: 0, cas, value, quiet },
        Layout::Count => {
            let up = matches!(code, opcode::INCREMENT | opcode::INCREMENTQ);
            let (delta, initial) = (long(extras, 0), long(extras, 8));
            Command::Count { key, up, delta, initial, exptime: number(extras, 16), cas, quiet }
        }
        Layout::Flush => Command::Flush { delay: number(extras, 0), quiet },
        Layout::Stats => Command::Stats { group: key },
        Layout::Sasl => Command::Sasl { goes_on: code == opcode::SASL_STEP, mechanism: key, data: value },
        Layout::Verbosity => Command::Verbosity,
        Layout::Bare => match code {
            opcode::VERSION => Command::Version,
            opcode::QUIT | opcode::QUITQ => Command::Quit { quiet },
            opcode::SASL_LIST => Command::SaslMechanisms,
            _ => Command::NoOp,
        },
        Layout::Unknown => Command::Refused { status: Status::Unknown, closes: false },
    }
}

/// The four bytes at `at`; 0 if absent.
#[inline]
fn number(extras: &[u8], at: usize) -> u32 {
    extras.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The eight bytes at `at`; 0 if absent.
#[inline]
fn long(extras: &[u8], at: usize) -> u64 {
    extras.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Packet;
    use super::*;

    fn bytes(packet: Packet<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        packet.append(&mut out);
        out
    }

    fn parsed(bytes: &[u8], known: bool) -> (usize, Command<'_>) {
        match BinaryParser::default().parse(bytes, known) {
            BinaryParse::Done { consumed, request } => (consumed, request.command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_command_is_read() {
        let check = |packet: Packet<'_>, expect: Command<'_>| {
            let bytes = bytes(packet.opaque(9));
            assert_eq!(parsed(&bytes, true), (bytes.len(), expect));
            for end in 0..bytes.len() {
                let mut parser = BinaryParser::default();
                let BinaryParse::NeedMore { at_least } = parser.parse(&bytes[..end], true) else {
                    panic!("{end}")
                };
                assert!(at_least > 0 && at_least <= bytes.len() - end && parser.needed() == end + at_least);
            }
        };
        let key = &b"k"[..];
        let new = Packet::new;
        for (code, shows_key, quiet) in [
            (opcode::GET, false, false),
            (opcode::GETQ, false, true),
            (opcode::GETK, true, false),
            (opcode::GETKQ, true, true),
        ] {
            check(new(code).key(key), Command::Get { key, shows_key, quiet });
        }
        for (code, shows_key, quiet) in [
            (opcode::GAT, false, false),
            (opcode::GATQ, false, true),
            (opcode::GATK, true, false),
            (opcode::GATKQ, true, true),
        ] {
            let expect = Command::GetAndTouch { key, exptime: 7, shows_key, quiet };
            check(new(code).key(key).touch(7), expect);
        }
        check(new(opcode::TOUCH).key(key).touch(7), Command::Touch { key, exptime: 7 });
        for (code, verb, quiet) in [
            (opcode::SET, StoreVerb::Set, false),
            (opcode::SETQ, StoreVerb::Set, true),
            (opcode::ADD, StoreVerb::Add, false),
            (opcode::ADDQ, StoreVerb::Add, true),
            (opcode::REPLACE, StoreVerb::Replace, false),
            (opcode::REPLACEQ, StoreVerb::Replace, true),
        ] {
            let store =
                Command::Store { verb, key, flags: u32::MAX, exptime: 3, cas: 5, value: b"vv", quiet };
            check(new(code).key(key).store(u32::MAX, 3).value(b"vv").cas(5), store);
        }
        for (code, verb, quiet) in [
            (opcode::APPEND, StoreVerb::Append, false),
            (opcode::APPENDQ, StoreVerb::Append, true),
            (opcode::PREPEND, StoreVerb::Prepend, false),
            (opcode::PREPENDQ, StoreVerb::Prepend, true),
        ] {
            let store = Command::Store { verb, key, flags: 0, exptime: 0, cas: 0, value: b"v", quiet };
            check(new(code).key(key).value(b"v"), store);
        }
        check(new(opcode::DELETE).key(key).cas(1), Command::Delete { key, cas: 1, quiet: false });
        check(new(opcode::DELETEQ).key(key), Command::Delete { key, cas: 0, quiet: true });
        for (code, up, quiet) in [
            (opcode::INCREMENT, true, false),
            (opcode::INCREMENTQ, true, true),
            (opcode::DECREMENT, false, false),
            (opcode::DECREMENTQ, false, true),
        ] {
            let delta = u64::MAX;
            let count = Command::Count { key, up, delta, initial: 4, exptime: NO, cas: 0, quiet };
            check(new(code).key(key).count(delta, 4, NO), count);
        }
        check(new(opcode::FLUSH), Command::Flush { delay: 0, quiet: false });
        check(new(opcode::FLUSHQ).touch(7), Command::Flush { delay: 7, quiet: true });
        check(new(opcode::STAT), Command::Stats { group: b"" });
        check(new(opcode::STAT).key(b"items"), Command::Stats { group: b"items" });
        check(new(opcode::NOOP), Command::NoOp);
        check(new(opcode::VERSION), Command::Version);
        check(new(opcode::VERBOSITY).touch(2), Command::Verbosity);
        check(new(opcode::QUIT), Command::Quit { quiet: false });
        check(new(opcode::QUITQ), Command::Quit { quiet: true });
        check(new(opcode::SASL_LIST), Command::SaslMechanisms);
        for (code, goes_on) in [(opcode::SASL_AUTH, false), (opcode::SASL_STEP, true)] {
            let sasl = Command::Sasl { goes_on, mechanism: b"PLAIN", data: b"\0u\0p" };
            check(new(code).key(b"PLAIN").value(b"\0u\0p"), sasl);
        }
    }

    const NO: u32 = super::super::NO_VIVIFY;

    #[test]
    fn what_a_header_cannot_be_is_refused_by_the_header_alone() {
        let check = |packet: Packet<'_>, status: Status| {
            let bytes = bytes(packet);
            let refused = Command::Refused { status, closes: true };
            assert_eq!(parsed(&bytes[..HEADER], true), (HEADER, refused), "{}", bytes.escape_ascii());
        };
        let long = [b'k'; 251];
        check(Packet::new(opcode::GET).key(&long), Status::Invalid);
        check(Packet::new(opcode::GET), Status::Invalid);
        check(Packet::new(opcode::GET).key(b"k").value(b"v"), Status::Invalid);
        check(Packet::new(opcode::GET).key(b"k").touch(1), Status::Invalid);
        check(Packet::new(opcode::SET).key(b"k").value(b"v"), Status::Invalid);
        check(Packet::new(opcode::SET).store(0, 0).value(b"v"), Status::Invalid);
        check(Packet::new(opcode::APPEND).key(b"k").store(0, 0).value(b"v"), Status::Invalid);
        check(Packet::new(opcode::INCREMENT).key(b"k").touch(1), Status::Invalid);
        check(Packet::new(opcode::TOUCH).key(b"k"), Status::Invalid);
        check(Packet::new(opcode::FLUSH).store(0, 0), Status::Invalid);
        check(Packet::new(opcode::NOOP).key(b"k"), Status::Invalid);
        check(Packet::new(opcode::QUIT).value(b"k"), Status::Invalid);
        check(Packet::new(opcode::STAT).value(b"k"), Status::Invalid);
        let mut header = bytes(Packet::new(opcode::GET).key(b"k"));
        header[11] = 0;
        let refused = Command::Refused { status: Status::Unknown, closes: true };
        assert_eq!(parsed(&header, true), (HEADER, refused));
        header[0] = 0x81;
        assert_eq!(BinaryParser::default().parse(&header[..1], true), BinaryParse::Close);
    }

    #[test]
    fn who_is_not_known_gets_no_further_than_a_header() {
        let refused = Command::Refused { status: Status::AuthError, closes: true };
        for code in 0..=u8::MAX {
            let bytes = bytes(Packet::new(code).key(&[b'k'; 250]).value(&[b'v'; 5000]));
            let (consumed, command) = match BinaryParser::default().parse(&bytes[..HEADER], false) {
                BinaryParse::Done { consumed, request } => (consumed, request.command),
                other => panic!("{other:?}"),
            };
            assert_eq!(consumed, HEADER);
            match code {
                opcode::SASL_AUTH | opcode::SASL_STEP => {
                    assert_eq!(command, Command::Refused { status: Status::NoMemory, closes: true });
                }
                opcode::SASL_LIST | opcode::VERSION => {
                    assert_eq!(command, Command::Refused { status: Status::Invalid, closes: true });
                }
                _ => assert_eq!(command, refused, "{code}"),
            }
        }
        let longest = [&[b'm'; MECHANISM_MAX][..], &[0; PLAIN_MAX]].concat();
        let (mechanism, data) = longest.split_at(MECHANISM_MAX);
        let bytes = bytes(Packet::new(opcode::SASL_AUTH).key(mechanism).value(data));
        assert_eq!(parsed(&bytes, false).1, Command::Sasl { goes_on: false, mechanism, data });
    }

    #[test]
    fn a_set_is_known_before_its_value() {
        let value = [b'v'; 100];
        let check = |packet: Packet<'_>, expect: bool| {
            let bytes = bytes(packet.opaque(3));
            for end in 0..bytes.len() {
                let mut parser = BinaryParser::default();
                assert!(matches!(parser.parse(&bytes[..end], true), BinaryParse::NeedMore { .. }));
                let awaited = parser.awaited(&bytes[..end]);
                assert_eq!(awaited.is_some(), expect && end >= bytes.len() - value.len(), "{packet:?} {end}");
                if let Some((awaited, at)) = awaited {
                    let Awaited { echo, key, flags, exptime, length } = awaited;
                    assert_eq!((echo.opaque, key, flags, exptime), (3, &b"key"[..], 5, 7));
                    assert_eq!((length, at), (value.len(), bytes.len() - value.len()));
                }
            }
        };
        let set = |code: u8| Packet::new(code).key(b"key").store(5, 7).value(&value);
        check(set(opcode::SET), true);
        check(set(opcode::SETQ), true);
        check(set(opcode::SET).cas(1), false);
        check(set(opcode::ADD), false);
        check(Packet::new(opcode::APPEND).key(b"key").value(&value), false);
    }

    #[test]
    fn a_value_that_is_not_gathered_is_shown_and_can_be_dropped() {
        let value = [b'v'; 100];
        let check = |packet: Packet<'_>, taken: bool| {
            let mut sent = bytes(packet);
            let whole = sent.len();
            Packet::new(opcode::NOOP).append(&mut sent);
            let mut parser = BinaryParser::with_limits(1000, 100);
            let parse = parser.parse(&sent, true);
            assert_eq!(matches!(parse, BinaryParse::NeedMore { .. }), taken, "{packet:?}");
            if taken {
                let (awaited, at) = parser.awaited(&sent).unwrap();
                assert_eq!((awaited.length, at), (100, whole - 100));
                parser.skip(100);
                assert_eq!(parser.parse(&sent[at..], true), BinaryParse::Skipped { consumed: 100 });
                let BinaryParse::Done { request, .. } = parser.parse(&sent[whole..], true) else { panic!() };
                assert_eq!(request.command, Command::NoOp);
            }
        };
        let set = |code: u8| Packet::new(code).key(b"key").store(5, 7).value(&value);
        check(set(opcode::SET), true);
        check(set(opcode::SETQ), true);
        check(set(opcode::SET).cas(1), false);
        check(set(opcode::ADD), false);
        check(Packet::new(opcode::APPEND).key(b"key").value(&value), false);
    }

    #[test]
    fn what_is_refused_is_skipped_and_the_next_request_is_read() {
        let check = |packet: Packet<'_>, expect: Command<'_>| {
            let mut sent = bytes(packet);
            let length = sent.len();
            Packet::new(opcode::NOOP).append(&mut sent);
            let mut parser = BinaryParser::with_item_max(100);
            let BinaryParse::Done { mut consumed, request } = parser.parse(&sent, true) else { panic!() };
            assert_eq!(request.command, expect);
            while let BinaryParse::Skipped { consumed: more } = parser.parse(&sent[consumed..], true) {
                consumed += more;
                if consumed == length {
                    break;
                }
            }
            assert_eq!(consumed, length);
            let BinaryParse::Done { request, .. } = parser.parse(&sent[consumed..], true) else { panic!() };
            assert_eq!(request.command, Command::NoOp);
        };
        let unknown = Command::Refused { status: Status::Unknown, closes: false };
        check(Packet::new(0x30).key(b"key").touch(7).value(b"value"), unknown);
        let (key, large) = (&b"k"[..], [b'v'; 41]);
        check(
            Packet::new(opcode::SET).key(key).store(0, 0).value(&large),
            Command::TooLarge { key, unlink: true },
        );
        check(
            Packet::new(opcode::ADDQ).key(key).store(0, 0).value(&large),
            Command::TooLarge { key, unlink: false },
        );
        check(Packet::new(opcode::APPEND).key(key).value(&large), Command::TooLarge { key, unlink: false });
        // Flags take room.
        check(
            Packet::new(opcode::SET).key(key).store(1, 0).value(&large[4..]),
            Command::TooLarge { key, unlink: true },
        );
        // A size allowed for an item, but accepted only for a `set` without a unique number.
        let check_within = |packet: Packet<'_>, unlink: bool| {
            let sent = bytes(packet);
            let BinaryParse::Done { request, .. } = BinaryParser::with_limits(1000, 100).parse(&sent, true)
            else {
                panic!()
            };
            assert_eq!(request.command, Command::TooLarge { key, unlink }, "{packet:?}");
        };
        let set = |value| Packet::new(opcode::SET).key(key).store(0, 0).value(value).cas(1);
        check_within(set(&[b'v'; 900]), false);
        check_within(set(&[b'v'; 1000]), true);
        let mechanism = [b'm'; MECHANISM_MAX + 1];
        let invalid = Command::Refused { status: Status::Invalid, closes: false };
        check(Packet::new(opcode::SASL_AUTH).key(&mechanism).value(b"x"), invalid);
        let bytes = bytes(Packet::new(opcode::SET).key(key).store(0, 0).value(&large[1..]));
        let mut parser = BinaryParser::with_item_max(100);
        assert!(matches!(parser.parse(&bytes, true), BinaryParse::Done { request, .. }
            if matches!(request.command, Command::Store { .. })));
    }
}
