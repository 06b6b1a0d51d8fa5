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

/// A mounted file system, or a part of it.
pub struct MountPoint {
    /// The number of its device: `254:1`.
    pub number: String,
    /// The folder of the file system, or the control group, at which the visible part begins.
    pub root: String,
    /// The folder at which the file system is mounted.
    pub at: String,
    /// The type of the file system: `ext4`, `cgroup` (version 1), `cgroup2`.
    pub kind: String,
    /// The device, or another name.
    pub source: String,
    /// The options of the file system, with commas between them.
    pub options: String,
}

/// The mounts in the text of a file `mountinfo`. Source: `proc_pid_mountinfo(5)`.
pub fn mount_points(text: &str) -> impl Iterator<Item = MountPoint> {
    text.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2).map(unescaped);
        let mut kind = kind.split(' ').map(unescaped);
        Some(MountPoint {
            number: place.next()?,
            root: place.next()?,
            at: place.next()?,
            kind: kind.next()?,
            source: kind.next()?,
            options: kind.next()?,
        })
    })
}

/// A field of a list of mounts without its escapes. Source: `getmntent(3)`: `\040` is a space.
fn unescaped(word: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        let check = |text: &str, expect: &str| assert_eq!(unescaped(text), expect);
        check("/a\\040b\\011c", "/a b\tc");
        check("/a\\134b", "/a\\b");
        check("/a\\9", "/a\\9");
        check("", "");
    }
}
