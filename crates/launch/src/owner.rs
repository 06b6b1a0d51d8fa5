//! Names that say which process made a thing, so that what an ended owner left is known as such.
//!
//! A bridge, a container or an image outlives the process that made it. Its name carries the process and the boot
//! that it ran in: `tl`, 4 hexadecimal digits of the boot id, 5 base-36 digits of the process id, 2 of a counter. With
//! the two that tell a link's place it has the 15 characters that Linux allows a network interface.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "tl";
/// The kernel's id of the current boot. Source: `random(4)`.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Digits of the boot id: of 65 536 boots, two look the same.
const BOOT_DIGITS: usize = 4;
/// 36⁵ is over 2²², the largest process id that Linux gives.
const PID_DIGITS: usize = 5;
const COUNT_DIGITS: usize = 2;
const LENGTH: usize = PREFIX.len() + BOOT_DIGITS + PID_DIGITS + COUNT_DIGITS;

/// A name for a thing that this process makes, another each time.
pub(crate) fn fresh() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) % 36u32.pow(COUNT_DIGITS as u32);
    name(&boot(), std::process::id(), count)
}

pub(crate) fn name(boot: &str, pid: u32, count: u32) -> String {
    format!("{PREFIX}{boot}{}{}", base_36(pid, PID_DIGITS), base_36(count, COUNT_DIGITS))
}

/// The owned name at the start of `text`, if any.
pub(crate) fn name_in(text: &str) -> Option<&str> {
    let name = text.get(..LENGTH)?;
    owner(name).map(|_| name)
}

/// Whether the process that made `name` has ended: its boot is over, or no process has its id.
///
/// Bounds: an owner whose id was given to another process counts as alive, and one in another process namespace as
/// ended.
pub(crate) fn is_orphan(name: &str) -> bool {
    is_orphan_at(name, &boot(), |pid| Path::new("/proc").join(pid.to_string()).exists())
}

/// Locks a folder until the file is dropped or this process ends; waits for processes that only check the lock.
///
/// Errors: it cannot be opened.
pub(crate) fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Whether another process holds the lock of a folder; true if unknown.
pub(crate) fn is_locked(folder: &Path) -> bool {
    // Shared, so that two checking processes do not see each other's lock.
    let free =
        File::open(folder).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_ok());
    !free
}

fn is_orphan_at(name: &str, boot: &str, alive: impl Fn(u32) -> bool) -> bool {
    owner(name).is_some_and(|(of_boot, pid)| of_boot != boot || !alive(pid))
}

/// The boot and the process that made `name`; `None` for other names.
fn owner(name: &str) -> Option<(&str, u32)> {
    let rest = name.strip_prefix(PREFIX)?;
    let digits = |c: char| matches!(c, '0'..='9' | 'a'..='z');
    if rest.len() != LENGTH - PREFIX.len() || !rest.chars().all(digits) {
        return None;
    }
    let (boot, rest) = rest.split_at(BOOT_DIGITS);
    u16::from_str_radix(boot, 16).ok()?;
    let pid = u32::from_str_radix(&rest[..PID_DIGITS], 36).ok()?;
    Some((boot, pid))
}

/// The first digits of the boot id; zeros where the kernel does not tell.
fn boot() -> String {
    let id = fs::read_to_string(BOOT_ID).unwrap_or_default();
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(BOOT_DIGITS).collect();
    format!("{:0>BOOT_DIGITS$}", digits.to_ascii_lowercase())
}

fn base_36(mut number: u32, digits: usize) -> String {
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize];
        number /= 36;
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_fits_an_interface_and_tells_its_owner() {
        let name = fresh();
        assert!(name.len() < 15, "{name}");
        assert_eq!(owner(&name), Some((boot().as_str(), std::process::id())));
        assert_ne!(name, fresh());
        assert!(!is_orphan(&name));
    }

    #[test]
    fn only_these_names_have_an_owner() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(name_in(text), expect, "{text}");
        check("tl3fa2000zz01", Some("tl3fa2000zz01"));
        check("tl3fa2000zz01v0", Some("tl3fa2000zz01"));
        check("tl3fa2000zz0", None);
        check("tl3fa2000ZZ01", None);
        check("tlxxxx000zz01", None);
        check("eth3fa2000zz01", None);
        check("tl12x3", None);
        check("tl3fa2000zz0é", None);
    }

    #[test]
    fn an_owner_is_gone_with_its_process_or_its_boot() {
        let check = |of: (&str, u32), expect: bool| {
            assert_eq!(is_orphan_at(&name(of.0, of.1, 7), "ab12", |pid| pid == 42), expect, "{of:?}");
        };
        check(("ab12", 42), false);
        check(("ab12", 43), true);
        check(("ab13", 42), true);
        assert!(!is_orphan_at("docker0", "ab12", |_| false), "it has no owner of ours");
    }

    proptest! {
        #[test]
        fn every_process_has_a_name(boot in "[0-9a-f]{4}", pid in 0u32..1 << 22, count in 0u32..1296) {
            let name = name(&boot, pid, count);
            prop_assert_eq!(name.len(), LENGTH);
            prop_assert_eq!(owner(&name), Some((boot.as_str(), pid)));
        }

        #[test]
        fn any_text_has_a_name_or_none(text in any::<String>()) {
            let _ = name_in(&text);
        }
    }
}
