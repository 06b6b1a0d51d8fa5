use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use perf_event_open_sys::bindings as perf;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::StackSample;

/// Memory for samples, in units of 4 KiB: enough for one second of 499 samples of 60 frames. A power of two.
const PAGES: usize = 64;

/// The ring in which the kernel writes samples of one event.
pub(super) struct Ring {
    base: *mut u8,
    length: usize,
    page: usize,
}

// SAFETY: the mapping belongs to this value, and only `&mut self` reads it.
unsafe impl Send for Ring {}

/// One record of the kernel.
pub(super) enum Record {
    Stack(StackSample),
    Lost(u64),
}

impl Ring {
    /// The ring of an event. Errors: the kernel has no memory for it.
    pub(super) fn map(event: &OwnedFd) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let length = (1 + (PAGES * 4096 / page).max(1)) * page;
        // SAFETY: a new mapping at an address of the kernel's choice does not affect existing memory.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                event,
                0,
            )?
        };
        Ok(Ring { base: base.cast(), length, page })
    }

    /// Passes new records to `each` and releases their space.
    pub(super) fn drain(&mut self, mut each: impl FnMut(Record)) {
        let head_of = |offset: usize| {
            // SAFETY: the first page of the mapping is a `perf_event_mmap_page`, whose fields at these offsets are
            // 64-bit and written by the kernel as such; it is aligned to a page.
            unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
        };
        let head =
            head_of(std::mem::offset_of!(perf::perf_event_mmap_page, data_head)).load(Ordering::Acquire);
        let tail = head_of(std::mem::offset_of!(perf::perf_event_mmap_page, data_tail));
        let from = tail.load(Ordering::Relaxed);
        let size = (self.length - self.page) as u64;
        let mut bytes = Vec::with_capacity((head - from) as usize);
        for at in from..head {
            // SAFETY: `at % size` lies within the data pages, which the kernel has written up to `head` and will not
            // write again before `tail` passes.
            bytes.push(unsafe { self.base.add(self.page + (at % size) as usize).read() });
        }
        fence(Ordering::SeqCst);
        tail.store(head, Ordering::Release);
        parse(&bytes, &mut each);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value and has that length, and it is no longer read.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

/// Reads records one after the other, until an incomplete one. Source: `perf_event_open(2)`.
fn parse(mut bytes: &[u8], each: &mut impl FnMut(Record)) {
    let word = |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    while let Some(head) = word(bytes, 0) {
        // Kind (32 bits), mode (16) and size (16), the processor's byte order aside: all Linux here is little-endian.
        let (kind, size) = (head as u32, (head >> 48) as usize);
        let Some(body) = bytes.get(8..size).filter(|_| size >= 8) else { return };
        match kind {
            perf::PERF_RECORD_SAMPLE => each(Record::Stack(stack(body))),
            // Its event's number, then the count.
            perf::PERF_RECORD_LOST => each(Record::Lost(word(body, 8).unwrap_or(0))),
            _ => {}
        }
        bytes = &bytes[size..];
    }
}

/// Process and thread, the number of frames, and the frames with marks between kernel frames and user frames.
fn stack(body: &[u8]) -> StackSample {
    let mut words = body.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")));
    let pid = words.next().unwrap_or(0) as u32;
    let count = words.next().unwrap_or(0) as usize;
    let mut taken = StackSample { pid, kernel: Vec::new(), user: Vec::new() };
    let mut in_kernel = false;
    for frame in words.take(count) {
        // Marks are the highest addresses; −512 is the user, −128 the kernel. Source: `perf_callchain_context`.
        match frame as i64 {
            -512 => in_kernel = false,
            -128 => in_kernel = true,
            -4095..=-1 => {}
            _ if in_kernel => taken.kernel.push(frame),
            _ => taken.user.push(frame),
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u64, words: &[u64]) -> Vec<u8> {
        let size = 8 * (1 + words.len() as u64);
        [&[kind | size << 48], words].concat().iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn read(bytes: &[u8]) -> (Vec<StackSample>, u64) {
        let (mut stacks, mut lost) = (Vec::new(), 0);
        parse(bytes, &mut |record| match record {
            Record::Stack(taken) => stacks.push(taken),
            Record::Lost(count) => lost += count,
        });
        (stacks, lost)
    }

    #[test]
    fn reads_stacks_and_losses() {
        let mark = |number: i64| number as u64;
        let sample = record(9, &[7 | 8 << 32, 5, mark(-128), 11, 12, mark(-512), 13]);
        let bytes = [sample, record(2, &[1, 40]), record(3, &[0]), record(9, &[7, 0])].concat();
        let (stacks, lost) = read(&bytes);
        assert_eq!(stacks[0], StackSample { pid: 7, kernel: vec![11, 12], user: vec![13] });
        assert_eq!((stacks.len(), stacks[1].kernel.len(), lost), (2, 0, 40));
    }

    proptest::proptest! {
        #[test]
        fn survives_any_bytes(bytes: Vec<u8>) {
            read(&bytes);
        }
    }
}
