//! Requests that run into a difference that is listed: each names its row of `DIFFERENCES.md`.

/// The row that a request would run into, if the request alone shows it. `first`: all earlier requests are answered.
pub(crate) fn row(request: &[u8], first: bool) -> Option<&'static str> {
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).collect();
    let (&command, rest) = words.split_first()?;
    let flags = || rest.iter().skip(if command == b"ms" { 2 } else { 1 });
    let has = |letter: u8| flags().any(|flag| flag[0] == letter);
    let mode = |modes: &[&[u8]]| flags().any(|flag| modes.contains(flag));
    let long = rest.iter().any(|word| word.len() > 250);
    if line.len() > 2048 {
        return Some("long-lines");
    }
    let wide = |word: &[u8]| {
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<i128>().ok());
        number.is_some_and(|number| i32::try_from(number).is_err())
    };
    // These commands take numbers of 64 bits.
    let counts = matches!(command, b"incr" | b"decr" | b"cas");
    if !counts && rest.iter().any(|word| wide(word)) {
        return Some("number-range");
    }
    if line.contains(&0) {
        return Some("zero-bytes");
    }
    if !first && words.last().is_some_and(|word| word.starts_with(b"HTTP/")) {
        return Some("http-close");
    }
    match command {
        b"mg" | b"ma" if has(b'b') && has(b'N') => Some("binary-keys"),
        b"ms" if has(b'b') && mode(&[b"MA", b"MP"]) => Some("binary-keys"),
        // Where the number stays as it is, it gets no longer.
        b"ma" if has(b'T') && !mode(&[b"D0"]) => Some("ma-ttl"),
        b"me" if rest.len() > 1 => Some("me-base64"),
        b"gat" | b"gats" if long => Some("gat-long-key"),
        b"get" | b"gets" if long => Some("get-long-key"),
        b"get" | b"gets" | b"gat" | b"gats" => None,
        _ if words.len() > 23 && rest.last() == Some(&&b"noreply"[..]) => Some("many-words"),
        _ => None,
    }
}

/// Whether a request is a flush that takes effect later: until then memcached shows the items of earlier flushes again,
/// unless it has removed them by then (`flush-again`).
pub(crate) fn is_late_flush(request: &[u8]) -> bool {
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let is_flush = words.next() == Some("flush_all");
    is_flush && words.next().is_some_and(|delay| delay.parse::<i64>().is_ok_and(|delay| delay > 0))
}

/// Whether memcached 1.6.18 answers a request differently from 1.6.45, or may: it does for every line that is not
/// exactly in the protocol's form, and for flags added later. See *Changed in memcached* in `DIFFERENCES.md`.
pub(crate) fn has_changed(request: &[u8]) -> bool {
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let value = request.get(line.len() + 1..).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() < 2 {
        return line == b"mn";
    }
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).collect();
    if line.starts_with(b" ") || line.contains(&b'\r') || request.starts_with(b"mn\n") {
        return true;
    }
    let Some((&command, mut rest)) = words.split_first() else { return false };
    let silent = matches!(rest, [_, .., b"noreply"]);
    if silent
        && !matches!(command, b"get" | b"gets" | b"gat" | b"gats" | b"mg" | b"ms" | b"md" | b"ma" | b"me")
    {
        rest = &rest[..rest.len() - 1];
    }
    let digits = |word: &[u8]| !word.is_empty() && word.len() < 20 && word.iter().all(u8::is_ascii_digit);
    let number = |word: &[u8]| digits(word.strip_prefix(b"-").unwrap_or(word));
    // The rest of a value would be another request.
    let fits = |length: &[u8]| {
        let length = std::str::from_utf8(length).ok().and_then(|text| text.parse::<usize>().ok());
        value.strip_suffix(b"\r\n").is_some_and(|value| Some(value.len()) == length)
    };
    let key = |word: &[u8]| word.len() <= 250 && word != b"noreply";
    let is_as_written = match (command, rest) {
        (b"get" | b"gets", keys) => !keys.is_empty(),
        (b"gat" | b"gats", [time, keys @ ..]) => number(time) && !keys.is_empty(),
        (b"set" | b"add" | b"replace" | b"append" | b"prepend", [name, flags, time, length]) => {
            key(name) && digits(flags) && number(time) && fits(length)
        }
        (b"cas", [name, flags, time, length, unique]) => {
            key(name) && digits(flags) && number(time) && fits(length) && digits(unique)
        }
        (b"delete", [name]) => key(name),
        (b"incr" | b"decr", [name, delta]) => key(name) && (digits(delta) || *delta == b"x"),
        (b"touch", [name, time]) => key(name) && (number(time) || *time == b"x"),
        (b"flush_all", []) => true,
        (b"flush_all", [delay]) => number(delay) || *delay == b"noreply",
        (b"verbosity" | b"cache_memlimit", [level]) => digits(level),
        (b"me", [name]) => key(name),
        (b"mn" | b"quit", []) => true,
        (b"md", [name, flags @ ..]) if !is_base64(name) && flags.contains(&&b"b"[..]) => false,
        (b"mg" | b"md" | b"ma", [name, flags @ ..]) => key(name) && are_plain(command, flags),
        (b"ms", [name, length, flags @ ..]) => key(name) && fits(length) && are_plain(command, flags),
        (b"foo" | b"GET" | b"mx", _) if words.last() == Some(&&b"noreply"[..]) => false,
        (b"foo" | b"GET" | b"mx", _) => !rest.iter().any(|word| word.starts_with(b"HTTP/")),
        _ => false,
    };
    !is_as_written
}

/// Whether a key may be one in base 64.
fn is_base64(key: &[u8]) -> bool {
    key.len().is_multiple_of(4)
        && key.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
}

/// Whether both versions take these flags for the same.
fn are_plain(command: &[u8], flags: &[&[u8]]) -> bool {
    let has = |letter: u8| flags.iter().any(|flag| flag[0] == letter);
    let known = |flag: &&[u8]| {
        let number = |text: &[u8]| text.len() < 20 && text.parse_number();
        match flag {
            [b'M', mode] => b"EAPRSID+-".contains(mode) || command == b"mg",
            [b'M', ..] => false,
            [b'T' | b'N' | b'R' | b'C' | b'J' | b'D' | b'F', rest @ ..] => number(rest),
            [b'O', token @ ..] => token.len() < 32 || command != b"ms",
            [b'L' | b'P', ..] => true,
            [letter, ..] => b"bcfhIklqstuv".contains(letter),
            [] => false,
        }
    };
    let twice = flags.iter().enumerate().any(|(i, flag)| flags[..i].iter().any(|other| other[0] == flag[0]));
    let later = match command {
        b"mg" => has(b'C'),
        b"ms" => has(b's') || has(b'N'),
        // 1.6.18 is not silent about a number that it has made.
        b"ma" => has(b'q') && has(b'N'),
        _ => false,
    };
    flags.iter().all(known) && !twice && !later && flags.len() < 16
}

trait ParseNumber {
    fn parse_number(&self) -> bool;
}

impl ParseNumber for [u8] {
    /// Whether it is a number as everybody writes it.
    fn parse_number(&self) -> bool {
        std::str::from_utf8(self).is_ok_and(|text| !text.starts_with('+') && text.parse::<i128>().is_ok())
    }
}

#[test]
fn what_has_changed_is_known() {
    let check =
        |request: &str, expect: bool| assert_eq!(has_changed(request.as_bytes()), expect, "{request}");
    for request in
        ["get a b\r\n", "set a 0 -1 1 noreply\r\nx\r\n", "mg a v T100 MI\r\n", "foo bar\r\n", "\r\n"]
    {
        check(request, false);
    }
    for request in [
        " get a\r\n",
        "get\r\n",
        "bget a\r\n",
        "set a x 0 1\r\nx\r\n",
        "set a 0 0 1 2 3\r\nx\r\n",
        "incr a +1\r\n",
        "delete a 0\r\n",
        "mg a Y\r\n",
        "set a 0 0 1\r\nxy\r\n",
        "ms a 1 MEE\r\nx\r\n",
        "mg a C5 v\r\n",
        "ma a N0 q\r\n",
        "shutdown\r\n",
        "mn\n",
        "md HTTP/1.1 b q\r\n",
        "foo HTTP/1.1\r\n",
    ] {
        check(request, true);
    }
}

#[test]
fn every_row_is_in_the_table_and_nothing_else_is_avoided() {
    let table = include_str!("../../DIFFERENCES.md");
    let check = |request: &str, first: bool, expect: Option<&str>| {
        assert_eq!(row(request.as_bytes(), first), expect, "{request}");
        if let Some(row) = expect {
            assert!(table.contains(&format!("| {row} |")), "{row} is not listed");
        }
    };
    check("mg a v\r\n", false, None);
    check("mg a C5 v\r\n", false, None);
    check("me AQID b\r\n", false, Some("me-base64"));
    check("ms a 5 T0\r\nhello\r\n", false, None);
    check("md a x\r\n", false, None);
    check("mg AQID b N0\r\n", false, Some("binary-keys"));
    check("ms AQID 1 b MA\r\n", false, Some("binary-keys"));
    check("ma a T100 v\r\n", false, Some("ma-ttl"));
    check("ma a T100 D0 v\r\n", false, None);
    check(&format!("gat 0 {}\r\n", "k".repeat(251)), true, Some("gat-long-key"));
    check(&format!("get {}\r\n", "k".repeat(251)), false, Some("get-long-key"));
    check(&format!("get {}\r\n", "k".repeat(251)), true, Some("get-long-key"));
    check(&format!("get {}\r\r\n", "k".repeat(250)), true, Some("get-long-key"));
    check(&format!("version {}\r\n", "k".repeat(3000)), true, Some("long-lines"));
    check("set a 4294967296 0 1\r\nx\r\n", false, Some("number-range"));
    check("set a 0 -4294967296 1\r\nx\r\n", false, Some("number-range"));
    check("foo HTTP/1.1\r\n", false, Some("http-close"));
    check("foo HTTP/1.1\r\n", true, None);
    check("incr a 4294967296\r\n", false, None);
    check("get a\0b\r\n", true, Some("zero-bytes"));
    check("", true, None);
    assert!(table.contains("| flush-again |"));
    let check_flush =
        |request: &str, expect| assert_eq!(is_late_flush(request.as_bytes()), expect, "{request}");
    for late in ["flush_all 007\r\n", "flush_all 99 noreply\n", " flush_all +7\r\n"] {
        check_flush(late, true);
    }
    for other in ["flush_all\r\n", "flush_all 0\r\n", "flush_all -1 noreply\r\n", "get flush_all 7\r\n", ""] {
        check_flush(other, false);
    }
}
