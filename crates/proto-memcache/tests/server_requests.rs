//! The server's parsing of requests: whole, in pieces, wrong, and at random. Every answer here was first observed with
//! memcached 1.6.45; `crates/sphinx/tests/transcripts` repeats that.

use proptest::prelude::*;
use proto_memcache::server::{
    Awaits, BINARY_KEY_MAX, MetaKey, Refusal, Request, RequestParse, RequestParser,
};
use proto_memcache::{Reply, StoreVerb, client, limits};

/// All requests of `bytes` when it arrives in pieces that end at `cuts`; a short form of each.
fn parse_in_pieces(bytes: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut parser = RequestParser::default();
    let (mut seen, mut start) = (Vec::new(), 0);
    for &cut in cuts.iter().chain([&bytes.len()]) {
        loop {
            match parser.parse(&bytes[start..cut.max(start)]) {
                RequestParse::NeedMore { at_least } => {
                    assert!(at_least > 0);
                    break;
                }
                RequestParse::Skipped { consumed } => start += consumed,
                RequestParse::Close(reason) => {
                    seen.push(format!("close: {reason:?}"));
                    return seen;
                }
                RequestParse::Done { consumed, request } => {
                    seen.push(show(request));
                    start += consumed;
                }
            }
        }
    }
    seen.push(format!("{} left", bytes.len() - start));
    seen
}

fn show(request: Request) -> String {
    let silent = |reply| if reply == Reply::Suppressed { " silently" } else { "" };
    match request {
        Request::Get { keys, with_cas } => {
            let expected = keys.len();
            let keys: Vec<String> = keys.map(|k| k.escape_ascii().to_string()).collect();
            assert_eq!(keys.len(), expected);
            format!("get{} {}", if with_cas { "s" } else { "" }, keys.join(","))
        }
        Request::Store { verb, key, flags, exptime, data, reply } => {
            let (key, data) = (key.escape_ascii(), data.escape_ascii());
            format!("{verb:?} {key}={data}/{flags} until {exptime}{}", silent(reply))
        }
        Request::Delete { key, reply } => format!("delete {}{}", key.escape_ascii(), silent(reply)),
        Request::Count { key, up, delta, reply } => {
            format!("{}{delta} {}{}", if up { "+" } else { "-" }, key.escape_ascii(), silent(reply))
        }
        Request::Touch { key, exptime, reply } => {
            format!("touch {} until {exptime}{}", key.escape_ascii(), silent(reply))
        }
        Request::FlushAll { delay, reply } => format!("flush in {delay}{}", silent(reply)),
        Request::NoEffect { reply } => format!("no effect{}", silent(reply)),
        Request::Version => "version".into(),
        Request::Stats { group, arguments } => {
            let words = [Some(group)].into_iter().chain(arguments).flatten();
            let words: Vec<String> = words.map(|word| word.escape_ascii().to_string()).collect();
            format!("stats {}", words.join(" ")).trim_end().into()
        }
        Request::Watch { kinds } => format!("watch {}", kinds.bits()),
        Request::Dump { kind, classes, reply } => {
            format!("dump {kind:?} of {}{}", classes.escape_ascii(), silent(reply))
        }
        Request::RefreshCertificates { reply } => format!("refresh{}", silent(reply)),
        Request::GetAndTouch { exptime, keys, with_cas } => {
            let keys: Vec<String> = keys.map(|k| k.escape_ascii().to_string()).collect();
            format!("gat{} {} until {exptime}", if with_cas { "s" } else { "" }, keys.join(","))
        }
        Request::Meta(meta) => {
            let flags: Vec<String> = meta.flags().map(|flag| format!("{flag:?}")).collect();
            let (key, flags, data) = (show_key(meta.key), flags.join(" "), meta.data().escape_ascii());
            format!("{:?} {key} [{flags}] {data}", meta.verb).trim_end().into()
        }
        Request::MetaTooLarge { key } => format!("MetaTooLarge, drop {}", show_key(key)),
        Request::NoOp => "mn".into(),
        Request::MemoryLimit { megabytes, reply } => format!("{megabytes} MiB{}", silent(reply)),
        Request::Shutdown { how, reply } => format!("shutdown {how:?}{}", silent(reply)),
        Request::Quit => "quit".into(),
        Request::Refused { refusal, reply, unlink } => {
            let unlink = unlink.map_or(String::new(), |key| format!(", drop {}", key.escape_ascii()));
            format!("{refusal:?}{unlink}{}", silent(reply))
        }
    }
}

fn show_key(key: MetaKey) -> String {
    let mut room = [0; BINARY_KEY_MAX];
    format!("{}{}", key.read(&mut room).escape_ascii(), if key.is_binary() { " (binary)" } else { "" })
}

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    let mut seen = parse_in_pieces(text.as_bytes(), &[]);
    if seen.last().is_some_and(|last| last == "0 left") {
        seen.pop();
    }
    assert_eq!(seen, expect, "{text:?}");
}

fn long(text: &str) -> String {
    text.replace("LONG", &"k".repeat(251))
}

#[test]
fn reads_each_request() {
    check("get a\r\n", &["get a"]);
    check("get  a   b \n", &["get a,b"]);
    check("gets a b c\r\n", &["gets a,b,c"]);
    check("get a\r\r\n", &["get a\\r"]);
    check("set k 7 -1 5\r\na\r\nbc\r\n", &["Set k=a\\r\\nbc/7 until -1"]);
    check("set k 0 0 0\nnope", &["BadChunk", "2 left"]);
    check("set k 0 0 0 \n\r\n", &["Set k=/0 until 0"]);
    check("set k +1 +0 1\r\nx\r\n", &["Set k=x/1 until 0"]);
    check("add k 010 0 1 noreply\r\nx\r\n", &["Add k=x/10 until 0 silently"]);
    check("set k 0 0 1 other\r\nx\r\n", &["Set k=x/0 until 0"]);
    check("replace k 4294967295 2147483647 1\r\nx\r\n", &["Replace k=x/4294967295 until 2147483647"]);
    check("append k 0 0 1\r\nx\r\n", &["Append k=x/0 until 0"]);
    check("prepend k 0 0 1\r\nx\r\n", &["Prepend k=x/0 until 0"]);
    check("cas k 0 0 1 18446744073709551615\r\nx\r\n", &["Cas(18446744073709551615) k=x/0 until 0"]);
    check("cas k 0 0 1 5 noreply\r\nx\r\n", &["Cas(5) k=x/0 until 0 silently"]);
    check("set k 0 0 1 noreply extra\r\nx\r\n", &["Set k=x/0 until 0"]);
    check("delete k\r\ndelete k 0 x\r\n", &["delete k", "delete k"]);
    check("delete noreply\r\n", &["delete noreply silently"]);
    check("delete k noreply\r\ndelete k 0 noreply\r\n", &["delete k silently", "delete k silently"]);
    check("incr k 1\r\ndecr k 2 noreply\r\nincr k 1 x\r\n", &["+1 k", "-2 k silently", "+1 k"]);
    check("incr k 18446744073709551615\r\n", &["+18446744073709551615 k"]);
    check("touch k 0\r\ntouch k -1 noreply\r\n", &["touch k until 0", "touch k until -1 silently"]);
    check("flush_all\r\nflush_all noreply\r\n", &["flush in 0", "flush in 0 silently"]);
    check("flush_all 9\r\nflush_all 9 noreply\r\n", &["flush in 9", "flush in 9 silently"]);
    check("flush_all -1\r\nflush_all 0 1\r\n", &["flush in -1", "flush in 0"]);
    check("flush_all 1 2 3\r\n flush_all\r\n", &["flush in 1", "flush in 0"]);
    check("verbosity 1\r\nverbosity 1 noreply\r\n", &["no effect", "no effect silently"]);
    check(
        "verbosity 1 2 3\r\nslabs automove 1\r\nlru mode flat noreply\r\n",
        &["no effect", "no effect", "no effect silently"],
    );
    check(
        "version\r\nversion 1 2\r\nstats\r\nstats reset\r\nquit\r\n",
        &["version", "version", "stats", "stats reset", "quit"],
    );
}

#[test]
fn refuses_as_memcached_does() {
    for text in ["foo\r\n", "GET a\r\n", " get a\r\n", "bget a\r\n", "get\ta\r\n", "gett a\r\n", "    \r\n"] {
        check(text, &["Unknown"]);
    }
    for text in ["\r\n", "\n", "g\r\n", "  \n", "mn\n"] {
        check(text, &["BadFormat"]);
    }
    for text in ["get\r\n", "gets \r\n", "set\r\n", "set k 0 0\r\n", "delete\r\n", "set k 0 0 noreply\r\n"] {
        check(text, &["BadFormat"]);
    }
    for text in
        ["incr\r\n", "incr k\r\n", "touch k\r\n", "verbosity\r\n", "gat\r\n", "gat 10\r\n", "gat x\r\n"]
    {
        check(text, &["BadFormat"]);
    }
    for text in ["get LONG\r\n", "get a LONG b\r\n", "delete LONG\r\n", "incr LONG 1\r\n", "touch LONG 1\r\n"]
    {
        check(&long(text), &["BadFormat"]);
    }
    check("noreply\r\nfoo noreply\r\nnoreply foo\r\n", &["Unknown silently", "Unknown silently", "Unknown"]);
    check("incr k x\r\n", &["BadDelta"]);
    check(
        "incr k -1\r\nincr k +1\r\nincr noreply noreply\r\n",
        &["BadDelta", "BadDelta", "BadDelta silently"],
    );
    check("incr k 18446744073709551616 noreply\r\n", &["BadDelta silently"]);
    check("touch k x\r\n", &["BadExptime"]);
    check("flush_all x\r\n", &["BadExptime"]);
    check("flush_all noreply 5\r\n", &["BadExptime"]);
    check("verbosity x\r\n", &["BadFormat"]);
    check("verbosity noreply\r\n", &["BadFormat silently"]);
}

#[test]
fn reads_the_rest_of_the_commands() {
    check("gat 10 a b\r\ngats -1 a\r\n", &["gat a,b until 10", "gats a until -1"]);
    check(&long("gat x a\r\ngat x LONG\r\n"), &["BadExptime"; 2]);
    check(&long("gat 0 a LONG\r\n"), &["BadFormat"]);
    check("cache_memlimit 100\r\ncache_memlimit 9 noreply\r\n", &["100 MiB", "9 MiB silently"]);
    check("cache_memlimit\r\ncache_memlimit x\r\ncache_memlimit -5\r\n", &["Unknown"; 3]);
    check("cache_memlimit 64 2\r\nshutdown noreply\r\n", &["64 MiB", "shutdown Unknown silently"]);
    check("shutdown\r\nshutdown graceful\r\n", &["shutdown Now", "shutdown Graceful"]);
    check("shutdown now\r\nshutdown graceful x\r\n", &["shutdown Unknown"; 2]);
    check("stats detail on\r\nstats items\r\n", &["stats detail on", "stats items"]);
    check("stats cachedump 1 5 x\r\nwatch fetchers\r\n", &["stats cachedump 1 5", "watch 1"]);
    let all =
        "fetchers mutations evictions connevents deletions rawcmds sysevents proxyreqs proxyevents proxyuser";
    check(&format!("watch {all} fetchers\r\n"), &["watch 63"]);
    check("lru_crawler metadump all\r\nlru_crawler mgdump 1\r\n", &["dump Items of all", "dump Keys of 1"]);
    check("lru_crawler metadump\r\nlru_crawler metadump all noreply\r\n", &["Unknown", "Unknown silently"]);
    check(
        "refresh_certs\r\nrefresh_certs noreply\r\nslabs\r\nlru_crawler crawl x\r\n",
        &["refresh", "refresh silently", "Unknown", "BadClass"],
    );
}

#[test]
fn reads_meta_commands() {
    check("mg a\r\n", &["Get a []"]);
    check("mg a v k  q\n", &["Get a [ReturnValue ReturnKey Quiet]"]);
    let all = "Get a [ReturnTtl ReturnCas ReturnFlags ReturnSize ReturnHitBefore ReturnLastAccess NoBump]";
    check("mg a t c f s h l u\r\n", &[all]);
    check("mg a N30 R-5 T0\r\n", &["Get a [Vivify(30) Recache(-5) Ttl(0)]"]);
    check("mg a Oxyz Lpath P\r\n", &["Get a [Opaque([120, 121, 122])]"]);
    check("mg Zm9v b\r\n", &["Get foo (binary) [Base64Key]"]);
    check("mg a C5 E7 x\r\n", &["Get a [CompareCas(5) NewCas(7) RemoveValue]"]);
    check("mg a Mx\r\n", &["Get a []"]);
    check("ms a 2\r\nhi\r\n", &["Set a [] hi"]);
    check("ms a 2 T90 F5 c I\nhi\r\n", &["Set a [Ttl(90) Flags(5) ReturnCas Invalidate] hi"]);
    check("ms a 0 ME\r\n\r\nmn\r\n", &["Set a [Mode(Add)]", "mn"]);
    check("ms Zm9v 4 b MA\r\n\r\n\r\n\r\n", &["Set foo (binary) [Base64Key Mode(Append)] \\r\\n\\r\\n"]);
    check("md a q I T5\r\n", &["Delete a [Quiet Invalidate Ttl(5)]"]);
    check(
        "ma a M- D5 J7 N0 v\r\n",
        &["Count a [Mode(Decrement) Delta(5) InitialValue(7) Vivify(0) ReturnValue]"],
    );
    check(
        "ma a M+\r\nma a MI\r\nma a MD\r\n",
        &["Count a [Mode(Increment)]", "Count a [Mode(Increment)]", "Count a [Mode(Decrement)]"],
    );
    check("me a\r\nme Zm9v b\r\nme a v\r\n", &["Debug a []", "Debug foo (binary) []", "Debug a []"]);
    check("mn\r\nmn x y\r\n", &["mn", "mn"]);
}

#[test]
fn refuses_meta_commands_as_memcached_does() {
    for text in ["mx a\r\n", "mgg a\r\n"] {
        check(text, &["Unknown"]);
    }
    for text in [
        "mg\r\n",
        "ms\r\n",
        "md\r\n",
        "ma\r\n",
        "m\r\n",
        "mg a !\r\n",
        "mg a v \u{e9}\r\n",
        "me\r\n",
        "mg LONG\r\n",
        "md LONG\r\n",
        "me LONG\r\n",
        "me a! b\r\n",
    ] {
        check(&long(text), &["BadFormat"]);
    }
    check("mg a v v\r\n", &["DuplicateFlag"]);
    check("mg a Y\r\n", &["InvalidFlag"]);
    check("mg a Y v v\r\n", &["InvalidFlag"]);
    check("mg a Tx v v\r\n", &["DuplicateFlag"]);
    check("mg a T\r\nmg a Nx\r\nmg a R1x\r\nmg a Cx\r\n", &["BadToken"; 4]);
    check("mg a b\r\n", &["BadKey"]);
    check("mg a Fx\r\nmg a Fx Tx\r\nmg a Tx Fx\r\n", &["BadFormat", "BadToken", "BadToken"]);
    check("mg a Mxy\r\nms a 1 MEx\r\nx\r\n", &["Get a []", "Set a [Mode(Add)] x"]);
    check("ms a 1 M\r\nx\r\n", &["SetMode"]);
    let flags =
        |n: usize| "abcdefghijklmnopqrstuvwxyz".chars().take(n).map(|c| format!(" {c}")).collect::<String>();
    check(&format!("mg a{}\r\n", flags(19)), &["FlagsTooLong"]);
    check(&format!("mg a{}\r\n", flags(18)), &["InvalidFlag"]);
    check(&format!("ma a{}\r\n", flags(19)), &["BadFlags"]);
    check(&format!("ms a 1{}\r\nx\r\nmn\r\n", flags(18)), &["FlagsTooLong", "mn"]);
    check("md a v v\r\nmd a Y\r\nmd a Cx\r\n", &["DuplicateFlag", "InvalidFlag", "BadToken"]);
    for text in ["ma a v v\r\n", "ma a Y\r\n", "ma a Dx\r\n", "ma LONG v\r\n"] {
        check(&long(text), &["BadFlags"]);
    }
    check("ma a Mx\r\nma a Mxy\r\n", &["CountMode"; 2]);
    let opaque = "o".repeat(32);
    check(&format!("md a O{opaque}\r\n"), &["OpaqueTooLong"]);
    // These two find it when they answer.
    check(&format!("mg a O{}\r\n", "o".repeat(31)), &[&format!("Get a [Opaque({:?})]", [b'o'; 31])]);
    // The length is read first: without it the value is read as a command, with it it is dropped.
    check("ms a\r\nx\r\n", &["BadFormat"; 2]);
    check("ms a x\r\nx\r\n", &["BadFormat"; 2]);
    check("ms a -1\r\nx\r\n", &["BadFormat"; 2]);
    check("ms a 1 !\r\nx\r\n", &["BadFormat"; 2]);
    check(&long("ms LONG 1\r\nx\r\nmn\r\n"), &["BadFormat", "mn"]);
    check("ms a 1 Y\r\nx\r\nmn\r\n", &["InvalidFlag", "mn"]);
    check("ms a 1 Mx\r\nx\r\nmn\r\n", &["SetMode", "mn"]);
    check(&format!("ms a 1 O{opaque}\r\nx\r\nmn\r\n"), &["OpaqueTooLong", "mn"]);
    check(&format!("ms a 1 Mx O{opaque}\r\nx\r\nmn\r\n"), &["SetMode", "mn"]);
    check("ms a 1\r\nxyz\r\nmn\r\n", &["BadChunk", "BadFormat", "mn"]);
    check("ms a 1 Jx\r\nx\r\nms a 1 Dx\r\nx\r\n", &["BadInitial", "BadMetaDelta"]);
    let body = "x".repeat(1 << 20);
    check(&format!("ms a 1048576 O{opaque}\r\n{body}\r\nmn\r\n"), &["MetaTooLarge, drop a", "mn"]);
    check(&format!("ms a 1048576 MA q\r\n{body}\r\nmn\r\n"), &["MetaTooLarge, drop a", "mn"]);
    check(&format!("ms Zm9v 1048576 b\r\n{body}\r\nmn\r\n"), &["MetaTooLarge, drop foo (binary)", "mn"]);
}

#[test]
fn an_item_of_ms_counts_what_its_key_stands_for() {
    // As above: 1 048 516 for a key of 1 byte without flags, and "Zg==" is one.
    for (flags, largest) in [("b", 1_048_516), ("b F1", 1_048_512), ("b F0", 1_048_516)] {
        for (length, fits) in [(largest, true), (largest + 1, false)] {
            let text = format!("ms Zg== {length} {flags}\r\n{}\r\n", "v".repeat(length));
            let parse = RequestParser::default().parse(text.as_bytes()).clone();
            let RequestParse::Done { request, .. } = parse else { panic!("{flags} {length}") };
            assert_eq!(matches!(request, Request::Meta(_)), fits, "{flags} {length}");
        }
    }
}

#[test]
fn a_value_whose_length_is_unknown_is_read_as_commands() {
    for line in ["set k 0 0 x", "set k 0 0 -1", "set k 0 0 1x", "set k 0 0 +1", "set k 0 0 2147483646"] {
        check(&format!("{line}\r\nquit\r\n"), &["BadFormat", "quit"]);
        // Whether it is silent is not looked at before that.
        check(&format!("{line} noreply\r\nquit\r\n"), &["BadFormat", "quit"]);
    }
}

#[test]
fn a_value_of_a_wrong_line_is_dropped() {
    for line in
        ["set LONG 0 0 4", "set k x 0 4", "set k -1 0 4", "set k 0 x 4", "cas k 0 0 4 x", "cas k 0 0 4 +1"]
    {
        check(&long(&format!("{line}\r\nquit\r\nmn\r\n")), &["BadFormat", "mn"]);
        check(&long(&format!("{line} noreply\r\nquit\r\nmn\r\n")), &["BadFormat silently", "mn"]);
    }
    check("cas k 0 0 4\r\nquit\r\nmn\r\n", &["BadFormat", "mn"]);
    check("set k 0 0 1\r\nxyz\r\nversion\r\n", &["BadChunk", "BadFormat", "version"]);
    check("set k 0 0 1 noreply\r\nxyz\r\n", &["BadChunk silently", "BadFormat"]);
    check("set k 0 0 3\r\nx\r\n\r\n", &["Set k=x\\r\\n/0 until 0"]);
}

#[test]
fn a_value_that_is_too_large_is_skipped() {
    let body = "x".repeat(1 << 20);
    let check_large = |line: &str, expect: &[&str]| {
        check(&format!("{line}\r\n{body}\r\nversion\r\n"), expect);
    };
    check_large("set k 0 0 1048576", &["TooLarge, drop k", "version"]);
    check_large("set k 0 0 1048576 noreply", &["TooLarge, drop k silently", "version"]);
    check_large("add k 0 0 1048576", &["TooLarge", "version"]);
    check_large("cas k 0 0 1048576 1", &["TooLarge", "version"]);
}

#[test]
fn only_what_no_item_may_have_drops_the_old_value() {
    let check = |line: &str, expect: &str| {
        let text = format!("{line}\r\n");
        let parse = RequestParser::with_limits(3000, 1000).parse(text.as_bytes());
        let RequestParse::Done { request, .. } = parse else { panic!("{line}: {parse:?}") };
        assert_eq!(show(request), expect, "{line}");
    };
    // Joined values are gathered, so that they have a limit of their own.
    for mode in ["MA", "MP"] {
        check(&format!("ms a 2000 {mode}"), "TooLarge");
        check(&format!("ms a 3000 {mode}"), "MetaTooLarge, drop a");
    }
    check("ms a 3000", "MetaTooLarge, drop a");
    check("append a 0 0 2000", "TooLarge");
    check("set a 0 0 3000", "TooLarge, drop a");
}

#[test]
fn a_parser_tells_what_it_waits_for() {
    let mut parser = RequestParser::default();
    let mut check = |bytes: &str, expect: Awaits| {
        parser.parse(bytes.as_bytes());
        assert_eq!(parser.awaits(), expect, "{bytes}");
    };
    check("", Awaits::Line);
    check("set k 0", Awaits::Line);
    check("set k 0 0 0\r\n", Awaits::Value);
    check("set k 0 0 0\r\n\r", Awaits::Value);
    check("set k 0 0 0\r\n\r\n", Awaits::Line);
    check("set k x 0 3\r\n", Awaits::Refused);
    check("abc", Awaits::Refused);
    check("\r\n", Awaits::Line);
}

#[test]
fn a_value_that_is_not_gathered_is_shown_and_can_be_dropped() {
    let value = "v".repeat(100);
    // Whether the caller takes it, given all of it or a part.
    let check = |line: &str, taken: bool| {
        let sent = format!("{line}\r\n{value}\r\nversion\r\n");
        for end in [line.len() + 2, line.len() + 50, sent.len()] {
            let mut parser = RequestParser::with_limits(1000, 100);
            let parse = parser.parse(&sent.as_bytes()[..end]);
            assert_eq!(matches!(parse, RequestParse::NeedMore { .. }), taken, "{line} {end}");
            if !taken {
                continue;
            }
            let bytes = &sent.as_bytes()[..end];
            let (length, at) = match (parser.awaited(bytes), parser.awaited_meta(bytes)) {
                (Some((store, at)), None) => (store.length, at),
                (None, Some((set, at))) => {
                    assert_eq!(set.key.read(&mut [0; BINARY_KEY_MAX]), b"key");
                    (set.length, at)
                }
                both => panic!("{both:?}"),
            };
            assert_eq!((length, at), (100, line.len() + 2));
            parser.skip(102);
            let rest = &sent.as_bytes()[at..];
            assert_eq!(parser.parse(rest), RequestParse::Skipped { consumed: 102 });
            let RequestParse::Done { request, .. } = parser.parse(&rest[102..]) else { panic!() };
            assert_eq!(request, Request::Version);
        }
    };
    for verb in ["set", "add", "replace"] {
        check(&format!("{verb} key 1 0 100"), true);
        check(&format!("{verb} key 1 0 100 noreply"), true);
    }
    check("cas key 1 0 100 7", true);
    check("append key 1 0 100", false);
    check("prepend key 1 0 100", false);
    check("ms key 100 T0 F1", true);
    check("ms a2V5 100 b MR", true);
    check("ms key 100 MA", false);
    check("ms key 100 MP", false);
    check(&format!("ms key 100 O{}", "o".repeat(40)), false);
}

#[test]
fn a_request_that_is_put_back_is_read_again() {
    for line in ["set k 0 0 1048576\r\n", "ms k 1048576\r\n", "ms k 3 Y\r\n", "get k\r\n"] {
        let mut parser = RequestParser::default();
        let first = parser.parse(line.as_bytes());
        assert!(matches!(first, RequestParse::Done { .. }), "{line}");
        parser.put_back();
        assert_eq!(parser.parse(line.as_bytes()), first, "{line}");
    }
}

#[test]
fn the_largest_item_is_memcacheds() {
    let check_size = |key: usize, flags: u32, largest: usize| {
        for (length, fits) in [(largest, true), (largest + 1, false)] {
            let text = format!("set {} {flags} 0 {length}\r\n{}\r\n", "k".repeat(key), "v".repeat(length));
            let parse = RequestParser::default().parse(text.as_bytes()).clone();
            let RequestParse::Done { request, .. } = parse else { panic!("{key} {flags} {length}") };
            assert_eq!(matches!(request, Request::Store { .. }), fits, "{key} {flags} {length}");
        }
    };
    // Asked of memcached 1.6.18 by bisection.
    check_size(1, 0, 1_048_516);
    check_size(1, 5, 1_048_512);
    check_size(250, 0, 1_048_267);
    check_size(250, 5, 1_048_263);
}

#[test]
fn long_lines_close_unless_they_are_gets() {
    let x = |n: usize| "x".repeat(n);
    check(&x(2048), &["2048 left"]);
    check(&x(2049), &["close: LineTooLong"]);
    check(&format!("{}\r\n", x(2047)), &["Unknown"]);
    check(&format!("{}\r\nversion\r\n", x(2048)), &["close: LineTooLong"]);
    check(&format!("set {}", x(3000)), &["close: LineTooLong"]);
    check(&format!("{}get a", " ".repeat(2045)), &["close: LineTooLong"]);
    check(&format!("get {}", x(3000)), &["3004 left"]);
    check(&format!("gets {}\r\n  gets {}\r\n", x(3000), x(3000)), &["BadFormat", "Unknown"]);
    let keys = vec!["key"; 10_000].join(" ");
    let expect = format!("get {}", vec!["key"; 10_000].join(","));
    check(&format!("get {keys}\r\nversion\r\n"), &[&expect, "version"]);
    check(&format!("get {}", x(limits::GET_LINE_MAX)), &["close: LineTooLong"]);
}

#[test]
fn http_is_closed() {
    check("POST / HTTP/1.1\r\nset k 0 0 1\r\nx\r\n", &["close: Http"]);
    check("get HTTP/1.1\r\n", &["get HTTP/1.1"]);
    check("mx HTTP/1.1\r\n", &["close: Http"]);
    check("HTTP/1.1\r\n", &["Unknown"]);
}

#[test]
fn every_refusal_is_a_line() {
    for refusal in [
        Refusal::Unknown,
        Refusal::BadFormat,
        Refusal::BadChunk,
        Refusal::BadExptime,
        Refusal::BadDelta,
        Refusal::NonNumeric,
        Refusal::TooLarge,
        Refusal::OutOfMemory,
        Refusal::DuplicateFlag,
        Refusal::InvalidFlag,
        Refusal::BadFlags,
        Refusal::FlagsTooLong,
        Refusal::BadToken,
        Refusal::BadKey,
        Refusal::SetMode,
        Refusal::CountMode,
        Refusal::BadInitial,
        Refusal::BadMetaDelta,
        Refusal::OpaqueTooLong,
        Refusal::StatsDetail,
        Refusal::NoCachedump,
        Refusal::ShutdownMode,
        Refusal::NoMemory,
        Refusal::NoMemoryToCount,
        Refusal::NoDetail,
        Refusal::BadLine,
        Refusal::BadSlab,
        Refusal::NoMetadump,
        Refusal::NoKeyDump,
        Refusal::AutomoveWindow,
        Refusal::CrawlerSleep,
        Refusal::LruShares,
        Refusal::LruFactors,
        Refusal::NoWatch,
    ] {
        let parse = client::ResponseParser::default().parse(client::Expect::Stored, refusal.line());
        let is_error = matches!(parse, client::Parse::Done { outcome: client::Outcome::Error { .. }, .. });
        assert!(is_error, "{refusal:?}: {parse:?}");
    }
}

/// Bytes that are often close to requests.
fn request_like() -> impl Strategy<Value = Vec<u8>> {
    let whole = |text: &'static str| Just(text.as_bytes().to_vec()).boxed();
    let piece = prop_oneof![
        whole("get a\r\n"),
        whole("gets a b\r\n"),
        whole("set k 0 0 5\r\nhello\r\n"),
        whole("set k 0 0 5\r\nhello!\r\n"),
        whole("add k 1 -1 3 noreply\r\n\r\n\r\r\n"),
        whole("set k 0 0 1048576\r\n"),
        whole("incr k 5\r\n"),
        whole("gat 5 a b\r\n"),
        whole("mg k v k Oxyz\r\n"),
        whole("ms k 5 T0 c\r\nhello\r\n"),
        whole("ms k 5 T0 T0\r\nhello\r\n"),
        whole("ms k 1048576\r\n"),
        whole("ms Zm9v 2 b\r\nxyz\r\n"),
        whole("md k q\r\nma k v D5\r\nmn\r\nme k\r\n"),
        whole("delete k noreply\r\n"),
        whole("flush_all 5\r\n"),
        whole("\n"),
        whole("GET / HTTP/1.1\r\n"),
        (0usize..3000).prop_map(|n| vec![b'x'; n]).boxed(),
        (0usize..3000).prop_map(|n| [b"get ".to_vec(), vec![b' '; n]].concat()).boxed(),
        prop::collection::vec(any::<u8>(), 0..12).boxed(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_requests(
        bytes in request_like(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = parse_in_pieces(&bytes, &[]);
        prop_assert_eq!(&parse_in_pieces(&bytes, &cuts), &whole);
        let bytewise: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(parse_in_pieces(&bytes, &bytewise), whole);
    }

    #[test]
    fn any_bytes_are_answered_without_a_panic(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8),
    ) {
        let mut parser = RequestParser::default();
        for piece in &pieces {
            parser.parse(piece);
        }
    }

    #[test]
    fn reads_what_the_client_writes(
        key in "[!-~]{1,250}",
        verb in prop_oneof![
            Just(StoreVerb::Set), Just(StoreVerb::Add), Just(StoreVerb::Replace), Just(StoreVerb::Append),
            Just(StoreVerb::Prepend), any::<u64>().prop_map(StoreVerb::Cas),
        ],
        flags: u32,
        exptime: i32,
        data in prop::collection::vec(any::<u8>(), 0..300),
        number: u64,
        delay in 0..i32::MAX,
        silent: bool,
    ) {
        let reply = if silent { Reply::Suppressed } else { Reply::Wanted };
        let key = key.as_bytes();
        let mut text = Vec::new();
        client::store(&mut text, verb, key, flags, exptime, &data, reply);
        client::get(&mut text, key);
        text.extend_from_slice(&[b"gets ", key, b" b\r\n"].concat());
        client::delete(&mut text, key, reply);
        client::incr(&mut text, key, number, reply);
        client::decr(&mut text, key, number, reply);
        client::touch(&mut text, key, exptime, reply);
        let silently = if silent { " noreply" } else { "" };
        text.extend_from_slice(format!("flush_all {delay}{silently}\r\nverbosity 1{silently}\r\n").as_bytes());
        client::version(&mut text);
        client::stats(&mut text, b"reset");
        text.extend_from_slice(b"quit\r\n");
        let expect = [
            Request::Store { verb, key, flags, exptime, data: &data, reply },
            // Key iterators are compared by their keys, below.
            Request::Quit,
            Request::Quit,
            Request::Delete { key, reply },
            Request::Count { key, up: true, delta: number, reply },
            Request::Count { key, up: false, delta: number, reply },
            Request::Touch { key, exptime, reply },
            Request::FlushAll { delay, reply },
            Request::NoEffect { reply },
            Request::Version,
            Request::Stats { group: b"reset", arguments: [None, None] },
            Request::Quit,
        ];
        let mut parser = RequestParser::default();
        let mut rest = &text[..];
        for (i, expect) in expect.into_iter().enumerate() {
            let RequestParse::Done { consumed, request } = parser.parse(rest) else { panic!("{}", rest.escape_ascii()) };
            rest = &rest[consumed..];
            match request {
                Request::Get { keys, with_cas } => {
                    prop_assert_eq!(with_cas, i == 2);
                    let wanted = if i == 1 { vec![key] } else { vec![key, b"b"] };
                    prop_assert_eq!(keys.collect::<Vec<_>>(), wanted);
                }
                request => prop_assert_eq!(request, expect),
            }
        }
        prop_assert!(rest.is_empty());
    }
}
