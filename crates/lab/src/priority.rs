//! The priority of the measurement's processes: other programs are to wait for them, not they for other programs.

use rustix::process::{getpriority_process, setpriority_process};

/// The nice value of the highest priority. Source: `setpriority(2)`.
const HIGHEST: i32 = -20;

/// Gives this thread, and all threads and processes that it starts from now on, the highest priority among ordinary
/// programs.
///
/// Without effect if this process may not (no root, no `CAP_SYS_NICE`, no `RLIMIT_NICE`), or was started with a nice value
/// other than 0, which its user chose.
pub fn raise_priority() {
    if nice() == 0 {
        let _ = setpriority_process(None, HIGHEST);
    }
}

/// The nice value of the measurement, if it is not the usual one, for the reader of a result.
pub(crate) fn note() -> Option<String> {
    let nice = nice();
    (nice != 0).then(|| format!("Their nice value is {nice}."))
}

/// The nice value of this thread; 0 if unknown.
fn nice() -> i32 {
    getpriority_process(None).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_started_afterwards_has_the_priority() {
        let thread = || {
            let before = nice();
            raise_priority();
            let child = std::process::Command::new("nice").output().expect("coreutils");
            (before, nice(), String::from_utf8(child.stdout).unwrap().trim().parse::<i32>().unwrap())
        };
        let (before, after, of_child) = std::thread::spawn(thread).join().unwrap();
        assert_eq!(after, of_child);
        // Another value than the usual one is kept, and one that is not permitted has no effect.
        assert!(after == before || (before == 0 && after == HIGHEST), "{before} {after}");
    }

    #[test]
    fn a_chosen_priority_is_kept() {
        let thread = || {
            setpriority_process(None, nice() + 1).unwrap();
            let chosen = nice();
            raise_priority();
            (chosen, nice(), note())
        };
        let (chosen, after, note) = std::thread::spawn(thread).join().unwrap();
        // 0 is the default, and does not count as chosen.
        assert!(chosen == 0 || after == chosen, "{chosen} {after}");
        assert!(after == 0 || note.is_some_and(|note| note.contains(&after.to_string())));
    }
}
