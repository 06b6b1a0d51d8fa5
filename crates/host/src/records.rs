//! Records of published machines, as `taillight host --json` would have printed them there.

/// All records: a name, and the JSON of a [`Host`](crate::Host).
///
/// This crate reads them from the trees that its tests plant. Source: IISWC'17, Table I and §III-B.
pub const ALL: [(&str, &str); 2] =
    [("xeon", include_str!("../records/xeon.json")), ("thunderx", include_str!("../records/thunderx.json"))];
