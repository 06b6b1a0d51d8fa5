//! What a web server sends on a connection without a request.

use openloop::Unasked;

/// Tells the message with which a server ends an idle connection from the rest of an earlier body and from an answer.
///
/// Source: RFC 9110 §15.5.9: a server may send 408 before it closes an idle connection, as HAProxy and Node.js do. Some frameworks
/// send the end of chunks after an answer without a body (204).
pub(crate) fn of_http(bytes: &[u8]) -> Unasked {
    let Some(line) = bytes.strip_prefix(b"HTTP/1.") else { return Unasked::Noise };
    let status = line.get(2..5).unwrap_or_default();
    let head = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.trim_ascii().is_empty());
    let closes = |line: &[u8]| {
        let line = line.trim_ascii().to_ascii_lowercase();
        line.strip_prefix(b"connection:").is_some_and(|value| value.trim_ascii() == b"close")
    };
    let is_refusal = matches!(status.first(), Some(b'4' | b'5'));
    if status == b"408" || is_refusal && head.into_iter().any(closes) {
        Unasked::Farewell
    } else {
        Unasked::Answer
    }
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
        check("HTTP/1.1 400 Bad Request\r\n\r\nConnection: close\r\n", Unasked::Answer);
        check("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", Unasked::Answer);
        check("HTTP/1.1 ", Unasked::Answer);
        check("0\r\n\r\n", Unasked::Noise);
        check("\r\n", Unasked::Noise);
        check("rest of a body", Unasked::Noise);
    }
}
