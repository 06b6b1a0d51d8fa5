/// Appends a field of a form to `out`, after earlier fields: `name=value` by `application/x-www-form-urlencoded`.
///
/// `is_first`: no field precedes. Cost: no allocation except by `out`.
/// Source: the URL standard's serializer, <https://url.spec.whatwg.org/#concept-urlencoded-serializer>.
pub fn append_field(name: &[u8], value: &[u8], is_first: bool, out: &mut Vec<u8>) {
    if !is_first {
        out.push(b'&');
    }
    append_encoded(name, out);
    out.push(b'=');
    append_encoded(value, out);
}

/// Appends bytes as a form has them: letters, digits and `*-._` as they are, a blank as `+`, all else as `%XX`.
pub fn append_encoded(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let mut out = Vec::new();
        append_field(b"csrf", b"a/b+c=", true, &mut out);
        append_field("körper".as_bytes(), b"<b>&a b~*-._\r\n\0", false, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "csrf=a%2Fb%2Bc%3D&k%C3%B6rper=%3Cb%3E%26a+b%7E*-._%0D%0A%00"
        );
    }
}
