use crate::digits::append_u64;
use crate::meta_flag::MetaFlag;

/// Appends `mg <key> <flags>*`; answered as [`Expect::Meta`](super::Expect::Meta).
///
/// Bounds: unchecked, as for [`get`](super::get).
#[inline]
pub fn meta_get(out: &mut Vec<u8>, key: &[u8], flags: &[MetaFlag<'_>]) {
    command(out, b"mg ", key, flags);
}

/// Appends `mg <key> v k q <flags>*`, one of several before a [`meta_no_op`].
#[inline]
pub fn meta_get_quietly(out: &mut Vec<u8>, key: &[u8], flags: &[MetaFlag<'_>]) {
    words(out, b"mg ", key);
    out.extend_from_slice(b" v k q");
    end(out, flags);
}

/// Appends `ms <key> <length> <flags>*` and the value; answered as [`Expect::Meta`](super::Expect::Meta).
#[inline]
pub fn meta_set(out: &mut Vec<u8>, key: &[u8], flags: &[MetaFlag<'_>], value: &[u8]) {
    // 64 bytes hold the name, the length, the line ends and the flags that are usual.
    out.reserve(key.len() + value.len() + 64);
    meta_set_header(out, key, flags, value.len());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends the line before a value of `length` bytes, which the caller writes in place after it.
#[inline]
pub fn meta_set_header(out: &mut Vec<u8>, key: &[u8], flags: &[MetaFlag<'_>], length: usize) {
    words(out, b"ms ", key);
    out.push(b' ');
    append_u64(out, length as u64);
    end(out, flags);
}

/// Appends `md <key> <flags>*`; answered as [`Expect::Meta`](super::Expect::Meta).
pub fn meta_delete(out: &mut Vec<u8>, key: &[u8], flags: &[MetaFlag<'_>]) {
    command(out, b"md ", key, flags);
}

/// Appends `ma <key> <flags>*`; answered as [`Expect::Meta`](super::Expect::Meta), with the number as the
/// value if [`MetaFlag::ReturnValue`] is given.
pub fn meta_count(out: &mut Vec<u8>, key: &[u8], flags: &[MetaFlag<'_>]) {
    command(out, b"ma ", key, flags);
}

/// Appends `mn`, whose answer shows that everything before it is answered.
pub fn meta_no_op(out: &mut Vec<u8>) {
    out.extend_from_slice(b"mn\r\n");
}

#[inline]
fn command(out: &mut Vec<u8>, name: &[u8], key: &[u8], flags: &[MetaFlag<'_>]) {
    words(out, name, key);
    end(out, flags);
}

#[inline]
fn words(out: &mut Vec<u8>, name: &[u8], key: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(key);
}

#[inline]
fn end(out: &mut Vec<u8>, flags: &[MetaFlag<'_>]) {
    flags.iter().for_each(|flag| flag.append(out));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::MetaMode;
    use MetaFlag as F;

    #[test]
    fn writes_each_command() {
        let check = |write: &dyn Fn(&mut Vec<u8>), expect: &str| {
            let mut out = Vec::new();
            write(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(&|o| meta_get(o, b"k", &[]), "mg k\r\n");
        check(&|o| meta_get(o, b"k", &[F::ReturnValue, F::ReturnCas]), "mg k v c\r\n");
        check(&|o| meta_get(o, b"k", &[F::Ttl(-1), F::Opaque(b"x1")]), "mg k T-1 Ox1\r\n");
        check(&|o| meta_get_quietly(o, b"a", &[]), "mg a v k q\r\n");
        check(&|o| meta_set(o, b"k", &[], b"hi"), "ms k 2\r\nhi\r\n");
        check(&|o| meta_set(o, b"k", &[F::Ttl(30), F::Flags(7)], b""), "ms k 0 T30 F7\r\n\r\n");
        check(
            &|o| meta_set(o, b"k", &[F::CompareCas(u64::MAX)], b"v"),
            "ms k 1 C18446744073709551615\r\nv\r\n",
        );
        check(&|o| meta_delete(o, b"k", &[F::Quiet, F::Invalidate, F::RemoveValue]), "md k q I x\r\n");
        check(&|o| meta_count(o, b"k", &[F::Delta(5), F::ReturnValue]), "ma k D5 v\r\n");
        check(&|o| meta_count(o, b"k", &[F::Vivify(0), F::InitialValue(9)]), "ma k N0 J9\r\n");
        check(&|o| meta_no_op(o), "mn\r\n");
    }

    #[test]
    fn each_flag_has_the_letter_of_the_protocol() {
        let check = |flag: MetaFlag<'_>, expect: &str| {
            let mut out = Vec::new();
            flag.append(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!(" {expect}"));
        };
        check(F::Base64Key, "b");
        check(F::ReturnFlags, "f");
        check(F::ReturnHitBefore, "h");
        check(F::ReturnKey, "k");
        check(F::ReturnLastAccess, "l");
        check(F::ReturnSize, "s");
        check(F::ReturnTtl, "t");
        check(F::NoBump, "u");
        check(F::NewCas(3), "E3");
        check(F::Recache(30), "R30");
        for (mode, expect) in [
            (MetaMode::Add, "ME"),
            (MetaMode::Append, "MA"),
            (MetaMode::Prepend, "MP"),
            (MetaMode::Replace, "MR"),
            (MetaMode::Set, "MS"),
            (MetaMode::Increment, "MI"),
            (MetaMode::Decrement, "MD"),
        ] {
            check(F::Mode(mode), expect);
        }
    }
}
