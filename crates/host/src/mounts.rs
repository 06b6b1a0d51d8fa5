use crate::tree::Tree;

/// A file system that this process sees. Source: `proc_pid_mounts(5)`.
pub(crate) struct Mount {
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) options: Vec<String>,
}

pub(crate) fn mounts(tree: &Tree) -> Vec<Mount> {
    tree.text("proc/self/mounts").unwrap_or_default().lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mount> {
    let mut words = line.split_whitespace().skip(1);
    let (at, kind, options) = (words.next()?, words.next()?, words.next()?);
    // The kernel writes a space as `\040`; no mount point of interest here has one.
    let options = options.split(',').map(str::to_owned).collect();
    Some(Mount { at: at.to_owned(), kind: kind.to_owned(), options })
}

/// A mounted hierarchy of control groups, or a part of it.
pub(crate) struct GroupMount {
    /// The group at which the visible part begins.
    pub(crate) root: String,
    pub(crate) at: String,
    /// `cgroup` (version 1) or `cgroup2`.
    pub(crate) kind: String,
    options: String,
}

impl GroupMount {
    /// Whether it was mounted with `name`, such as a controller of version 1.
    pub(crate) fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }
}

/// The mounted hierarchies in the text of a file `mountinfo`. Source: `proc_pid_mountinfo(5)`.
pub(crate) fn group_mounts(text: &str) -> Vec<GroupMount> {
    let parse = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3).map(unescaped);
        let mut kind = kind.split(' ').map(str::to_owned);
        let (root, at, kind, options) = (place.next()?, place.next()?, kind.next()?, kind.nth(1)?);
        kind.starts_with("cgroup").then_some(GroupMount { root, at, kind, options })
    };
    text.lines().filter_map(parse).collect()
}

/// A field of a list of mounts without its escapes. Source: `getmntent(3)`: `\040` is a space.
pub fn unescaped(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => text += &format!("{}{}", char::from(byte), &part[3..]),
            None => text += &format!("\\{part}"),
        }
    }
    text
}
