use crate::digits::{append_i64, append_u64};
use crate::{Reply, StoreVerb};

/// Appends `get <key>`; answered as [`Expect::Values`](super::Expect::Values) with one key.
///
/// Bounds: no request writer checks its key; the server refuses keys that are empty, have blanks or are over
/// [`KEY_MAX`](crate::limits::KEY_MAX).
#[inline]
pub fn get(out: &mut Vec<u8>, key: &[u8]) {
    line(out, &[b"get ", key]);
}

/// Appends `gets <key>`, whose answer carries the item's unique number.
#[inline]
pub fn gets(out: &mut Vec<u8>, key: &[u8]) {
    line(out, &[b"gets ", key]);
}

/// Appends `get` with many keys; returns their number, for [`Expect::Values`](super::Expect::Values).
pub fn get_many<'k>(out: &mut Vec<u8>, keys: impl IntoIterator<Item = &'k [u8]>) -> u32 {
    out.extend_from_slice(b"get");
    let mut count = 0;
    for key in keys {
        out.push(b' ');
        out.extend_from_slice(key);
        count += 1;
    }
    out.extend_from_slice(b"\r\n");
    count
}

/// Appends `gat <exptime> <key>`: a `get` that also sets the expiry time.
///
/// Units: `exptime` as in [`set`].
pub fn gat(out: &mut Vec<u8>, exptime: i32, key: &[u8]) {
    out.extend_from_slice(b"gat ");
    append_i64(out, i64::from(exptime));
    line(out, &[b" ", key]);
}

/// Appends a `set` that is answered.
///
/// Units: `exptime` in seconds from now, 0 for never; over 30 days it is a Unix time, below 0 it is past.
#[inline]
pub fn set(out: &mut Vec<u8>, key: &[u8], flags: u32, exptime: i32, value: &[u8]) {
    store(out, StoreVerb::Set, key, flags, exptime, value, Reply::Wanted);
}

/// Appends a storage command with its value; answered as [`Expect::Stored`](super::Expect::Stored).
#[inline]
pub fn store(
    out: &mut Vec<u8>,
    verb: StoreVerb,
    key: &[u8],
    flags: u32,
    exptime: i32,
    value: &[u8],
    reply: Reply,
) {
    // 64 bytes hold the name, four numbers, `noreply` and the line ends in all but extreme cases.
    out.reserve(key.len() + value.len() + 64);
    store_header(out, verb, key, flags, exptime, value.len(), reply);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends the line of a storage command, for a value of `length` bytes that is written in place after it.
#[inline]
pub fn store_header(
    out: &mut Vec<u8>,
    verb: StoreVerb,
    key: &[u8],
    flags: u32,
    exptime: i32,
    length: usize,
    reply: Reply,
) {
    let name: &[u8] = match verb {
        StoreVerb::Set => b"set ",
        StoreVerb::Add => b"add ",
        StoreVerb::Replace => b"replace ",
        StoreVerb::Append => b"append ",
        StoreVerb::Prepend => b"prepend ",
        StoreVerb::Cas(_) => b"cas ",
    };
    out.extend_from_slice(name);
    out.extend_from_slice(key);
    out.push(b' ');
    append_u64(out, u64::from(flags));
    out.push(b' ');
    append_i64(out, i64::from(exptime));
    out.push(b' ');
    append_u64(out, length as u64);
    if let StoreVerb::Cas(unique) = verb {
        out.push(b' ');
        append_u64(out, unique);
    }
    end(out, reply);
}

/// Appends `delete <key>`; answered as [`Expect::Deleted`](super::Expect::Deleted).
pub fn delete(out: &mut Vec<u8>, key: &[u8], reply: Reply) {
    out.extend_from_slice(b"delete ");
    out.extend_from_slice(key);
    end(out, reply);
}

/// Appends `incr <key> <by>`; answered as [`Expect::Counter`](super::Expect::Counter).
pub fn incr(out: &mut Vec<u8>, key: &[u8], by: u64, reply: Reply) {
    key_line(out, b"incr ", key);
    append_u64(out, by);
    end(out, reply);
}

/// Appends `decr <key> <by>`; answered as [`Expect::Counter`](super::Expect::Counter).
pub fn decr(out: &mut Vec<u8>, key: &[u8], by: u64, reply: Reply) {
    key_line(out, b"decr ", key);
    append_u64(out, by);
    end(out, reply);
}

/// Appends `touch <key> <exptime>`; answered as [`Expect::Touched`](super::Expect::Touched).
pub fn touch(out: &mut Vec<u8>, key: &[u8], exptime: i32, reply: Reply) {
    key_line(out, b"touch ", key);
    append_i64(out, i64::from(exptime));
    end(out, reply);
}

/// Appends `version`; answered as [`Expect::Version`](super::Expect::Version).
pub fn version(out: &mut Vec<u8>) {
    line(out, &[b"version"]);
}

/// Appends `stats`, with the name of a group of them if `group` is not empty.
pub fn stats(out: &mut Vec<u8>, group: &[u8]) {
    line(out, &[b"stats", if group.is_empty() { b"" } else { b" " }, group]);
}

#[inline]
fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

fn key_line(out: &mut Vec<u8>, name: &[u8], key: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(key);
    out.push(b' ');
}

#[inline]
fn end(out: &mut Vec<u8>, reply: Reply) {
    out.extend_from_slice(match reply {
        Reply::Wanted => b"\r\n",
        Reply::Suppressed => b" noreply\r\n",
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_bytes_of_the_protocol() {
        let check = |write: &dyn Fn(&mut Vec<u8>), expect: &str| {
            let mut out = b"before ".to_vec();
            write(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("before {expect}"));
        };
        check(&|o| get(o, b"k"), "get k\r\n");
        check(&|o| gets(o, b"k"), "gets k\r\n");
        check(&|o| assert_eq!(get_many(o, [&b"a"[..], b"b", b"c"]), 3), "get a b c\r\n");
        check(&|o| gat(o, 60, b"k"), "gat 60 k\r\n");
        check(&|o| set(o, b"k", 7, 0, b"v\r\nw"), "set k 7 0 4\r\nv\r\nw\r\n");
        check(
            &|o| store(o, StoreVerb::Add, b"k", u32::MAX, -1, b"", Reply::Suppressed),
            "add k 4294967295 -1 0 noreply\r\n\r\n",
        );
        check(
            &|o| store(o, StoreVerb::Cas(9), b"k", 0, i32::MIN, b"v", Reply::Suppressed),
            "cas k 0 -2147483648 1 9 noreply\r\nv\r\n",
        );
        check(&|o| delete(o, b"k", Reply::Wanted), "delete k\r\n");
        check(&|o| incr(o, b"k", u64::MAX, Reply::Wanted), "incr k 18446744073709551615\r\n");
        check(&|o| decr(o, b"k", 0, Reply::Suppressed), "decr k 0 noreply\r\n");
        check(&|o| touch(o, b"k", -5, Reply::Wanted), "touch k -5\r\n");
        check(&|o| version(o), "version\r\n");
        check(&|o| stats(o, b""), "stats\r\n");
        check(&|o| stats(o, b"settings"), "stats settings\r\n");
    }
}
