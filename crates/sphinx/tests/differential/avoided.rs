//! Requests that run into a difference that is listed: each names its row of `DIFFERENCES.md`.

/// Which row a request would run into, if it can be seen from the request alone. `first`: nothing is sent before it that
/// is not answered yet.
pub(crate) fn row(request: &[u8], first: bool) -> Option<&'static str> {
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
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
    // Those take numbers of 64 bits.
    let counts = matches!(command, b"incr" | b"decr" | b"cas");
    if !counts && rest.iter().any(|word| wide(word)) {
        return Some("number-range");
    }
    if line.contains(&0) {
        return Some("zero-bytes");
    }
    let new = match command {
        b"mg" => has(b'C') || has(b'E') || has(b'x'),
        b"ms" => has(b'E') || has(b'x') || has(b's') || has(b'N'),
        b"md" | b"ma" => has(b'E') || has(b'x'),
        _ => false,
    };
    if !first && words.last().is_some_and(|word| word.starts_with(b"HTTP/")) {
        return Some("http-close");
    }
    match command {
        _ if new => Some("newer-flags"),
        b"mg" | b"ma" if has(b'b') && has(b'N') => Some("binary-keys"),
        b"ms" if has(b'b') && mode(&[b"MA", b"MP"]) => Some("binary-keys"),
        // Where the number stays as it is, it gets no longer.
        b"ma" if has(b'T') && !mode(&[b"D0"]) => Some("ma-ttl"),
        b"gat" | b"gats" if long => Some("gat-long-key"),
        b"get" | b"gets" | b"bget" if long && !first => Some("get-long-key"),
        _ => None,
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
    check("mg a C5 v\r\n", false, Some("newer-flags"));
    check("ms a 5 s\r\nhello\r\n", false, Some("newer-flags"));
    check("ms a 5 T0\r\nhello\r\n", false, None);
    check("md a x\r\n", false, Some("newer-flags"));
    check("mg AQID b N0\r\n", false, Some("binary-keys"));
    check("ms AQID 1 b MA\r\n", false, Some("binary-keys"));
    check("ma a T100 v\r\n", false, Some("ma-ttl"));
    check("ma a T100 D0 v\r\n", false, None);
    check(&format!("gat 0 {}\r\n", "k".repeat(251)), true, Some("gat-long-key"));
    check(&format!("get {}\r\n", "k".repeat(251)), false, Some("get-long-key"));
    check(&format!("get {}\r\n", "k".repeat(251)), true, None);
    check(&format!("version {}\r\n", "k".repeat(3000)), true, Some("long-lines"));
    check("set a 4294967296 0 1\r\nx\r\n", false, Some("number-range"));
    check("set a 0 -4294967296 1\r\nx\r\n", false, Some("number-range"));
    check("foo HTTP/1.1\r\n", false, Some("http-close"));
    check("foo HTTP/1.1\r\n", true, None);
    check("incr a 4294967296\r\n", false, None);
    check("get a\0b\r\n", true, Some("zero-bytes"));
    check("", true, None);
}
