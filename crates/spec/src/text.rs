//! Values as a person types them: one text for the command line, a file and a result.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};
use units::{Bytes, Condition, CpuList, Nanos, Qos, Rate};

use crate::workload::Header;

/// Implements serde and schemars for types by their `Display` and `FromStr`. An example after a type means that a plain
/// number lacks its unit.
macro_rules! as_text {
    ($($type:ty $(, needs_unit = $example:literal)?;)+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let example: Option<&'static str> = [$($example)?].first().copied();
                crate::text::parsed(deserializer, example)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }
    )+};
}

/// Declares enumerations whose values are words, with the noun and the hint of the error. Further words are read, too.
macro_rules! words {
    ($(
        $(#[$meta:meta])*
        pub enum $type:ident: $what:literal, $hint:literal {
            $($(#[$of:meta])* $variant:ident = $word:literal $(| $other:literal)*,)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$of])* $variant,)+
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $($type::$variant => $word),+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = units::ParseError;

            fn from_str(text: &str) -> Result<$type, units::ParseError> {
                match text.trim() {
                    $($word $(| $other)* => Ok($type::$variant),)+
                    _ => Err(units::ParseError {
                        what: $what,
                        given: text.into(),
                        problem: "there is none of this name".into(),
                        hint: $hint,
                    }),
                }
            }
        }

        crate::text::as_text! { $type; }
    )+};
}

pub(crate) use {as_text, words};

/// Reads a value from a text, a number or a flag.
///
/// Errors: the parser's; a plain number if `example` says that it needs a unit.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
    example: Option<&'static str>,
) -> Result<T, D::Error> {
    let parse = |text: &str| text.parse::<T>().map_err(|error| error.to_string());
    deserializer.deserialize_any(Text { example, parse })
}

struct Text<T> {
    example: Option<&'static str>,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Text<T> {
    fn read<E: Error>(&self, text: &str) -> Result<T, E> {
        let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        match self.example {
            Some(example) if is_plain => {
                Err(E::custom(format!("{text} has no unit; write it with its unit, such as \"{example}\"")))
            }
            _ => (self.parse)(text).map_err(E::custom),
        }
    }
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotation marks, quantities with their unit")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(text.trim())
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<T, E> {
        self.read(if flag { "true" } else { "false" })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.read(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.read(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.read(&number.to_string())
    }
}

/// A value that is written in full where `Display` may round it for people.
pub(crate) trait Exact: FromStr<Err: fmt::Display> + fmt::Display {
    /// A value with its unit; `None` if no unit is needed.
    const EXAMPLE: Option<&'static str> = None;

    /// A text that reads back as the same value.
    fn exact(&self) -> String {
        self.to_string()
    }
}

impl Exact for CpuList {}
impl Exact for Header {}
impl Exact for String {}

impl Exact for Nanos {
    const EXAMPLE: Option<&'static str> = Some("2s");

    fn exact(&self) -> String {
        crate::syntax::whole_span(self.0)
    }
}

impl Exact for Rate {
    const EXAMPLE: Option<&'static str> = Some("50krps");

    fn exact(&self) -> String {
        // Dividing by a thousand may round; then all digits are written.
        let thousands = format!("{}krps", self.rps() / 1e3);
        match thousands.parse::<Rate>() {
            Ok(same) if same == *self && self.rps() >= 1e3 => thousands,
            _ => format!("{}rps", self.rps()),
        }
    }
}

impl Exact for Bytes {
    const EXAMPLE: Option<&'static str> = Some("64MiB");

    fn exact(&self) -> String {
        let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.into_iter().find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => format!("{}{name}", self.0 / unit),
            None => format!("{}B", self.0),
        }
    }
}

impl Exact for Qos {
    fn exact(&self) -> String {
        self.conditions().iter().map(condition).collect::<Vec<_>>().join(",")
    }
}

/// A condition as it is typed.
fn condition(condition: &Condition) -> String {
    match condition {
        Condition::ResponseTime(target) => {
            let basis = match target.basis {
                Some(units::QosBasis::Windowed) => "windowed ",
                Some(units::QosBasis::Raw) => "raw ",
                None => "",
            };
            format!("{basis}p{}<{}", target.percentile, target.limit_ns.exact())
        }
        Condition::Times { name, percentile, limit_ns } => {
            format!("{name}.p{percentile}<{}", limit_ns.exact())
        }
        Condition::Ratio { name, at_most, limit_percent } => {
            format!("{name}{}{limit_percent}%", if *at_most { '<' } else { '>' })
        }
    }
}

/// serde of a quantity.
pub(crate) mod exact {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &impl Exact, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.exact())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Exact>(deserializer: D) -> Result<T, D::Error> {
        parsed(deserializer, T::EXAMPLE)
    }
}

/// serde of a quantity that may be absent.
pub(crate) mod exact_or_none {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<impl Exact>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&value.as_ref().map(Exact::exact), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Exact>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        struct One<T>(T);

        impl<'de, T: Exact> serde::Deserialize<'de> for One<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<One<T>, D::Error> {
                parsed(deserializer, T::EXAMPLE).map(One)
            }
        }

        let one: Option<One<T>> = serde::Deserialize::deserialize(deserializer)?;
        Ok(one.map(|one| one.0))
    }
}

/// serde of several: a list, or one value alone.
pub(crate) mod list {
    use serde::de::SeqAccess;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(values: &[impl Exact], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(Exact::exact))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Exact>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_any(List(PhantomData))
    }

    struct List<T>(PhantomData<T>);

    impl<'de, T: Exact> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of texts in quotation marks, quantities with their unit")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
            Ok(vec![text.parse::<T>().map_err(E::custom)?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(text) = seq.next_element::<String>()? {
                all.push(text.parse::<T>().map_err(A::Error::custom)?);
            }
            Ok(all)
        }
    }
}

/// serde of a whole number, which may be written as a text.
pub(crate) mod number {
    use super::*;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let parse = |text: &str| units::count(text, 0..=u64::MAX).map_err(|error| error.to_string());
        deserializer.deserialize_any(Text { example: None, parse })
    }
}

/// serde of a count from 1 on, which has no unit.
pub(crate) mod count {
    use super::*;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let parse = |text: &str| units::count(text, 1..=u32::MAX).map_err(|error| error.to_string());
        deserializer.deserialize_any(Text { example: None, parse })
    }

    pub(crate) fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(transparent)]
        struct Count(#[serde(deserialize_with = "deserialize")] u32);

        let count: Option<Count> = serde::Deserialize::deserialize(deserializer)?;
        Ok(count.map(|Count(count)| count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantities_read_back_as_they_were(ns in 0u64..2_592_000_000_000_000, bytes in 0u64..(1 << 53), rps in 1e-6..1e8f64) {
            prop_assert_eq!(Nanos(ns).exact().parse::<Nanos>().unwrap(), Nanos(ns));
            prop_assert_eq!(Bytes(bytes).exact().parse::<Bytes>().unwrap(), Bytes(bytes));
            let rate = Rate::new(rps).unwrap();
            prop_assert_eq!(rate.exact().parse::<Rate>().unwrap(), rate);
        }
    }

    #[test]
    fn quantities_are_short() {
        let rate = |text: &str| text.parse::<Rate>().unwrap().exact();
        assert_eq!([rate("20k"), rate("870"), rate("1.5M")], ["20krps", "870rps", "1500krps"]);
        assert_eq!([Bytes(1 << 30).exact(), Bytes(1536).exact()], ["1GiB", "1536B"]);
        let qos = |text: &str| text.parse::<Qos>().unwrap().exact();
        assert_eq!([qos("p99 ≤ 1.5ms"), qos("raw p99.9<5ms")], ["p99<1500us", "raw p99.9<5ms"]);
        let sessions = "startup.p95<2s,rebuffer<0.5%,met>95%";
        assert_eq!(qos("startup<2s, rebuffer_ratio ≤ 0.5 %, met>=95%"), sessions);
        assert_eq!(qos(sessions), sessions);
    }
}
