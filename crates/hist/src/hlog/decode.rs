//! From the text of one histogram to the histogram, refusing every damage that its checksum shows.
//!
//! The hdrhistogram crate reads the compressed form as well, but stops at the last counter and so before
//! the checksum, and it believes the length in the header before it has the bytes. Inflating here, whole
//! and bounded, closes both.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// The first four bytes of a histogram in the V2 format, compressed and not.
///
/// Source: `V2EncodingCookieBase` 0x1c849303 and `V2CompressedEncodingCookieBase` 0x1c849304 of
/// HdrHistogram's AbstractHistogram, each with 0x10 for variable-length counters.
const COMPRESSED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;

/// The header of the V2 format: cookie, payload length, normalizing offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;

/// The most that one histogram may inflate to.
///
/// Source: five digits over the whole of 64 bits are 6 M counters of at most 9 bytes.
const MOST: u64 = 64 << 20;

/// The most samples of one histogram: up to here, ranks are exact in floating point.
const MOST_SAMPLES: u64 = 1 << 50;

/// Decodes one histogram. Errors: the defect, as the end of a sentence.
pub(crate) fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|e| format!("the histogram is not base64 ({e})"))?;
    let plain = match word(&bytes, 0) {
        Some(COMPRESSED) => inflate(bytes.get(8..).unwrap_or_default(), word(&bytes, 4))?,
        Some(PLAIN) => bytes,
        _ => return Err("the histogram is not in the V2 format".into()),
    };
    let payload = plain.get(HEADER..).ok_or("the histogram ends within its header")?;
    if word(&plain, 4).map(|n| n as usize) != Some(payload.len()) {
        return Err("the histogram's length is not the one in its header".into());
    }
    // −2⁶³, which the crate negates and so panics over. It is the only number of nine such bytes: a counter
    // within MOST_SAMPLES never reaches its ninth.
    if payload.windows(9).any(|counter| counter == [0xff; 9]) {
        return Err("the histogram holds a counter out of range".into());
    }
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut plain.as_slice())
        .map_err(|e| format!("the histogram cannot be decoded ({e})"))?;
    if histogram.len() > MOST_SAMPLES {
        return Err("the histogram holds a counter out of range".into());
    }
    Ok(histogram)
}

fn inflate(compressed: &[u8], length: Option<u32>) -> Result<Vec<u8>, String> {
    if length.map(|n| n as usize) != Some(compressed.len()) {
        return Err("the histogram was cut short".into());
    }
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(compressed).take(MOST).read_to_end(&mut plain);
    read.map_err(|e| format!("the histogram cannot be inflated ({e})"))?;
    Ok(plain)
}

/// The big-endian word at an offset.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}
