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
