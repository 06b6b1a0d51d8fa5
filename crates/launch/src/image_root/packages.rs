//! Debian packages that are installed here, with those that they depend on, in the root of an image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{ImageRoot, inside};
use crate::tool::run;
use crate::{Error, Spec};

/// The package that has `dpkg-query`.
const DPKG: &str = "dpkg";
/// Packages that install software or start services on a machine, useless in an image: dependencies are not followed
/// through them.
const SET_UP: [&str; 9] = [
    "adduser",
    "debconf",
    "dpkg",
    "init-system-helpers",
    "install-info",
    "lsb-base",
    "sysvinit-utils",
    "systemd",
    "ucf",
];
/// Folders of files that no running program reads.
const NOT_READ: [&str; 11] = [
    "/etc/cron.daily",
    "/etc/init.d",
    "/etc/logrotate.d",
    "/lib/systemd",
    "/usr/include",
    "/usr/lib/systemd",
    "/usr/share/bug",
    "/usr/share/doc",
    "/usr/share/lintian",
    "/usr/share/locale",
    "/usr/share/man",
];
/// Debian's folder of alternatives: the program selected for each shared name.
const ALTERNATIVES: &str = "/var/lib/dpkg/alternatives";
const CHOSEN: &str = "/etc/alternatives";
/// Where Debian has the extensions of PHP, a folder for each of its interfaces.
const EXTENSIONS: &str = "usr/lib/php";

impl ImageRoot {
    /// Adds the files of these Debian packages, and of those that they depend on, as they are installed here.
    ///
    /// Errors: one is not installed; files cannot be copied.
    pub fn packages(&self, names: &[String]) -> Result<(), Error> {
        let asked = "${Package}\t${db:Status-Status}\t${Provides}\t${Pre-Depends}, ${Depends}\n";
        let query = Spec::new("dpkg-query", "dpkg-query").args(["-W", "-f", asked]);
        let installed = Installed::read(&run(query, DPKG)?);
        let all = installed.needed(names).map_err(|name| Error::NotFound {
            name: "image".into(),
            program: name.clone().into(),
            hint: format!("install it: apt-get install {name}"),
        })?;
        let list = Spec::new("dpkg-query", "dpkg-query").arg("-L").args(all);
        for path in run(list, DPKG)?.lines().filter(|path| is_read(path)) {
            let path = Path::new(path);
            self.os(path, || self.of_package(path))?;
        }
        self.alternatives()
    }

    /// Removes the lines by which PHP here loads extensions that the image does not have.
    ///
    /// Errors: a file cannot be removed.
    pub(super) fn extensions(&self) -> Result<(), Error> {
        let below =
            |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let has = |name: &str| {
            let mut folders = below(&self.folder.join(EXTENSIONS));
            folders.any(|folder| folder.join(format!("{name}.so")).is_file())
        };
        let versions = below(&self.folder.join("etc/php"));
        let folders = versions.flat_map(|version| below(&version).collect::<Vec<_>>());
        for file in folders.flat_map(|one| below(&one.join("conf.d")).collect::<Vec<_>>()) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if text.lines().filter_map(extension).any(|name| !has(name)) {
                self.os(&file, || fs::remove_file(&file))?;
            }
        }
        Ok(())
    }

    /// Copies one file unchanged; the target of a link is a packaged file too.
    fn of_package(&self, path: &Path) -> io::Result<()> {
        // A file listed by dpkg may have been removed by the administrator.
        let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
        let to = inside(&self.folder, path);
        if found.is_dir() {
            return fs::create_dir_all(&to);
        }
        fs::create_dir_all(to.parent().unwrap_or(&self.folder))?;
        if found.is_symlink() {
            // /bin and the like are there.
            return if to.symlink_metadata().is_ok() { Ok(()) } else { symlink(fs::read_link(path)?, to) };
        }
        fs::copy(path, &to)?;
        let mode = if found.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(&to, Permissions::from_mode(mode))
    }

    /// Makes the links of `update-alternatives` that lead to something: `/usr/bin/php` to that of version 8.2.
    fn alternatives(&self) -> Result<(), Error> {
        for entry in fs::read_dir(ALTERNATIVES).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            for (name, link) in links(&name, &text) {
                let chosen = Path::new(CHOSEN).join(&name);
                // One may lead to another, of a package that is not wanted.
                let Ok(target) = fs::canonicalize(&chosen) else { continue };
                if inside(&self.folder, &target).exists() {
                    self.link(&chosen, &target)?;
                    self.link(&link, &chosen)?;
                }
            }
        }
        Ok(())
    }
}

/// Names and links of one file of the alternatives: the mode, the link of the first, then name and link of each that goes with it, up
/// to an empty line. Source: `update-alternatives(1)`, its administrative files.
fn links(name: &str, text: &str) -> Vec<(String, PathBuf)> {
    let mut lines = text.lines().skip(1);
    let mut all: Vec<(String, PathBuf)> =
        lines.next().map(|link| (name.to_owned(), link.into())).into_iter().collect();
    while let Some(name) = lines.next().filter(|line| !line.is_empty()) {
        let Some(link) = lines.next() else { break };
        all.push((name.to_owned(), link.into()));
    }
    all
}

fn is_read(path: &str) -> bool {
    path.starts_with('/')
        && path != "/."
        && !NOT_READ.iter().any(|folder| Path::new(path).starts_with(folder))
}

struct Installed {
    /// For each package its dependencies; each is a group of packages, one of which is needed.
    needs: BTreeMap<String, Vec<Vec<String>>>,
    /// The packages that stand for a name.
    provided: BTreeMap<String, String>,
}

impl Installed {
    /// Parses lines of name, status, provided names and dependencies.
    fn read(said: &str) -> Installed {
        let (mut needs, mut provided) = (BTreeMap::new(), BTreeMap::new());
        for line in said.lines() {
            let mut fields = line.split('\t');
            let (Some(name), Some("installed")) = (fields.next(), fields.next()) else { continue };
            for one in fields.next().unwrap_or_default().split(',').filter_map(package) {
                provided.insert(one, name.to_owned());
            }
            let groups = fields.next().unwrap_or_default().split(',');
            let groups = groups.map(|group| group.split('|').filter_map(package).collect::<Vec<_>>());
            needs.insert(name.to_owned(), groups.filter(|group| !group.is_empty()).collect());
        }
        Installed { needs, provided }
    }

    /// The package that `name` means; `None` if not installed.
    fn known(&self, name: &str) -> Option<&str> {
        let own = self.needs.get_key_value(name).map(|(name, _)| name);
        own.or_else(|| self.provided.get(name)).map(String::as_str)
    }

    /// `names` and all that they depend on. Errors: the first of `names` that is not installed.
    fn needed(&self, names: &[String]) -> Result<BTreeSet<String>, String> {
        let mut all = BTreeSet::new();
        let mut open: Vec<&str> = Vec::new();
        for name in names {
            open.push(self.known(name).ok_or_else(|| name.clone())?);
        }
        while let Some(name) = open.pop() {
            if SET_UP.contains(&name) || !all.insert(name.to_owned()) {
                continue;
            }
            let groups = self.needs.get(name).into_iter().flatten();
            open.extend(groups.filter_map(|group| group.iter().find_map(|one| self.known(one))));
        }
        Ok(all)
    }
}

/// The name in `zend_extension=opcache.so`.
fn extension(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    let is_one = ["extension", "zend_extension"].contains(&key.trim());
    is_one.then(|| value.trim().trim_matches('"').trim_end_matches(".so"))
}

/// The name in `libc6:any (>= 2.36)`.
fn package(text: &str) -> Option<String> {
    let name = text.trim().split([' ', '(', ':']).next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "php\tinstalled\t\t, php8.2 (>= 1) | php9, ucf\nphp8.2\tinstalled\tphp-json (= 1)\tlibc6:any (>= 2), \n\
                        libc6\tinstalled\t\t, \nucf\tinstalled\t\t, perl\nperl\tinstalled\t\t\nold\tconfig-files\t\t\n";

    #[test]
    fn a_package_needs_others() {
        let installed = Installed::read(SAID);
        let check = |name: &str, expect: Result<&[&str], &str>| {
            let found = installed.needed(&[name.to_owned()]);
            let expect = expect
                .map(|all| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>())
                .map_err(str::to_owned);
            assert_eq!(found, expect, "{name}");
        };
        check("php", Ok(&["libc6", "php", "php8.2"]));
        check("php-json", Ok(&["libc6", "php8.2"]));
        check("libc6", Ok(&["libc6"]));
        check("old", Err("old"));
        check("none", Err("none"));
    }

    #[test]
    fn alternatives_have_links() {
        let text = "auto\n/usr/bin/php\nphp.1.gz\n/usr/share/man/man1/php.1.gz\n\n/usr/bin/php8.2\n82\n";
        let found = links("php", text);
        assert_eq!(found[0], ("php".into(), PathBuf::from("/usr/bin/php")));
        assert_eq!(found[1].0, "php.1.gz");
        assert_eq!(found.len(), 2);
        assert_eq!(links("x", ""), []);
        assert_eq!(links("x", "auto\n/a\nb"), [("x".to_owned(), PathBuf::from("/a"))]);
    }

    #[test]
    fn extensions_that_are_not_there_are_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let root = ImageRoot::bare(&folder.path().join("root")).unwrap();
        let (ini, modules) =
            (root.folder().join("etc/php/8.2/cli/conf.d"), root.folder().join("usr/lib/php/2022"));
        for made in [&ini, &modules] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(modules.join("apcu.so"), "").unwrap();
        let files = ["; priority\nextension=apcu.so\n", "zend_extension = opcache\n", "apc.enabled=1\n"];
        for (number, text) in files.iter().enumerate() {
            fs::write(ini.join(format!("{number}.ini")), text).unwrap();
        }
        root.extensions().unwrap();
        let left = ["0.ini", "1.ini", "2.ini"].map(|name| ini.join(name).exists());
        assert_eq!(left, [true, false, true]);
    }

    #[test]
    fn documents_are_left_out() {
        for path in
            ["/usr/share/doc/a", "/usr/share/man/man1/a", "/.", "locally diverted", "/lib/systemd/system/a"]
        {
            assert!(!is_read(path), "{path}");
        }
        assert!(is_read("/usr/bin/php8.2") && is_read("/usr/share/documents"));
    }
}
