//! The shared libraries of a program, which it takes along into a container.

use std::path::{Path, PathBuf};

use crate::tool::run;
use crate::{Error, Spec};

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
}
