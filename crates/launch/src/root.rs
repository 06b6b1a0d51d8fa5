//! The files visible in a container: one program and the libraries that it needs, nothing more.
//!
//! They are copies of this machine's own files, so that the same binary runs in every form and no image registry is
//! needed.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::tool::run;
use crate::{Error, Spec, User};

/// Folders that containers mount something on, or programs expect.
const FOLDERS: [&str; 6] = ["dev", "etc", "proc", "run", "sys", "tmp"];
/// The accounts that the program may look up.
const PASSWD: &str = "root:x:0:0:root:/:/bin/false\n";

/// Makes a root folder at `root` with `programs`, at the paths that they have here.
///
/// Errors: one is not there, its libraries are not known, or the folder cannot be written to.
pub(crate) fn make(root: &Path, programs: &[&Path]) -> Result<(), Error> {
    let os = |doing| {
        let name = programs.first().map_or_else(String::new, |program| program.display().to_string());
        move |source| Error::Os { name, doing, source }
    };
    let writing = "cannot copy it and its libraries for a container";
    for folder in FOLDERS {
        fs::create_dir_all(root.join(folder)).map_err(os(writing))?;
    }
    let unprivileged = User::nobody()
        .map_or(String::new(), |user| format!("{}:x:{}:{}::/:/bin/false\n", user.name, user.uid, user.gid));
    fs::write(root.join("etc/passwd"), format!("{PASSWD}{unprivileged}")).map_err(os(writing))?;
    for program in programs {
        for file in libraries(program)?.iter().map(PathBuf::as_path).chain([*program]) {
            copy(file, root).map_err(os(writing))?;
        }
    }
    // Another account runs the program, so do not depend on this process's umask.
    open(root).map_err(os(writing))
}

/// The shared libraries of `program`, as the dynamic loader finds them; none for a static one.
pub(crate) fn libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    match run(question(program), "libc-bin") {
        Ok(said) => Ok(of_ldd(&said)),
        // For a program without libraries, it fails with this message.
        Err(Error::Died { stderr, .. }) if stderr.iter().any(|line| is_of_static(line)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The question to `ldd`, whose messages are translated but in the C locale.
fn question(program: &Path) -> Spec {
    Spec::new("ldd", "ldd").arg(program.display().to_string()).env("LC_ALL", "C")
}

/// Whether `ldd` says so of a static program. Source: glibc's `ldd.bash.in` and musl's `dynlink.c`.
fn is_of_static(line: &str) -> bool {
    line.contains("not a dynamic executable") || line.contains("Not a valid dynamic program")
}

/// The files that `ldd` names: `libm.so.6 => /lib/libm.so.6 (0x7f…)`, `/lib64/ld-linux-x86-64.so.2 (0x7f…)`. The kernel's
/// own, `linux-vdso.so.1`, has no path.
fn of_ldd(said: &str) -> Vec<PathBuf> {
    let file = |line: &str| {
        let line = line.trim();
        let place = line.split_once(" => ").map_or(line, |(_, place)| place);
        let path = place.rsplit_once(" (").map_or(place, |(path, _)| path);
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    said.lines().filter_map(file).collect()
}

/// Copies a file to the same path under `root`; a link becomes a copy of its target.
fn copy(file: &Path, root: &Path) -> io::Result<()> {
    let to = inside(root, file);
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(file, to).map(drop)
}

/// The path of the absolute path `file` under `root`.
pub(crate) fn inside(root: &Path, file: &Path) -> PathBuf {
    root.join(file.strip_prefix("/").unwrap_or(file))
}

/// Lets every user read and enter, and only the owner write.
fn open(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            open(&path)?;
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ldd_says() {
        let check = |said: &str, expect: &[&str]| {
            let files: Vec<String> = of_ldd(said).iter().map(|file| file.display().to_string()).collect();
            assert_eq!(files, expect, "{said}");
        };
        check(
            "\tlinux-vdso.so.1 (0x00007ffd)\n\
             \tlibevent-2.1.so.7 => /lib/x86_64-linux-gnu/libevent-2.1.so.7 (0x00007f68)\n\
             \tlib with space.so => /opt/a b/lib.so (0x00007f68)\n\
             \t/lib64/ld-linux-x86-64.so.2 (0x00007f68)\n",
            &["/lib/x86_64-linux-gnu/libevent-2.1.so.7", "/opt/a b/lib.so", "/lib64/ld-linux-x86-64.so.2"],
        );
        check("\tstatically linked\n", &[]);
        check("\tlibgone.so => not found\n", &[]);
        check("", &[]);
    }

    #[test]
    fn a_static_program_is_known_in_any_locale() {
        let asked = question(Path::new("/bin/server"));
        assert_eq!(
            (asked.args, asked.env),
            (vec!["/bin/server".into()], vec![("LC_ALL".into(), "C".into())])
        );
        assert!(is_of_static("\tnot a dynamic executable"));
        assert!(is_of_static("/lib/ld-musl-x86_64.so.1: /bin/server: Not a valid dynamic program"));
        assert!(!is_of_static("ldd: /bin/server: No such file or directory"));
    }

    #[test]
    fn a_root_holds_a_program_that_runs_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let shell = fs::canonicalize("/bin/sh").unwrap();
        make(&root, &[&shell]).unwrap();
        assert!(fs::read_to_string(root.join("etc/passwd")).unwrap().starts_with("root:"));
        assert_eq!(fs::read(inside(&root, &shell)).unwrap(), fs::read(&shell).unwrap());
        if !User::is_root() {
            println!("skipped: needs root");
            return;
        }
        let words = [root.display().to_string(), shell.display().to_string(), "-c".into(), "echo in".into()];
        assert_eq!(run(Spec::new("chroot", "chroot").args(words), "coreutils").unwrap(), "in");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = make(folder.path(), &[Path::new("/no/such/server")]).unwrap_err().to_string();
        assert!(error.contains("/no/such/server"), "{error}");
    }
}
