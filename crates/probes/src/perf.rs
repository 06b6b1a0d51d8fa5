//! `perf_event_open(2)`: one event of one thread, initially disabled.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::perf_event_attr;
use perf_event_open_sys::{ioctls, perf_event_open};

pub(crate) struct Event {
    fd: OwnedFd,
}

impl Event {
    /// Opens the event in `attributes` on the thread `tid`, on any processor.
    ///
    /// Errors: the kernel has no such event (`ENOENT`, `EOPNOTSUPP`), or this user may not open it (`EACCES`, `EPERM`).
    pub(crate) fn open(mut attributes: perf_event_attr, tid: u32) -> io::Result<Event> {
        attributes.size = size_of::<perf_event_attr>() as u32;
        attributes.set_disabled(1);
        attributes.set_exclude_hv(1);
        let tid = i32::try_from(tid).map_err(io::Error::other)?;
        // SAFETY: the attributes are initialized and their size is set; the call keeps no pointer to them.
        let fd = unsafe { perf_event_open(&mut attributes, tid, -1, -1, CLOSE_ON_EXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call returned a new descriptor without another owner.
        Ok(Event { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an event's and open; the request takes no pointer.
        check(unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) })
    }

    pub(crate) fn disable(&self) -> io::Result<()> {
        // SAFETY: as in `enable`.
        check(unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Its count so far. Needs [`READ_TIMES`].
    pub(crate) fn read(&self) -> io::Result<EventCount> {
        let [count, enabled_ns, running_ns] = self.numbers()?;
        Ok(EventCount { count, enabled_ns, running_ns })
    }

    /// Samples dropped for lack of room in its ring since it was opened. Needs [`READ_LOST`].
    pub(crate) fn lost(&self) -> io::Result<u64> {
        let [_, lost] = self.numbers()?;
        Ok(lost)
    }

    /// The numbers of its read format.
    fn numbers<const N: usize>(&self) -> io::Result<[u64; N]> {
        let mut bytes = [[0_u8; 8]; N];
        if rustix::io::read(&self.fd, bytes.as_flattened_mut())? < 8 * N {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes.map(u64::from_ne_bytes))
    }

    /// For mapping its ring.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }
}

/// The count of one event, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventCount {
    pub count: u64,
    /// Time that it was enabled.
    pub enabled_ns: u64,
    /// Time that it was counted: less if the processor had fewer counters than events.
    pub running_ns: u64,
}

impl EventCount {
    /// The count, scaled up to the whole time that it was enabled; `None` if it was enabled and never counted.
    pub(crate) fn scaled(self) -> Option<f64> {
        match (self.enabled_ns, self.running_ns) {
            (0, _) => Some(self.count as f64),
            (_, 0) => None,
            (enabled, running) => Some(self.count as f64 * enabled as f64 / running as f64),
        }
    }

    pub(crate) fn plus(self, more: EventCount) -> EventCount {
        self.with(more, u64::saturating_add)
    }

    pub(crate) fn since(self, before: EventCount) -> EventCount {
        self.with(before, u64::saturating_sub)
    }

    fn with(self, other: EventCount, both: impl Fn(u64, u64) -> u64) -> EventCount {
        EventCount {
            count: both(self.count, other.count),
            enabled_ns: both(self.enabled_ns, other.enabled_ns),
            running_ns: both(self.running_ns, other.running_ns),
        }
    }
}

/// Read format of [`Event::read`]: the count, the time that it was enabled, and the time that it was counted.
pub(crate) const READ_TIMES: u64 = (perf_event_open_sys::bindings::PERF_FORMAT_TOTAL_TIME_ENABLED
    | perf_event_open_sys::bindings::PERF_FORMAT_TOTAL_TIME_RUNNING)
    as u64;

/// Read format of [`Event::lost`]: the count, and the dropped samples. From Linux 6.0 on.
pub(crate) const READ_LOST: u64 = perf_event_open_sys::bindings::PERF_FORMAT_LOST as u64;

const CLOSE_ON_EXEC: std::ffi::c_ulong =
    perf_event_open_sys::bindings::PERF_FLAG_FD_CLOEXEC as std::ffi::c_ulong;

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Hint for an event that cannot be opened.
pub(crate) fn hint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "root, CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1 and a server of the same user".into()
        }
        _ => format!("a kernel with CONFIG_PERF_EVENTS ({error})"),
    }
}
