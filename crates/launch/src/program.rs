use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders that may hold servers even if a user's `PATH` lacks them.
pub(crate) const BESIDE_PATH: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"];

/// The first executable file called `name` in `PATH` or in the system's folders for programs.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(BESIDE_PATH.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_what_can_run() {
        let check = |name: &str, expect: bool| assert_eq!(find_program(name).is_some(), expect, "{name}");
        check("sh", true);
        check("no-such-program-here", false);
        check("../../etc/passwd", false);
    }
}
