use std::{fs, io};

use rustix::io::Errno;

/// The administrator's switch that forbids io_uring.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";

/// Explains in words why the ring is unavailable.
pub(super) fn explained(error: io::Error) -> io::Error {
    let switch = fs::read_to_string(SWITCH).ok();
    let switch = switch.as_deref().map(str::trim);
    io::Error::new(error.kind(), format!("io_uring is not available: {}", words(&error, switch)))
}

fn words(error: &io::Error, switch: Option<&str>) -> String {
    match (Errno::from_io_error(error), switch) {
        (Some(Errno::NOSYS), _) => {
            "this kernel has none, or a container's filter of system calls hides it; use --io epoll".into()
        }
        (Some(Errno::PERM), Some("2")) => {
            format!("{SWITCH} is 2, which forbids it to all users; set it to 0, or use --io epoll")
        }
        (Some(Errno::PERM), Some("1")) => format!(
            "{SWITCH} is 1, which forbids it without privilege; run as root, set it to 0, or use --io epoll"
        ),
        (Some(Errno::PERM), _) => {
            "a filter of system calls forbids it, as containers' default ones do; allow io_uring_setup, \
             io_uring_enter and io_uring_register there, or use --io epoll"
                .into()
        }
        (Some(Errno::INVAL), _) => {
            "it lacks what Linux 6.0 brought (a single issuer, multishot receive); use --io epoll".into()
        }
        (Some(Errno::NOMEM), _) => {
            "there is no memory for its queues; raise the limit on locked memory (ulimit -l), or use --io epoll"
                .into()
        }
        (Some(Errno::MFILE), _) => "this process has no descriptors left; raise ulimit -n".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_why_and_what_to_do() {
        let check = |error: Errno, switch: Option<&str>, expect: &str| {
            let text = words(&error.into(), switch);
            assert!(text.contains(expect), "{text}");
        };
        check(Errno::NOSYS, None, "this kernel has none");
        check(Errno::PERM, Some("2"), "forbids it to all users; set it to 0");
        check(Errno::PERM, Some("1"), "run as root");
        check(Errno::PERM, Some("0"), "containers");
        check(Errno::PERM, None, "containers");
        check(Errno::INVAL, Some("0"), "Linux 6.0");
        check(Errno::NOMEM, Some("0"), "ulimit -l");
        check(Errno::MFILE, Some("0"), "ulimit -n");
        check(Errno::IO, Some("0"), "os error 5");
        let explained = explained(Errno::PERM.into());
        assert_eq!(explained.kind(), io::ErrorKind::PermissionDenied);
    }
}
