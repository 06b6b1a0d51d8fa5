//! The client's parsing of responses: whole, in pieces, wrong, and at random.

use proptest::prelude::*;
use proto_memcache::client::{ErrorKind, Expect, Outcome, Parse, ResponseParser};

const GET: Expect = Expect::Values { keys: 1 };

/// Parses `bytes` at once; a short form of the result.
fn parse(expect: Expect, bytes: &[u8]) -> String {
    show(ResponseParser::default().parse(expect, bytes))
}

fn show(parse: Parse) -> String {
    match parse {
        Parse::NeedMore { at_least } => format!("need {at_least}"),
        Parse::Malformed(reason) => format!("malformed: {reason}"),
        Parse::Done { consumed, outcome } => {
            let outcome = match outcome {
                Outcome::Values(values) => {
                    let items: Vec<String> = values
                        .iter()
                        .map(|v| {
                            let cas = v.cas.map_or(String::new(), |n| format!("#{n}"));
                            format!("{}={}/{}{cas}", v.key.escape_ascii(), v.data.escape_ascii(), v.flags)
                        })
                        .collect();
                    assert_eq!(items.len(), values.hits() as usize);
                    assert_eq!(values.iter().map(|v| v.data.len() as u64).sum::<u64>(), values.value_bytes());
                    format!("{} hits, {} B: {}", values.hits(), values.value_bytes(), items.join(" "))
                }
                Outcome::Meta(reply) => {
                    let data = reply.data.map_or(String::new(), |data| format!(" '{}'", data.escape_ascii()));
                    let flags: Vec<String> = reply
                        .flags()
                        .map(|(letter, token)| format!(" {}{}", letter as char, token.escape_ascii()))
                        .collect();
                    format!("{:?}{data}{}", reply.code, flags.concat())
                }
                Outcome::Version(text) => format!("version {}", text.escape_ascii()),
                Outcome::Stats(stats) => {
                    let lines: Vec<String> = stats
                        .iter()
                        .map(|(n, v)| format!("{}={}", n.escape_ascii(), v.escape_ascii()))
                        .collect();
                    lines.join(",")
                }
                Outcome::Error { kind, text } => format!("{kind:?}: {}", text.escape_ascii()),
                other => format!("{other:?}"),
            };
            format!("{consumed}: {outcome}")
        }
    }
}

/// Shows `bytes` to one parser in pieces that end at `cuts`, and then whole.
fn parse_in_pieces(expect: Expect, bytes: &[u8], cuts: &[usize]) -> String {
    let mut parser = ResponseParser::default();
    for &cut in cuts {
        match parser.parse(expect, &bytes[..cut]) {
            Parse::NeedMore { at_least } => {
                assert!(at_least > 0);
            }
            done => return show(done),
        }
    }
    show(parser.parse(expect, bytes))
}

#[test]
fn reads_each_answer() {
    let check = |expect, text: &str, result: &str| {
        assert_eq!(parse(expect, text.as_bytes()), result, "{text:?}");
    };
    check(GET, "END\r\n", "5: 0 hits, 0 B: ");
    check(GET, "VALUE k 7 2\r\nhi\r\nEND\r\nmore", "22: 1 hits, 2 B: k=hi/7");
    check(GET, "VALUE k 7 2 99\r\n\r\n\r\nEND\r\n", "25: 1 hits, 2 B: k=\\r\\n/7#99");
    check(GET, "VALUE k 0 0\r\n\r\nEND\r\n", "20: 1 hits, 0 B: k=/0");
    check(GET, "VALUE k 0 5\r\nEND\r\n\r\nEND\r\n", "25: 1 hits, 5 B: k=END\\r\\n/0");
    check(
        Expect::Values { keys: 3 },
        "VALUE a 0 1\r\n1\r\nVALUE c 0 1\r\n3\r\nEND\r\n",
        "37: 2 hits, 2 B: a=1/0 c=3/0",
    );
    check(Expect::Stored, "STORED\r\n", "8: Stored");
    check(Expect::Stored, "NOT_STORED\r\n", "12: NotStored");
    check(Expect::Stored, "EXISTS\r\n", "8: Exists");
    check(Expect::Stored, "NOT_FOUND\r\n", "11: NotFound");
    check(Expect::Deleted, "DELETED\r\n", "9: Deleted");
    check(Expect::Deleted, "NOT_FOUND\r\n", "11: NotFound");
    check(Expect::Touched, "TOUCHED\r\n", "9: Touched");
    check(Expect::Touched, "NOT_FOUND\r\n", "11: NotFound");
    check(Expect::Counter, "0\r\n", "3: Counter(0)");
    check(Expect::Counter, "18446744073709551615\r\n", "22: Counter(18446744073709551615)");
    check(Expect::Counter, "NOT_FOUND\r\n", "11: NotFound");
    check(Expect::Ok, "OK\r\n", "4: Ok");
    check(Expect::Version, "VERSION 1.6.18\r\n", "16: version 1.6.18");
    check(
        Expect::Stats,
        "STAT pid 1\r\nSTAT libevent 2.1 stable\r\nSTAT x\r\nEND\r\n",
        "51: pid=1,libevent=2.1 stable,x=",
    );
    check(Expect::Stats, "RESET\r\n", "7: Ok");
}

const META_MANY: Expect = Expect::MetaValues { keys: 3 };

#[test]
fn reads_each_meta_answer() {
    let check = |expect, text: &str, result: &str| {
        assert_eq!(parse(expect, text.as_bytes()), result, "{text:?}");
    };
    check(Expect::Meta, "HD\r\nmore", "4: Done");
    check(Expect::Meta, "HD c5 t-1\r\n", "11: Done c5 t-1");
    check(Expect::Meta, "VA 2 f7 kfoo\r\nhi\r\n", "18: Value 'hi' f7 kfoo");
    check(Expect::Meta, "VA 0\r\n\r\n", "8: Value ''");
    check(Expect::Meta, "VA 4\r\n\r\n\r\n\r\n", "12: Value '\\r\\n\\r\\n'");
    check(Expect::Meta, "VA 2 s2 W\r\n10\r\n", "15: Value '10' s2 W");
    check(Expect::Meta, "EN\r\n", "4: Miss");
    check(Expect::Meta, "NF Oabc\r\n", "9: NotFound Oabc");
    check(Expect::Meta, "NS\r\n", "4: NotStored");
    check(Expect::Meta, "EX\r\n", "4: Exists");
    check(Expect::Meta, "MN\r\n", "4: NoOp");
    check(Expect::Meta, "ERROR\r\n", "7: Unknown: ERROR");
    check(Expect::Meta, "CLIENT_ERROR duplicate flag\r\n", "29: Client: CLIENT_ERROR duplicate flag");
    check(META_MANY, "MN\r\n", "4: 0 hits, 0 B: ");
    check(
        META_MANY,
        "VA 1 ka\r\n1\r\nEN\r\nVA 3 f9 kc c4\r\n\r\n3\r\nMN\r\n",
        "40: 2 hits, 4 B: a=1/0 c=\\r\\n3/9#4",
    );
    // An error belongs to one key; the answers to the others and to `mn` follow.
    check(META_MANY, "CLIENT_ERROR bad\r\nVA 1 ka\r\n1\r\nMN\r\nHD\r\n", "34: Client: CLIENT_ERROR bad");
    // A server that knows no meta commands: one error for each key and one for `mn`.
    check(META_MANY, "ERROR\r\nERROR\r\nERROR\r\nERROR\r\nHD\r\n", "28: Unknown: ERROR");
    check(META_MANY, "ERROR\r\nERROR\r\nERROR\r\n", "need 1");
}

#[test]
fn says_why_bytes_are_no_meta_answer() {
    let check = |expect, text: &str, reason: &str| {
        let got = parse(expect, text.as_bytes());
        assert!(got.starts_with("malformed: ") && got.contains(reason), "{text:?}: {got}");
    };
    check(Expect::Meta, "STORED\r\n", "'STORED' where a meta reply");
    check(Expect::Meta, "VA\r\n", "'VA' where 'VA <bytes> <flags>'");
    check(Expect::Meta, "VA two\r\n", "where 'VA <bytes> <flags>'");
    check(Expect::Meta, "VA 1\r\nab\r\n", "value of 1 bytes does not end");
    check(Expect::Meta, "VA 1048577\r\n", "value of 1048577 bytes; at most");
    check(META_MANY, "VALUE a 0 1\r\n1\r\nEND\r\n", "where VA, EN or MN");
    check(META_MANY, "HD\r\nMN\r\n", "'HD' where VA, EN or MN");
    check(META_MANY, "VA 1 ka fx\r\n1\r\nMN\r\n", "where 'VA <bytes> <flags>'");
    check(Expect::MetaValues { keys: 0 }, "VA 1 ka\r\n1\r\nMN\r\n", "more values than the 0 keys");
}

#[test]
fn keeps_error_lines_as_text_up_to_a_limit() {
    let check = |expect, line: &str, kind: ErrorKind| {
        assert_eq!(
            parse(expect, format!("{line}\r\n").as_bytes()),
            format!("{}: {kind:?}: {line}", line.len() + 2)
        );
    };
    for expect in [GET, Expect::Stored, Expect::Counter, Expect::Stats, Expect::Version, Expect::Ok] {
        check(expect, "ERROR", ErrorKind::Unknown);
        check(expect, "ERROR unauthenticated", ErrorKind::Unknown);
        check(expect, "CLIENT_ERROR bad data chunk", ErrorKind::Client);
        check(expect, "SERVER_ERROR out of memory storing object", ErrorKind::Server);
    }
    let long = format!("SERVER_ERROR {}", "x".repeat(1000));
    let kept = &long[..ErrorKind::TEXT_MAX];
    assert_eq!(parse(GET, format!("{long}\r\n").as_bytes()), format!("1015: Server: {kept}"));
}

#[test]
fn says_why_bytes_are_no_answer() {
    let check = |expect, text: &str, reason: &str| {
        let got = parse(expect, text.as_bytes());
        assert!(got.starts_with("malformed: ") && got.contains(reason), "{text:?}: {got}");
    };
    check(GET, "HTTP/1.1 400 Bad Request\r\n", "'HTTP/1.1 400 Bad Request' where VALUE or END was expected");
    check(GET, "STORED\r\n", "'STORED' where VALUE or END was expected");
    check(GET, "END\n", "'END' ends without a carriage return");
    check(GET, "VALUE k 0 1\r\nabc\r\nEND\r\n", "value of 1 bytes does not end");
    check(GET, "VALUE k 0 3\r\na\r\nEND\r\n", "value of 3 bytes does not end");
    check(GET, "VALUE k 0 99999999999\r\n", "value of 99999999999 bytes; at most 1048576 are read");
    check(GET, "VALUE k 0 99999999999999999999\r\n", "VALUE <key> <flags> <bytes>");
    check(GET, "VALUE k zero 1\r\n", "'VALUE k zero 1'");
    check(GET, "VALUE a 0 1\r\na\r\nVALUE b 0 1\r\nb\r\n", "more values than the 1 keys");
    check(Expect::Stored, "DELETED\r\n", "'DELETED' where STORED, NOT_STORED");
    check(Expect::Stored, "END\r\n", "'END' where STORED, NOT_STORED");
    check(Expect::Counter, "-1\r\n", "where a number");
    check(Expect::Counter, "18446744073709551616\r\n", "where a number");
    check(Expect::Stored, "ERRORS\r\n", "'ERRORS'");
    check(Expect::Stored, &"x".repeat(3000), "line of over 2048 bytes");
    check(Expect::Stored, &format!("{}\r\n", "x".repeat(3000)), "line of over 2048 bytes");
}

#[test]
fn endless_statistics_are_refused() {
    let text = "STAT name value\r\n".repeat(70_000);
    assert!(parse(Expect::Stats, text.as_bytes()).contains("statistics of over 1048576 bytes"));
}

#[test]
fn says_how_much_is_missing() {
    let check = |text: &str, at_least: usize| {
        assert_eq!(parse(GET, text.as_bytes()), format!("need {at_least}"), "{text:?}");
    };
    check("", 3);
    check("EN", 1);
    check("END\r", 1);
    check("VALUE k 0 1000\r\n", 1000 + 2);
    check("VALUE k 0 1000\r\nabc", 997 + 2);
    check("VALUE k 0 1\r\na\r\n", 1);
}

#[test]
fn a_larger_limit_takes_larger_values() {
    let value = "v".repeat(2 << 20);
    let text = format!("VALUE k 0 {}\r\n{value}\r\nEND\r\n", value.len());
    assert!(parse(GET, text.as_bytes()).starts_with("malformed"));
    let mut parser = ResponseParser::with_max_value(2 << 20);
    assert!(
        matches!(parser.parse(GET, text.as_bytes()), Parse::Done { consumed, .. } if consumed == text.len())
    );
}

#[test]
fn a_parser_reads_one_response_after_the_other() {
    let text = b"VALUE k 0 1\r\na\r\nEND\r\nSTORED\r\n5\r\nEND\r\nERROR\r\n";
    let mut parser = ResponseParser::default();
    let mut rest = &text[..];
    let mut seen = Vec::new();
    for expect in [GET, Expect::Stored, Expect::Counter, GET, GET] {
        let Parse::Done { consumed, outcome } = parser.parse(expect, rest) else { panic!("{rest:?}") };
        seen.push(format!("{outcome:?}"));
        rest = &rest[consumed..];
    }
    assert!(rest.is_empty());
    assert!(seen[0].contains("hits: 1") && seen[3].contains("hits: 0"), "{seen:?}");
    assert_eq!(seen[1..3], ["Stored", "Counter(5)"]);
}

fn any_expect() -> impl Strategy<Value = Expect> {
    prop_oneof![
        (0u32..4).prop_map(|keys| Expect::Values { keys }),
        Just(Expect::Stored),
        Just(Expect::Deleted),
        Just(Expect::Counter),
        Just(Expect::Touched),
        Just(Expect::Ok),
        Just(Expect::Version),
        Just(Expect::Stats),
        Just(Expect::Meta),
        (0u32..4).prop_map(|keys| Expect::MetaValues { keys }),
    ]
}

/// Bytes that are often close to a response.
fn response_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"VALUE k 0 3\r\nabc\r\n".to_vec()),
        Just(b"VALUE key 1 0 77\r\n\r\n".to_vec()),
        Just(b"VALUE k 0 4\r\na\r".to_vec()),
        Just(b"VA 3 kkey c7\r\nabc\r\n".to_vec()),
        Just(b"VA 2 f1\r\na\r".to_vec()),
        Just(b"MN\r\n".to_vec()),
        Just(b"EN\r\n".to_vec()),
        Just(b"HD c1\r\n".to_vec()),
        Just(b"STAT a b\r\n".to_vec()),
        Just(b"END\r\n".to_vec()),
        Just(b"STORED\r\n".to_vec()),
        Just(b"ERROR\r\n".to_vec()),
        Just(b"12\r\n".to_vec()),
        Just(b"\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_result(
        expect in any_expect(),
        bytes in response_like(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = parse(expect, &bytes);
        let pieces = parse_in_pieces(expect, &bytes, &cuts);
        prop_assert_eq!(&pieces, &whole);
        let bytewise: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(parse_in_pieces(expect, &bytes, &bytewise), whole);
    }

    #[test]
    fn nothing_is_done_before_the_promised_bytes_are_here(expect in any_expect(), bytes in response_like()) {
        for cut in 0..bytes.len() {
            if let Parse::NeedMore { at_least } = ResponseParser::default().parse(expect, &bytes[..cut]) {
                for early in cut..(cut + at_least).min(bytes.len()) {
                    let parse = ResponseParser::default().parse(expect, &bytes[..early]);
                    let need_more = matches!(parse, Parse::NeedMore { .. });
                    prop_assert!(need_more, "{cut} said {at_least}, yet {early}: {parse:?}");
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_answered_without_a_panic(
        expect in any_expect(),
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8),
    ) {
        let mut parser = ResponseParser::default();
        for piece in &pieces {
            parser.parse(expect, piece);
        }
    }

    #[test]
    fn values_round_trip(items in prop::collection::vec(("[!-~]{1,40}", any::<u32>(), prop::option::of(any::<u64>()), prop::collection::vec(any::<u8>(), 0..300)), 0..5)) {
        let mut text = Vec::new();
        for (key, flags, cas, data) in &items {
            let cas = cas.map_or(String::new(), |n| format!(" {n}"));
            text.extend_from_slice(format!("VALUE {key} {flags} {}{cas}\r\n", data.len()).as_bytes());
            text.extend_from_slice(data);
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"END\r\n");
        let mut parser = ResponseParser::default();
        let parse = parser.parse(Expect::Values { keys: items.len() as u32 }, &text);
        let Parse::Done { consumed, outcome: Outcome::Values(values) } = parse else { panic!("{parse:?}") };
        prop_assert_eq!(consumed, text.len());
        prop_assert_eq!(values.hits() as usize, items.len());
        for (value, (key, flags, cas, data)) in values.iter().zip(&items) {
            prop_assert_eq!((value.key, value.flags, value.cas, value.data), (key.as_bytes(), *flags, *cas, &data[..]));
        }
    }
}
