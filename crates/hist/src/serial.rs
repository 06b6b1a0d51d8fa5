//! Histograms in JSON and similar formats, without loss: generators hand them over for merging.
//!
//! A [`Latency`] is the Base64 text of HdrHistogram's compressed V2 encoding, as in an `.hlog`; the sparse histogram
//! of a window is the list of its cells that are not empty, each with its count.
//!
//! Try it: `cargo test -p hist serial`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Latency;
use crate::hlog::decode::decode;
use crate::sparse::Sparse;

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() {
            return serializer.serialize_str("");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(self.inner(), &mut bytes).map_err(S::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Latency, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Latency::new());
        }
        decode(&text).map(Latency::from_foreign).map_err(D::Error::custom)
    }
}

impl Serialize for Sparse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.cells())
    }
}

impl<'de> Deserialize<'de> for Sparse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sparse, D::Error> {
        let mut sparse = Sparse::new();
        for (cell, count) in Vec::<(u32, u32)>::deserialize(deserializer)? {
            if !sparse.add(cell as usize, count) {
                return Err(D::Error::custom(format!("a histogram has no cell {cell}; the file is damaged")));
            }
        }
        Ok(sparse)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Latency, Windows};
    use proptest::prelude::*;
    use units::Nanos;

    proptest! {
        #[test]
        fn nothing_is_lost(times in prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(v, s)| v >> s), 0..200)) {
            let mut latency = Latency::new();
            let mut windows = Windows::new(Nanos::from_secs(1));
            for (i, &time) in times.iter().enumerate() {
                latency.record(Nanos(time));
                windows.record(Nanos(i as u64 * 5_000_000), Nanos(time));
            }
            windows.mark(Nanos(0), Nanos(1));
            let text = serde_json::to_string(&(&latency, &windows)).unwrap();
            let (back, back_windows): (Latency, Windows) = serde_json::from_str(&text).unwrap();
            prop_assert!(back == latency && back_windows == windows);
        }
    }

    #[test]
    fn damage_is_noticed() {
        assert!(serde_json::from_str::<Latency>("\"AAAA\"").is_err());
        assert!(
            serde_json::from_str::<Windows>(
                r#"{"length":100000000,"windows":[[[999999,1]]],"marks":[false]}"#
            )
            .is_err()
        );
    }
}
