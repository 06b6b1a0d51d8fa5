//! Files of locally installed npm packages; packages are never downloaded.

use std::env;
use std::path::{Path, PathBuf};

/// The variable that names a folder of packages.
const VARIABLE: &str = "TAILLIGHT_NODE_MODULES";
/// Folder in which `cargo xtask tools` installs packages, relative to the folder of a build: `target/debug`.
const TOOLS: &str = "../tools/player/node_modules";
/// Folders of Debian's packages and of npm's global ones.
const SYSTEM: [&str; 3] = ["/usr/share/nodejs", "/usr/local/lib/node_modules", "/usr/lib/node_modules"];

/// The file `name`, `hls.js/dist/hls.min.js`, of the first folder that has it; `exe` is this program.
pub(crate) fn find(name: &str, exe: &Path) -> Option<PathBuf> {
    let named = env::var_os(VARIABLE).map(PathBuf::from);
    found(name, named.into_iter().chain(folders(exe)))
}

fn folders(exe: &Path) -> impl Iterator<Item = PathBuf> {
    let tools = exe.parent().map(|folder| folder.join(TOOLS));
    tools.into_iter().chain(SYSTEM.map(PathBuf::from))
}

fn found(name: &str, mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_first_folder_that_has_a_file_gives_it() {
        let root = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| root.path().join(name));
        let name = "hls.js/dist/hls.min.js";
        let look = || found(name, [one.clone(), two.clone()].into_iter());
        assert_eq!(look(), None);
        for folder in [&two, &one] {
            fs::create_dir_all(folder.join("hls.js/dist")).unwrap();
            fs::write(folder.join(name), "x").unwrap();
            assert_eq!(look(), Some(folder.join(name)));
        }
    }

    #[test]
    fn a_build_finds_what_the_tools_installed() {
        let root = tempfile::tempdir().unwrap();
        let exe = root.path().join("target/debug/taillight");
        let modules = root.path().join("target/tools/player/node_modules/a");
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(exe.parent().unwrap()).unwrap();
        fs::write(modules.join("b.js"), "x").unwrap();
        let file = found("a/b.js", folders(&exe)).unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), "x");
    }
}
