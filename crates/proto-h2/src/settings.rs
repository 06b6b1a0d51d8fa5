use crate::Defect;
use crate::frame::{self, kind};
use crate::limits::{CONNECTION_WINDOW, FIRST_WINDOW, FRAME_MAX, HEAD_MAX, STREAM_WINDOW, WINDOW_MAX};

/// The first bytes of a client. Source: RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Source: RFC 9113 §6.5.2.
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// The limits of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Requests that it takes at once.
    pub(crate) streams: u32,
    /// The window with which the body of a request begins.
    pub(crate) window: u32,
    /// The longest frame that it takes.
    pub(crate) frame: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { streams: u32::MAX, window: FIRST_WINDOW, frame: FRAME_MAX }
    }
}

impl Settings {
    /// Takes the payload of a SETTINGS frame.
    ///
    /// Errors: a value that is not allowed. Settings of other numbers are passed over.
    pub(crate) fn take(&mut self, payload: &[u8]) -> Result<(), Defect> {
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(Defect::FrameLength("SETTINGS"));
        }
        for setting in settings {
            let number = u16::from_be_bytes([setting[0], setting[1]]);
            let value = frame::first_number(&setting[2..]);
            match number {
                ENABLE_PUSH if value != 0 => {
                    return Err(Defect::Setting("a server pushes and is not pushed to"));
                }
                MAX_CONCURRENT_STREAMS => self.streams = value,
                INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MAX => return Err(Defect::Window),
                INITIAL_WINDOW_SIZE => self.window = value,
                MAX_FRAME_SIZE if !(1 << 14..1 << 24).contains(&value) => {
                    return Err(Defect::Setting("frames of less than 16384 B or more than 16777215 B"));
                }
                MAX_FRAME_SIZE => self.frame = value as usize,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Appends how a client begins: the preface, our settings, and the window of the connection.
pub(crate) fn write_beginning(out: &mut Vec<u8>) {
    let settings =
        [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, STREAM_WINDOW), (MAX_HEADER_LIST_SIZE, HEAD_MAX as u32)];
    out.extend_from_slice(PREFACE);
    frame::head(6 * settings.len(), kind::SETTINGS, 0, 0, out);
    for (number, value) in settings {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
    frame::number(kind::WINDOW_UPDATE, 0, CONNECTION_WINDOW - FIRST_WINDOW, out);
}
