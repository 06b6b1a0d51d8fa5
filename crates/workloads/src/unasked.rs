//! The bytes that a web server sends on a connection without a request.

use openloop::Unasked;

/// Tells the message with which a server ends an idle connection from the rest of an earlier body and from an answer.
///
/// Source: RFC 9110 §15.5.9: a server may send 408 before it closes an idle connection, as HAProxy and Node.js do. Some frameworks
/// send the end of chunks after an answer without a body (204).
pub(crate) fn of_http(bytes: &[u8]) -> Unasked {
    let Some(line) = bytes.strip_prefix(b"HTTP/1.") else { return Unasked::Noise };
    let status = line.get(2..5.min(line.len())).unwrap_or_default();
    if !matches!(status.first(), Some(b'4' | b'5')) {
        return Unasked::Answer;
    }
    let mut lines = bytes.split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_ascii_lowercase());
    let head: Vec<Vec<u8>> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    // The rest of the head may come later, and does not belong to a request either.
    let is_whole = lines.next().is_some();
    let connection = head.iter().filter_map(|line| line.strip_prefix(b"connection:"));
    let says = |word: &[u8]| {
        connection
            .clone()
            .flat_map(|list| list.split(|byte| *byte == b','))
            .any(|one| one.trim_ascii() == word)
    };
    let ends = says(b"close") || line.starts_with(b"0") && !says(b"keep-alive");
    if status == b"408" || ends || !is_whole { Unasked::Farewell } else { Unasked::Answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_before_a_close_is_a_farewell() {
        let check = |bytes: &str, expect: Unasked| assert_eq!(of_http(bytes.as_bytes()), expect, "{bytes:?}");
        check("HTTP/1.1 408 Request Timeout\r\n", Unasked::Farewell);
        check("HTTP/1.0 408 Request Time-out\r\nConnection: close\r\n\r\n<html>", Unasked::Farewell);
        check("HTTP/1.1 408", Unasked::Farewell);
        check("HTTP/1.1 503 Busy\r\nX: y\r\nconnection:  Close\r\n\r\n", Unasked::Farewell);
        check("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", Unasked::Farewell);
        check("HTTP/1.1 400 Bad Request\r\nConnection: close, TE\r\n\r\n", Unasked::Farewell);
        // HTTP/1.0 ends connections unless it says otherwise.
        check("HTTP/1.0 503 Busy\r\nContent-Type: text/html\r\n\r\n<html>", Unasked::Farewell);
        check("HTTP/1.0 503 Busy\r\nConnection: keep-alive\r\n\r\n", Unasked::Answer);
        // In pieces.
        check("HTTP/1.1 40", Unasked::Farewell);
        check("HTTP/1.1 400 Bad Request\r\nServer: x\r\n", Unasked::Farewell);
        check("HTTP/1.1 400 Bad Request\r\n\r\nConnection: close\r\n", Unasked::Answer);
        check("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", Unasked::Answer);
        check("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", Unasked::Answer);
        check("HTTP/1.1 ", Unasked::Answer);
        check("0\r\n\r\n", Unasked::Noise);
        check("\r\n", Unasked::Noise);
        check("rest of a body", Unasked::Noise);
    }
}
