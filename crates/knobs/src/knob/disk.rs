//! Disk knobs: read limits and read-ahead.

use std::path::{Component, Path, PathBuf};

use host::{MountPoint, mount_points};

use super::quantity::{self, BYTES};
use super::value::{at_folder, behind};
use super::{About, Definition};
use crate::plan::Planner;
use crate::{Error, Kernel, Syntax};

/// The smallest page: the kernel reads ahead in whole pages. Units: bytes.
const PAGE: u64 = 4 << 10;
/// Stacked file systems that are followed: a container's on the host's, and one to spare.
const DEPTH: usize = 4;

/// A disk as the kernel numbers it.
struct Disk {
    /// `254:0`.
    number: String,
    /// The file system if it uses virtual devices of its own, such as btrfs; `None` if it is directly on the disk.
    by_way_of: Option<String>,
}

/// `disk.read=10MiB`, `disk.read=10MiB@/srv`: the read rate per second from the disk that holds a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRead {
    /// Units: bytes per second.
    pub bytes: u64,
    /// The folder; `None`: the subject's.
    pub at: Option<PathBuf>,
}

pub(super) const DISK_READ: Definition<DiskRead> = Definition {
    about: About {
        name: "disk.read",
        does: "what they read in a second from a disk",
        syntax: "a size in a second, and a folder on the disk if it is another than what is served: disk.read=10MiB@/srv",
        source: "ISPASS'16 §VI-B: a video server waits for its disks; Table III has ten of 15 000 rpm, which few machines have",
    },
    read: |value| {
        let (size, at) = at_folder(value)?;
        Some(DiskRead { bytes: quantity::read(size, BYTES)?, at })
    },
    write: |read| quantity::write(read.bytes, BYTES) + &behind(read.at.as_deref()),
    plan: |read, planner| {
        let disk = planner.disk(read.at.as_deref())?;
        let has_first = planner.host.cgroups.holding("blkio").is_some();
        let group = planner.group(if has_first { "blkio" } else { "io" })?;
        if group.version == 1 {
            let value = format!("{} {}", disk.number, read.bytes);
            planner.write_inside(&group.folder, "blkio.throttle.read_bps_device", &value, Syntax::Text);
        } else {
            let value = format!("{} rbps={}", disk.number, read.bytes);
            planner.write_inside(&group.folder, "io.max", &value, Syntax::Limits);
        }
        Ok(())
    },
};

/// `read-ahead=128KiB`, `read-ahead=128KiB@/srv`: the read-ahead of the disk that holds a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadAhead {
    /// Units: bytes.
    pub bytes: u64,
    /// The folder; `None`: the subject's.
    pub at: Option<PathBuf>,
}

pub(super) const READ_AHEAD: Definition<ReadAhead> = Definition {
    about: About {
        name: "read-ahead",
        does: "how far a disk is read ahead of what is asked for",
        syntax: "a size or 0, and a folder as of disk.read, such as read-ahead=128KiB or read-ahead=128KiB@/srv",
        source: "Linux, sysfs-block: read_ahead_kb; ranges of videos cost more than they hold where it is larger than they are",
    },
    read: |value| {
        let (size, at) = at_folder(value)?;
        Some(ReadAhead { bytes: quantity::read_or_0(size, BYTES)?, at })
    },
    write: |ahead| quantity::write_or_0(ahead.bytes, BYTES) + &behind(ahead.at.as_deref()),
    plan: |ahead, planner| {
        if !ahead.bytes.is_multiple_of(PAGE) {
            return Err(planner.usage("the kernel reads whole pages ahead", "write a multiple of 4KiB"));
        }
        let disk = planner.disk(ahead.at.as_deref())?;
        if let Some(kind) = disk.by_way_of {
            let limit = format!("{kind} reads ahead by a measure of its own, and not by its disk's");
            return Err(planner.unsupported(limit, "leave it out, or lay the files on ext4 or XFS"));
        }
        let file = format!("/sys/dev/block/{}/queue/read_ahead_kb", disk.number);
        planner.write(file.into(), &(ahead.bytes >> 10).to_string(), Syntax::Text)
    },
};

impl Planner<'_> {
    /// The disk that holds `at`, or the subject's folder.
    ///
    /// Errors: both are missing; no disk holds it.
    fn disk(&self, at: Option<&Path>) -> Result<Disk, Error> {
        let Some(path) = at.or(self.subject.folder.as_deref()) else {
            let hint =
                "name a folder on it behind an @, such as disk.read=10MiB@/srv or read-ahead=128KiB@/srv";
            return Err(self.usage("it acts on a disk, and no folder that lies on one is named", hint));
        };
        let mut path = path.to_owned();
        if self.subject.root == Path::new("/") {
            path = path
                .canonicalize()
                .map_err(|e| self.usage(format!("{}: {e}", path.display()), "name a folder that is there"))?;
        }
        let mounts = self.text("/proc/self/mountinfo").unwrap_or_default();
        self.disk_below(&mounts, path, DEPTH)
    }

    fn disk_below(&self, mounts: &str, path: PathBuf, depth: usize) -> Result<Disk, Error> {
        let unsupported = |what: &str| {
            let limit = format!("{} lies on {what}, which is not on a disk of this machine", path.display());
            Err(self.unsupported(limit, "name a folder on a disk"))
        };
        let Some(mount) = mount_of(mounts, &path) else { return unsupported("no mounted file system") };
        if let Some(upper) = upper(&mount).filter(|_| depth > 0) {
            return self.disk_below(mounts, upper, depth - 1);
        }
        let is_virtual = mount.number.starts_with("0:");
        let number = if is_virtual {
            let name = self.device_of(&mount.source);
            if let Some(others) = name.as_deref().and_then(|name| self.together_with(name)) {
                let limit = format!(
                    "{} lies on {} over {} devices at once ({}), and one of them is all that is set",
                    path.display(),
                    mount.kind,
                    others.len(),
                    others.join(", ")
                );
                return Err(self.unsupported(limit, "lay the files on a file system of one disk"));
            }
            name.and_then(|name| self.text(&format!("/sys/class/block/{name}/dev")))
        } else {
            Some(mount.number)
        };
        let Some(number) = number else { return unsupported(&mount.kind) };
        let folder = format!("/sys/dev/block/{number}");
        // Limits apply to a whole disk; a partition's folder lies in its disk's.
        let whole = match self.text(&format!("{folder}/partition")) {
            Some(_) => self.text(&format!("{folder}/../dev")),
            None => self.text(&format!("{folder}/dev")),
        };
        match whole {
            Some(number) => Ok(Disk { number, by_way_of: is_virtual.then_some(mount.kind) }),
            None => unsupported(&mount.kind),
        }
    }

    /// The kernel's name of a device that a file system names as its source: `sdb` of `/dev/sdb`, `dm-0` of
    /// `/dev/mapper/NAME`. Source: `sysfs-block-dm`.
    fn device_of(&self, source: &str) -> Option<String> {
        let name = source.strip_prefix("/dev/")?;
        let Some(mapped) = name.strip_prefix("mapper/") else {
            return (!name.contains('/')).then(|| name.to_owned());
        };
        let all = self.here.list(Path::new("/sys/class/block")).unwrap_or_default();
        all.into_iter().find(|device| {
            self.text(&format!("/sys/class/block/{device}/dm/name")).as_deref() == Some(mapped)
        })
    }

    /// The devices of the btrfs that this one belongs to, if several. Source: `sysfs-fs-btrfs`: one folder for each
    /// file system, in which `devices` names them.
    fn together_with(&self, device: &str) -> Option<Vec<String>> {
        let all = self.here.list(Path::new("/sys/fs/btrfs")).ok()?;
        let devices = |id: &String| self.here.list(&Path::new("/sys/fs/btrfs").join(id).join("devices")).ok();
        let mut found = all.iter().filter_map(devices);
        found.find(|devices| devices.len() > 1 && devices.iter().any(|one| one == device))
    }
}

/// For an overlay file system, such as a container's: the folder on the underlying file system.
fn upper(mount: &MountPoint) -> Option<PathBuf> {
    let option = |name: &str| mount.options.split(',').find_map(|option| option.strip_prefix(name));
    let lower = || option("lowerdir=").and_then(|all| all.split(':').next());
    (mount.kind == "overlay").then(|| option("upperdir=").or_else(lower)).flatten().map(PathBuf::from)
}

/// The mount that holds `path`: the last of the deepest ones.
fn mount_of(mounts: &str, path: &Path) -> Option<MountPoint> {
    let is_folder = |part: &Component<'_>| *part != Component::RootDir;
    let depth = |mount: &MountPoint| Path::new(&mount.at).components().filter(is_folder).count();
    mount_points(mounts).filter(|mount| path.starts_with(&mount.at)).max_by_key(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 27 0:21 / /proc rw - proc proc rw\n\
        27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard\n\
        28 27 8:16 / /srv/my\\040videos rw shared:5 - xfs /dev/sdb rw\n\
        29 27 0:40 / /srv rw - btrfs /dev/sdc rw,subvol=/\n\
        30 27 0:41 / /var/lib/box rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/srv/up,workdir=/w\n\
        31 27 0:42 / /ro rw - overlay overlay ro,lowerdir=/srv/low:/b\n\
        32 27 0:43 / /tmp rw - tmpfs tmpfs rw\n\
        33 27 8:32 / /tmp rw - ext4 /dev/sdd rw\n\
        damaged\n";

    #[test]
    fn finds_what_is_mounted_where_a_path_lies() {
        let check = |path: &str, number: &str, kind: &str, expect: Option<&str>| {
            let mount = mount_of(MOUNTS, Path::new(path)).unwrap();
            assert_eq!((mount.number.as_str(), mount.kind.as_str()), (number, kind), "{path}");
            assert_eq!(upper(&mount), expect.map(PathBuf::from), "{path}");
        };
        check("/", "254:1", "ext4", None);
        check("/home/a", "254:1", "ext4", None);
        check("/srv", "0:40", "btrfs", None);
        check("/srvx", "254:1", "ext4", None);
        check("/srv/my videos/set", "8:16", "xfs", None);
        check("/var/lib/box/x", "0:41", "overlay", Some("/srv/up"));
        check("/ro", "0:42", "overlay", Some("/srv/low"));
        // Of two mounts at one place the later is on top.
        check("/tmp/x", "8:32", "ext4", None);
        assert!(mount_of("", Path::new("/")).is_none());
    }
}
