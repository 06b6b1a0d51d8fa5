//! CacheLib's traces of key-value caches: CSV whose header names the columns, such as `key,op,size,op_count,key_size`.
//!
//! Source: CacheLib's documentation of its traces, *Evaluating SSD hardware for Facebook workloads*.

use crate::formats::{KEY_MAX, Line, Seen, field, key, seconds, size};
use crate::{Action, Op, Record};

/// Where the columns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    key: usize,
    op: usize,
    size: usize,
    time: Option<usize>,
    count: Option<usize>,
    key_size: Option<usize>,
    ttl: Option<usize>,
}

impl Columns {
    fn of(header: &[u8]) -> Result<Columns, String> {
        let at = |name: &str| {
            let mut columns = header.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            columns.position(|column| column.eq_ignore_ascii_case(name.as_bytes()))
        };
        let needed = |name: &str| {
            at(name).ok_or_else(|| format!("the first line must name the columns, and names no '{name}'"))
        };
        Ok(Columns {
            key: needed("key")?,
            op: needed("op")?,
            size: needed("size")?,
            time: at("op_time"),
            count: at("op_count"),
            key_size: at("key_size"),
            ttl: at("ttl"),
        })
    }
}

pub(super) fn line(
    columns: &mut Option<Columns>,
    line: &[u8],
    emit: &mut dyn FnMut(Seen),
) -> Result<Line, String> {
    let Some(at) = columns else {
        *columns = Some(Columns::of(line)?);
        return Ok(Line::Nothing);
    };
    let column = |at: usize, name: &str| {
        let found = line.split(|byte| *byte == b',').nth(at).map(<[u8]>::trim_ascii);
        found.ok_or_else(|| format!("it has no column {}, the {name}", at + 1))
    };
    let optional = |at: Option<usize>, name: &str| at.map(|at| column(at, name)).transpose();
    let number = |text: Option<&[u8]>, name: &str, most: u32, none: u32| match text {
        None | Some(b"") => Ok(none),
        Some(text) => field(text, name, most),
    };
    let (key, length) = key(column(at.key, "key")?)?;
    let key_size =
        number(optional(at.key_size, "key size")?, "key size", KEY_MAX as u32, length.into())? as u8;
    let ttl_s = number(optional(at.ttl, "TTL")?, "TTL", u32::MAX, 0)?.min(Record::TTL_MAX);
    let times = number(optional(at.count, "op_count")?, "op_count", 1_000_000, 1)?;
    let op = op(column(at.op, "operation")?)?;
    let size = size(column(at.size, "size")?)?;
    let at_ns = optional(at.time, "op_time")?.map(seconds).transpose()?;
    let size = (size > 0 || op.action() == Action::Set).then_some(size);
    emit(Seen { at_ns, key, key_size, size, ttl_s, op, times });
    Ok(Line::Requests)
}

/// An operation: a lease is a right to fill after a miss, which changes nothing for the items.
fn op(name: &[u8]) -> Result<Op, String> {
    let end = name.len().saturating_sub(b"_LEASE".len());
    let (start, rest) = name.split_at(end);
    let name = if rest.eq_ignore_ascii_case(b"_LEASE") { start } else { name };
    Op::of_text(name).ok_or_else(|| {
        "its operation is none of GET, GET_LEASE, SET, SET_LEASE, DELETE and memcached's".into()
    })
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{read, refuses};
    use crate::{Format, Op};

    #[test]
    fn reads_the_columns_that_its_header_names() {
        type Shape = (Option<u64>, u8, Option<u32>, u32, Op, u32);
        let check = |text: &str, expect: &[Shape]| {
            let seen = read(Format::Kvcache, text).unwrap();
            let shape: Vec<_> = seen
                .iter()
                .map(|one| (one.at_ns, one.key_size, one.size, one.ttl_s, one.op, one.times))
                .collect();
            assert_eq!(shape, expect, "{text}");
        };
        check(
            "key,op,size,op_count,key_size\nabc,GET,0,3,40\nabc,SET_LEASE,9,1,40\n1,DELETE,0,1,5",
            &[
                (None, 40, None, 0, Op::Get, 3),
                (None, 40, Some(9), 0, Op::Set, 1),
                (None, 5, None, 0, Op::Delete, 1),
            ],
        );
        check(
            "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n7,k,11,GET_LEASE,2,80,1,60\n8,k,11,GET,1,80,,",
            &[
                (Some(7_000_000_000), 11, Some(80), 60, Op::Get, 2),
                (Some(8_000_000_000), 11, Some(80), 0, Op::Get, 1),
            ],
        );
        check("key,op,size\nabc,get,1", &[(None, 3, Some(1), 0, Op::Get, 1)]);
    }

    #[test]
    fn refuses_wrong_values() {
        let check = |text: &str, expect: &str| refuses(Format::Kvcache, text, expect);
        check("key,size\n", "names no 'op'");
        check("key,op,size\nabc,GET", "it has no column 3");
        check("key,op,size\nabc,TOUCH,1", "its operation");
        check("key,op,size,op_count\nabc,GET,1,1000001", "its op_count");
        check("key,op,size,key_size\nabc,GET,1,999", "its key size");
    }
}
