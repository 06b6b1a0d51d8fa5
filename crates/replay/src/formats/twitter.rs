//! Twitter's cache traces: `time,key,key size,value size,client,operation,TTL`, without a header.
//!
//! Source: the format's description with the traces of Yang, Yue and Rashmi, *A large scale analysis of hundreds of
//! in-memory cache clusters at Twitter*, OSDI 2020.

use crate::formats::{KEY_MAX, Line, Seen, field, key, seconds, size};
use crate::{Action, Op, Record};

pub(super) fn line(line: &[u8], emit: &mut dyn FnMut(Seen)) -> Result<Line, String> {
    let mut fields = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let mut next = || {
        fields.next().ok_or("it has fewer than 7 columns: time,key,key size,value size,client,operation,TTL")
    };
    let (time, text, key_size, value, _client, op, ttl) =
        (next()?, next()?, next()?, next()?, next()?, next()?, next()?);
    let (key, _) = key(text)?;
    // Keys are anonymised: the column has the original length.
    let key_size = field(key_size, "key size", KEY_MAX as u32)? as u8;
    let op = Op::of_text(op).ok_or("its operation is not one of memcached's")?;
    let size = size(value)?;
    emit(Seen {
        at_ns: Some(seconds(time)?),
        key,
        key_size,
        // The value of a get that missed has no size.
        size: (size > 0 || op.action() == Action::Set).then_some(size),
        ttl_s: field(ttl, "TTL", u32::MAX)?.min(Record::TTL_MAX),
        op,
        times: 1,
    });
    Ok(Line::Requests)
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{read, refuses};
    use crate::{Format, Op};

    #[test]
    fn reads_requests() {
        let seen =
            read(Format::Twitter, "5,abc,40,0,1,get,0\n5,abc,40,120,1,cas,600,more\n6,abd,7,3,2,gets,0")
                .unwrap();
        let shape: Vec<_> = seen
            .iter()
            .map(|one| (one.at_ns.unwrap() / 1_000_000_000, one.key_size, one.size, one.ttl_s, one.op))
            .collect();
        let expect =
            [(5, 40, None, 0, Op::Get), (5, 40, Some(120), 600, Op::Cas), (6, 7, Some(3), 0, Op::Get)];
        assert_eq!(shape, expect);
        assert_eq!(seen[0].key, seen[1].key);
        assert_ne!(seen[0].key, seen[2].key);
    }

    #[test]
    fn refuses_wrong_values() {
        let check = |text: &str, expect: &str| refuses(Format::Twitter, text, expect);
        check("5,abc,40,0,1,get", "fewer than 7 columns");
        check("x,abc,40,0,1,get,0", "its time");
        check("5,abc,251,0,1,get,0", "its key size is not a number from 0 to 250");
        check("5,abc,40,-1,1,get,0", "its value size");
        check("5,abc,40,2000000000,1,get,0", "its value size");
        check("5,abc,40,0,1,flush,0", "its operation");
        check("5,abc,40,0,1,get,soon", "its TTL");
        check("5,,40,0,1,get,0", "its key is empty");
    }
}
