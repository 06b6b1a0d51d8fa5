use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, squeue};
use rustix::io::Errno;
use units::{Nanos, Time};

use crate::monotonic_now;
use crate::uring::token::{Op, Token};

/// Operations that may be queued between two entries; more only cost an entry of their own.
const SUBMISSIONS: u32 = 256;
/// Completions that may wait: 64 KiB. When it is full the kernel keeps further ones itself and says so.
const COMPLETIONS: u32 = 4096;

/// What became of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) token: Token,
    pub(super) result: Result<u32, Errno>,
    flags: u32,
    /// When it was taken from the kernel.
    pub(super) at: Time,
}

impl Completion {
    /// Whether the operation continues.
    #[inline]
    pub(super) fn more(&self) -> bool {
        cqueue::more(self.flags)
    }

    /// The buffer that the kernel picked.
    #[inline]
    pub(super) fn buffer(&self) -> Option<u16> {
        cqueue::buffer_select(self.flags)
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// Something completed, or nothing was waited for.
    Events,
    /// The time was over.
    TimedOut,
    /// A signal came.
    Interrupted,
}

/// One thread's submission and completion queues.
///
/// Not `Send`: with `SINGLE_ISSUER` the kernel serves only the thread that set the ring up.
pub(super) struct Ring {
    /// Holds the number under which the ring's descriptor is registered, which saves looking it up at each entry; it
    /// borrows from `uring`, hence is dropped before it. Always there except during the drop.
    submitter: Option<Submitter<'static>>,
    uring: NonNull<IoUring>,
    /// Operations whose last completion has not been taken yet.
    pub(super) in_flight: usize,
    /// Queued operations that are likely to complete as they are submitted.
    prompt: usize,
    /// Completed sends, which are handled before all others.
    pub(super) sends: VecDeque<Completion>,
    /// Entries into the kernel.
    pub(super) entries: u64,
    /// All other completions, in order.
    pub(super) ready: VecDeque<Completion>,
}

impl Ring {
    /// A ring for the calling thread.
    ///
    /// `deferring` lets completions wait until this thread asks for them (`DEFER_TASKRUN`, Linux 6.1), so that
    /// none interrupts it; otherwise they come with any system call (`COOP_TASKRUN`).
    pub(super) fn new(deferring: bool) -> io::Result<Ring> {
        let mut builder = IoUring::builder();
        builder
            .setup_cqsize(COMPLETIONS)
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_single_issuer();
        if deferring {
            builder.setup_defer_taskrun();
        }
        let uring = NonNull::from(Box::leak(Box::new(builder.build(SUBMISSIONS)?)));
        // SAFETY: the box lives until `Ring::drop`, which gives up the submitter first; in between it is used by
        // shared reference only.
        let mut submitter = unsafe { uring.as_ref() }.submitter();
        // Without it (before Linux 5.18) entries use the descriptor, at 20 ns more.
        let _ = submitter.register_ring_fd();
        Ok(Ring {
            submitter: Some(submitter),
            uring,
            in_flight: 0,
            prompt: 0,
            entries: 0,
            sends: VecDeque::new(),
            ready: VecDeque::new(),
        })
    }

    /// What registering the ring a second time is answered with.
    #[cfg(test)]
    pub(super) fn register_again(&mut self) -> io::Error {
        self.submitter.as_mut().unwrap().register_ring_fd().unwrap_err()
    }

    pub(super) fn submitter(&self) -> &Submitter<'static> {
        self.submitter.as_ref().expect("it is taken only by the drop")
    }

    #[inline]
    fn submission(&mut self) -> squeue::SubmissionQueue<'_> {
        // SAFETY: the ring lives as long as `self`, and this is the only place that borrows the queue, for no longer than
        // `self` is borrowed.
        unsafe { self.uring.as_ref().submission_shared() }
    }

    #[inline]
    fn completion(&mut self) -> cqueue::CompletionQueue<'_> {
        // SAFETY: as for the submission queue.
        unsafe { self.uring.as_ref().completion_shared() }
    }

    /// Operations that are not submitted yet.
    #[inline]
    pub(super) fn queued(&mut self) -> usize {
        self.submission().len()
    }

    /// Whether a queued operation is likely to complete as it is submitted, so that a wait for one completion
    /// would not wait.
    pub(super) fn is_prompt(&self) -> bool {
        self.prompt > 0
    }

    /// Whether an entry, or a look at the completions, would bring anything. No system call.
    ///
    /// With deferred completions the kernel only raises the TASKRUN flag when something happened on a
    /// socket; the completion itself is made by the next entry with GETEVENTS.
    #[inline]
    pub(super) fn pending(&mut self) -> bool {
        let submission = self.submission();
        let to_enter = !submission.is_empty() || submission.taskrun() || submission.cq_overflow();
        drop(submission);
        to_enter || !self.completion().is_empty()
    }

    /// The number of its descriptor.
    pub(super) fn number(&self) -> i32 {
        // SAFETY: the box lives until the drop.
        unsafe { self.uring.as_ref() }.as_raw_fd()
    }

    /// Queues an operation that completes silently unless it fails.
    ///
    /// # Safety
    ///
    /// As for [`Ring::push`].
    pub(super) unsafe fn push_silent(&mut self, entry: squeue::Entry, token: Token) -> io::Result<()> {
        let entry = entry.user_data(token.pack());
        // SAFETY: the caller promises that the entry's pointers are valid.
        while unsafe { self.submission().push(&entry) }.is_err() {
            self.enter(0, None)?;
        }
        Ok(())
    }

    /// Queues an operation.
    ///
    /// # Safety
    ///
    /// The memory that the operation points at must stay in place and untouched until its last completion was taken.
    pub(super) unsafe fn push(&mut self, entry: squeue::Entry, token: Token) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.push_silent(entry, token) }?;
        self.in_flight += 1;
        self.prompt += usize::from(matches!(token.op, Op::Send | Op::Cancel));
        Ok(())
    }

    /// Submits queued operations, waits for `want` completions but no longer than `limit`, and takes all available
    /// ones.
    ///
    /// Cost: one system call.
    pub(super) fn enter(&mut self, want: u32, limit: Option<Nanos>) -> io::Result<Waited> {
        let queued = self.queued() as u32;
        self.prompt = 0;
        self.entries += 1;
        let submitter = self.submitter();
        let result = match limit {
            // SAFETY: the arguments match the flags; the queued operations' pointers are valid, as promised when they
            // were pushed.
            None => unsafe { submitter.enter::<u64>(queued, want, EnterFlags::GETEVENTS.bits(), None) },
            Some(limit) => {
                let time =
                    Timespec::new().sec(limit.0 / 1_000_000_000).nsec((limit.0 % 1_000_000_000) as u32);
                let arguments = SubmitArgs::new().timespec(&time);
                let flags = (EnterFlags::GETEVENTS | EnterFlags::EXT_ARG).bits();
                // SAFETY: as above; EXT_ARG announces the type of the argument, which outlives the call.
                unsafe { submitter.enter(queued, want, flags, Some(&arguments)) }
            }
        };
        self.take();
        match result.map_err(|error| Errno::from_io_error(&error)) {
            Ok(_) => Ok(Waited::Events),
            Err(Some(Errno::TIME)) => Ok(Waited::TimedOut),
            Err(Some(Errno::INTR)) => Ok(Waited::Interrupted),
            // Out of memory for requests, or for completions that were not taken: try again, now that some were.
            Err(Some(Errno::AGAIN | Errno::BUSY)) => Ok(Waited::Events),
            Err(error) => Err(error.unwrap_or(Errno::IO).into()),
        }
    }

    /// Takes the completions that are there.
    pub(super) fn take(&mut self) {
        let (mut sends, mut ready) = (std::mem::take(&mut self.sends), std::mem::take(&mut self.ready));
        let (mut ended, mut at) = (0, Time(0));
        for entry in self.completion() {
            let token = Token::unpack(entry.user_data());
            let result = u32::try_from(entry.result()).map_err(|_| Errno::from_raw_os_error(-entry.result()));
            let counts = !matches!(token.op, Op::Message | Op::Rung);
            ended += usize::from(counts && !cqueue::more(entry.flags()));
            if token.op == Op::Send {
                sends.push_back(Completion { token, result, flags: entry.flags(), at });
            } else {
                if at == Time(0) {
                    at = monotonic_now();
                }
                ready.push_back(Completion { token, result, flags: entry.flags(), at });
            }
        }
        (self.sends, self.ready) = (sends, ready);
        self.in_flight -= ended;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The registration would keep the ring alive as long as the thread; and a thread may have 16 of them.
        if let Some(mut submitter) = self.submitter.take() {
            let _ = submitter.unregister_ring_fd();
        }
        // SAFETY: it came from a box, and the submitter, the only one that borrowed from it, was dropped.
        drop(unsafe { Box::from_raw(self.uring.as_ptr()) });
    }
}
