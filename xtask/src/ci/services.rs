use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program that Debian's packages ask before they start a service. Source: `invoke-rc.d(8)`,
/// `deb-systemd-invoke(1p)`.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Guard: while it lives, installed packages start no services, since the tests start servers of their own.
///
/// An existing policy of the administrator is kept.
pub(super) struct NoServices {
    file: Option<PathBuf>,
}

impl NoServices {
    pub(super) fn new() -> NoServices {
        NoServices::at(Path::new(POLICY))
    }

    fn at(file: &Path) -> NoServices {
        let is_ours = fs::read_to_string(file).is_ok_and(|text| text.contains(MARK));
        if file.exists() && !is_ours {
            return NoServices { file: None };
        }
        let written = fs::write(file, policy(std::process::id()))
            .and_then(|()| fs::set_permissions(file, fs::Permissions::from_mode(0o755)));
        NoServices { file: written.is_ok().then(|| file.to_owned()) }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // One that stays allows everything as soon as this process has ended.
            let _ = fs::remove_file(file);
        }
    }
}

const MARK: &str = "# Written by cargo xtask ci while it installs packages.";

/// The script: 101 forbids an action, 0 allows it. It forbids as long as process `pid` lives.
fn policy(pid: u32) -> String {
    format!("#!/bin/sh\n{MARK}\n[ -d /proc/{pid} ] && exit 101\nexit 0\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-services-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn forbids_services_while_it_lives_and_respects_another_policy() {
        let folder = folder();
        let file = folder.join("policy-rc.d");
        let answer = |script: &str| Command::new("sh").args(["-c", script]).status().unwrap().code();
        let policy_here = NoServices::at(&file);
        // Read by a shell: a child of another test may still have the file open for writing, and then it cannot be executed.
        assert_eq!(answer(&fs::read_to_string(&file).unwrap()), Some(101));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
        drop(policy_here);
        assert!(!file.exists());
        // The file of a killed run: process 4194304 is above the kernel's largest number.
        assert_eq!(answer(&policy(4_194_304)), Some(0));
        fs::write(&file, policy(4_194_304)).unwrap();
        drop(NoServices::at(&file));
        assert!(!file.exists());
        fs::write(&file, "#!/bin/sh\nexit 101\n").unwrap();
        drop(NoServices::at(&file));
        assert!(file.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
