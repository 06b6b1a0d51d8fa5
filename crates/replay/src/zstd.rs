use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The first bytes of a frame. Source: RFC 8878, §3.1.1.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The content of a zstd file, of any number of frames.
///
/// Bounds: the memory of a frame's window, which `ruzstd` limits to 100 MiB; that of files written by `zstd` without
/// `--ultra` is 8 MiB at most.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    /// Whether a frame has begun.
    is_open: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Frames<R> {
        Frames { source, decoder: FrameDecoder::new(), is_open: false }
    }

    /// Begins the next frame; returns whether there is one.
    fn next_frame(&mut self) -> io::Result<bool> {
        self.is_open = false;
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.is_open = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.is_open {
                while self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
                    let missing = buffer.len() - self.decoder.can_collect();
                    let decoded = self
                        .decoder
                        .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBytes(missing));
                    decoded.map_err(io::Error::other)?;
                }
                let read = self.decoder.read(buffer)?;
                if read > 0 {
                    return Ok(read);
                }
            }
            if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn decode(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Frames::new(bytes).read_to_end(&mut content).map(|_| content)
    }

    #[test]
    fn frames_follow_each_other() {
        let (a, b) = (vec![b'a'; 300_000], b"the second frame".to_vec());
        let frame = |content: &[u8]| compress_to_vec(content, CompressionLevel::Fastest);
        // A frame that readers skip: its magic number, its length and that many bytes.
        let skipped = [&0x184d_2a50u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"xyz"].concat();
        let file = [frame(&a), skipped, frame(b""), frame(&b)].concat();
        assert!(file.starts_with(&MAGIC));
        assert_eq!(decode(&file).unwrap(), [a, b].concat());
        assert!(decode(&file[..file.len() - 3]).is_err(), "cut off");
        assert_eq!(decode(b"").unwrap(), b"");
    }

    proptest! {
        #[test]
        fn any_bytes_are_content_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = decode(&[&MAGIC[..], &bytes].concat());
        }
    }
}
