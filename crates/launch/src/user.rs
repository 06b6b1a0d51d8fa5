use std::path::Path;

/// An account to run a process under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its name.
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// Its main group's id.
    pub gid: u32,
}

impl User {
    /// The unprivileged account, `nobody`, if this process can change to it.
    ///
    /// `None` if the account does not exist or the user namespace (of a rootless container) does not hold it.
    pub fn nobody() -> Option<User> {
        // Full names in it may be in another encoding.
        let read = |path: &str| host::read_lossy(Path::new(path)).unwrap_or_default();
        let user = in_passwd(&read("/etc/passwd"), "nobody")?;
        let mapped = is_mapped(&read("/proc/self/uid_map"), user.uid)
            && is_mapped(&read("/proc/self/gid_map"), user.gid);
        mapped.then_some(user)
    }

    /// Whether this process runs as root.
    pub fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }
}

/// The entry of `name` in the text of `/etc/passwd`. Source: `passwd(5)`.
fn in_passwd(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (found, _password) = (fields.next()?, fields.next()?);
        let (uid, gid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (found == name).then(|| User { name: name.into(), uid, gid })
    })
}

/// Whether `id` exists inside this user namespace. Source: `user_namespaces(7)`: first id inside, outside, count.
fn is_mapped(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map_while(|n| n.parse::<u64>().ok());
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(first), Some(_), Some(count)) => (first..first + count).contains(&u64::from(id)),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_entry_in_passwd() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nnobody:x:65534:65533:n:/:/bin/false\n";
        let check = |name: &str, expect: Option<(u32, u32)>| {
            assert_eq!(in_passwd(passwd, name).map(|u| (u.uid, u.gid)), expect, "{name}");
        };
        check("nobody", Some((65534, 65533)));
        check("root", Some((0, 0)));
        check("broken", None);
        check("daemon", None);
    }

    #[test]
    fn knows_which_ids_a_namespace_holds() {
        let check =
            |map: &str, id: u32, expect: bool| assert_eq!(is_mapped(map, id), expect, "{id} in {map}");
        check("         0          0 4294967295\n", 65534, true);
        check("0 1000 1\n", 65534, false);
        check("0 1000 1\n1 100000 65536\n", 65534, true);
        check("", 0, false);
    }
}
