//! The client's parsing of replies: whole, in pieces, wrong, and at random.

use proptest::prelude::*;
use proto_resp::client::{Elements, Limits, Parse, Reply, ReplyParser};

const SMALL: Limits = Limits { value: 1_000, elements: 100 };

fn parse(bytes: &[u8]) -> String {
    show(ReplyParser::with_limits(SMALL).parse(bytes))
}

fn show(parse: Parse<'_>) -> String {
    match parse {
        Parse::NeedMore { at_least } => format!("need {at_least}"),
        Parse::Malformed { at, reason } => format!("malformed at {at}: {reason}"),
        Parse::Done { consumed, reply } => format!("{consumed}: {}", words(reply)),
    }
}

fn words(reply: Reply<'_>) -> String {
    let all = |elements: Elements<'_>| {
        let all: Vec<String> = elements.iter().map(words).collect();
        assert_eq!((all.len(), all.is_empty()), (elements.len(), elements.is_empty()));
        all.join(" ")
    };
    match reply {
        Reply::Simple(text) => format!("+{}", text.escape_ascii()),
        Reply::Error(text) => format!("-{}", text.escape_ascii()),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(value) => format!("'{}'", value.escape_ascii()),
        Reply::Null => "null".into(),
        Reply::Array(elements) => format!("[{}]", all(elements)),
        Reply::Map(elements) => format!("{{{}}}", all(elements)),
        Reply::Set(elements) => format!("~[{}]", all(elements)),
        Reply::Double(number) => format!("{number:?}"),
        Reply::Boolean(is) => is.to_string(),
        Reply::BigNumber(digits) => format!("({}", digits.escape_ascii()),
        Reply::Verbatim(text) => format!("={}", text.escape_ascii()),
    }
}

/// Shows `bytes` to one parser in pieces that end at `cuts`, and then whole.
fn parse_in_pieces(bytes: &[u8], cuts: &[usize]) -> (String, u64) {
    let mut parser = ReplyParser::with_limits(SMALL);
    for &cut in cuts {
        match parser.parse(&bytes[..cut]) {
            Parse::NeedMore { at_least } => assert!(at_least > 0),
            done => return (show(done), parser.pushes()),
        }
    }
    (show(parser.parse(bytes)), parser.pushes())
}

#[test]
fn reads_each_reply() {
    let check = |text: &str, result: &str| assert_eq!(parse(text.as_bytes()), result, "{text:?}");
    check("+OK\r\nmore", "5: +OK");
    check("+\r\n", "3: +");
    check("-ERR unknown command x\r\n", "24: -ERR unknown command x");
    check(":1000\r\n", "7: 1000");
    check(":-9223372036854775808\r\n", "23: -9223372036854775808");
    check("$5\r\nhello\r\n", "11: 'hello'");
    check("$0\r\n\r\n", "6: ''");
    check("$4\r\n\r\n\r\n\r\n", "10: '\\r\\n\\r\\n'");
    check("$-1\r\n", "5: null");
    check("*-1\r\n", "5: null");
    check("_\r\n", "3: null");
    check("*0\r\n", "4: []");
    check("*3\r\n$1\r\na\r\n$-1\r\n:3\r\n", "20: ['a' null 3]");
    check("*2\r\n*1\r\n*0\r\n*2\r\n+a\r\n+b\r\n", "24: [[[]] [+a +b]]");
    check("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "24: {+a 1 +b [2]}");
    check("~2\r\n:1\r\n:2\r\n", "12: ~[1 2]");
    check(",3.25\r\n", "7: 3.25");
    check(",-inf\r\n", "7: -inf");
    check(",1e3\r\n", "6: 1000.0");
    check("#t\r\n", "4: true");
    check("#f\r\n", "4: false");
    check(
        "(-3492890328409238509324850943850943825024385\r\n",
        "47: (-3492890328409238509324850943850943825024385",
    );
    check("!11\r\nERR a\r\nbcde\r\n", "18: -ERR a\\r\\nbcde");
    check("=8\r\ntxt:some\r\n", "14: =some");
}

#[test]
fn skips_and_counts_push_messages() {
    let text = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n|1\r\n+ttl\r\n:3\r\n+OK\r\n>1\r\n:1\r\n";
    let end = text.len() - 8;
    let bytewise: Vec<usize> = (0..text.len()).collect();
    for cuts in [&[][..], &bytewise] {
        assert_eq!(parse_in_pieces(text, cuts), (format!("{end}: +OK"), 2));
    }
    assert_eq!(parse(b">1\r\n:1\r\n"), "need 1");
}

#[test]
fn says_why_bytes_are_no_reply() {
    let check = |text: &str, reason: &str| {
        let got = parse(text.as_bytes());
        assert!(got.starts_with("malformed at ") && got.contains(reason), "{text:?}: {got}");
    };
    check("HTTP/1.1 400 Bad Request\r\n", "at 0: no reply of RESP begins so");
    check("VERSION 1.6.18\r\n", "no reply of RESP");
    check("\r\n\r\n", "no reply of RESP");
    check("+OK\n", "without a carriage return");
    check("\n\n\n", "without a carriage return");
    check(":\r\n", "a number was expected");
    check(":9223372036854775808\r\n", "a number was expected");
    check("$two\r\n", "the length of a value was expected");
    check("$-2\r\n", "the length of a value was expected");
    check("$1001\r\n", "a value of 1001 bytes is announced; at most 1000 are read");
    check("$99999999999999999999\r\n", "the length of a value was expected");
    check("$1\r\nabc\r\n", "value of 1 bytes does not end");
    check("*-2\r\n", "a number of elements was expected");
    check("*101\r\n", "over 100 elements");
    check("%51\r\n", "over 100 elements");
    check("*2\r\n*99\r\n", "at 4: over 100 elements");
    check("*1\r\n>1\r\n:1\r\n", "at 4: a push message or attributes stand within a reply");
    check("_x\r\n", "the end of the line was expected");
    check(",x\r\n", "a number was expected");
    check("#x\r\n", "t or f was expected");
    check("(1x\r\n", "a whole number was expected");
    check("=3\r\nabc\r\n", "a text with its format");
    check(&"*1\r\n".repeat(9), "more than 8 deep");
    check(&format!("+{}\r\n", "x".repeat(70_000)), "over 65536 bytes");
    check(&"+".repeat(70_000), "over 65536 bytes");
}

#[test]
fn says_how_much_is_missing() {
    let check = |text: &str, at_least: usize| {
        assert_eq!(parse(text.as_bytes()), format!("need {at_least}"), "{text:?}");
    };
    check("", 3);
    check("+O", 1);
    check("+OK\r", 1);
    check("$1000\r\n", 1000 + 2);
    check("$1000\r\nabc", 997 + 2);
    check("$1\r\na\r", 1);
    check("*2\r\n:1\r\n", 1);
}

#[test]
fn a_parser_reads_one_reply_after_the_other() {
    let (text, mut parser) = (b"$1\r\na\r\n+OK\r\n*1\r\n_\r\n:5\r\n", ReplyParser::default());
    let (mut rest, mut seen) = (&text[..], Vec::new());
    while !rest.is_empty() {
        let Parse::Done { consumed, reply } = parser.parse(rest) else { panic!("{rest:?}") };
        seen.push(words(reply));
        rest = &rest[consumed..];
    }
    assert_eq!(seen, ["'a'", "+OK", "[null]", "5"]);
}

/// Bytes that are often close to a reply.
fn reply_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "+OK\r\n",
            "-ERR x\r\n",
            ":12\r\n",
            "$3\r\nabc\r\n",
            "$-1\r\n",
            "*2\r\n",
            "*0\r\n",
            "%1\r\n",
            "~1\r\n",
            ">1\r\n",
            "|1\r\n",
            ",1.5\r\n",
            "#t\r\n",
            "(12\r\n",
            "!3\r\nabc\r\n",
            "=5\r\ntxt:a\r\n",
            "_\r\n",
            "\n",
            "$4\r\na\r",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// A reply, and its bytes.
fn any_reply() -> impl Strategy<Value = (Vec<u8>, String)> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|n| (format!(":{n}\r\n").into_bytes(), n.to_string())),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|value| {
            let bytes = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
            (bytes, format!("'{}'", value.escape_ascii()))
        }),
        "[a-zA-Z ]{0,12}".prop_map(|text| (format!("+{text}\r\n").into_bytes(), format!("+{text}"))),
        Just((b"_\r\n".to_vec(), "null".into())),
        any::<bool>()
            .prop_map(|is| (format!("#{}\r\n", if is { 't' } else { 'f' }).into_bytes(), is.to_string())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(|all| {
            let (bytes, texts): (Vec<Vec<u8>>, Vec<String>) = all.into_iter().unzip();
            let bytes = [format!("*{}\r\n", bytes.len()).into_bytes(), bytes.concat()].concat();
            (bytes, format!("[{}]", texts.join(" ")))
        })
    })
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_result(
        bytes in reply_like(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = parse_in_pieces(&bytes, &[]);
        prop_assert_eq!(&parse_in_pieces(&bytes, &cuts), &whole);
        let bytewise: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(parse_in_pieces(&bytes, &bytewise), whole);
    }

    #[test]
    fn nothing_is_done_before_the_promised_bytes_are_here(bytes in reply_like()) {
        for cut in 0..bytes.len() {
            if let Parse::NeedMore { at_least } = ReplyParser::with_limits(SMALL).parse(&bytes[..cut]) {
                for early in cut..(cut + at_least).min(bytes.len()) {
                    let parse = ReplyParser::with_limits(SMALL).parse(&bytes[..early]);
                    let need_more = matches!(parse, Parse::NeedMore { .. });
                    prop_assert!(need_more, "{cut} said {at_least}, yet {early}: {parse:?}");
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_answered_without_a_panic(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8),
    ) {
        let mut parser = ReplyParser::default();
        for piece in &pieces {
            parser.parse(piece);
        }
    }

    #[test]
    fn replies_round_trip((bytes, text) in any_reply()) {
        prop_assert_eq!(parse(&bytes), format!("{}: {text}", bytes.len()));
    }
}
