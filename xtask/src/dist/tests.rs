//! The packaging of stand-in programs, and the packages installed into a copy of a Debian root.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use serde_json::{Value, json};

use super::files::sha256 as sha256_of;
use super::release::{Program, Release};
use super::{Files, Options, TARGETS, shared};
use crate::ci::tools::is_root;
use crate::command::find;

/// A release of these programs, for this machine's processors.
fn release(taillight: &[u8], sphinxd: &[u8], shared: Files) -> Release {
    let mut chart = Files::default();
    chart.add(
        "values.yaml",
        "image:\n  repository: localhost/taillight\n  digest: \"\"\nother:\n  digest: \"\"\n",
    );
    let target = TARGETS.into_iter().find(|target| target.architecture == env::consts::ARCH).unwrap();
    let program = Program { target, taillight: taillight.into(), sphinxd: sphinxd.into() };
    Release {
        version: "1.2.3-alpha.4".into(),
        commit: "0123456789ab".into(),
        epoch: 1_764_000_000,
        date: "Mon, 24 Nov 2025 16:00:00 +0000".into(),
        timestamp: "2025-11-24T16:00:00Z".into(),
        maintainer: super::MAINTAINER.into(),
        registry: "registry.example/lab".into(),
        url: Some("https://downloads.example/v1".into()),
        license: "a licence\n".into(),
        changelog: "# Changelog\n".into(),
        readme: "# Taillight\n".into(),
        third_party: "libraries\n".into(),
        bill: json!({ "bomFormat": "CycloneDX" }),
        shared,
        chart,
        programs: vec![program],
    }
}

/// Pages and completions of the right names.
fn pages() -> Files {
    let mut files = Files::default();
    for name in ["taillight", "sphinxd"] {
        let page = format!(".TH {name} 1\n.SH NAME\n{name} \\- a stand\\-in\n");
        files.add(&format!("share/man/man1/{name}.1"), page);
        files.add(&format!("share/bash-completion/completions/{name}"), "complete -W x y\n");
        files.add(&format!("share/zsh/site-functions/_{name}"), "#compdef x\n");
        files.add(&format!("share/fish/vendor_completions.d/{name}.fish"), "complete -c x\n");
    }
    files.add("share/man/man1/taillight-load.1", ".TH taillight-load 1\n");
    files
}

fn stand_in() -> Release {
    release(b"#!/bin/sh\necho taillight\n", b"#!/bin/sh\necho sphinxd\n", pages())
}

/// The output of a program that must succeed.
fn run(program: &str, words: &[&str], folder: &Path) -> String {
    said(Command::new(program).args(words).current_dir(folder).output().unwrap())
}

fn said(output: Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// Writes the files of a release to a folder.
fn written(release: &Release) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in release.files().unwrap() {
        fs::write(folder.path().join(name), contents).unwrap();
    }
    folder
}

#[test]
fn options_are_read_or_refused_by_name() {
    let options = Options::read(&["--target", "aarch64-unknown-linux-musl", "--url", "https://x/"]).unwrap();
    assert_eq!(options.url.as_deref(), Some("https://x"));
    assert_eq!(options.profile, "dist");
    let check = |words: &[&str], expect: &str| {
        let error = Options::read(words).unwrap_err();
        assert!(error.contains(expect), "{error}");
    };
    check(&["--profil", "x"], "cannot read 'dist --profil'; there are --profile,");
    check(&["--out"], "--out needs a value");
    check(&["--target", "riscv64"], "no releases for riscv64; there are for x86_64-unknown-linux-musl and");
}

#[test]
fn the_same_programs_make_the_same_bytes_and_others_do_not() {
    let (one, two) = (stand_in().files().unwrap(), stand_in().files().unwrap());
    assert_eq!(one, two);
    let other = release(b"other", b"#!/bin/sh\necho sphinxd\n", pages()).files().unwrap();
    let differ: Vec<&str> = one
        .iter()
        .filter(|(name, contents)| other[*name] != **contents)
        .map(|(name, _)| name.as_str())
        .collect();
    let architecture = env::consts::ARCH;
    let debian = stand_in().programs[0].target.debian;
    assert_eq!(
        differ,
        [
            "SHA256SUMS".to_owned(),
            "taillight-1.2.3-alpha.4-chart.tgz".into(),
            "taillight-1.2.3-alpha.4-image.tar".into(),
            format!("taillight-1.2.3-alpha.4-{architecture}-linux.tar.gz"),
            "taillight.rb".into(),
            format!("taillight_1.2.3~alpha.4-1_{debian}.deb"),
        ]
    );
    let folder = written(&stand_in());
    if find("sha256sum").is_some() {
        run("sha256sum", &["--check", "--strict", "SHA256SUMS"], folder.path());
    }
}

#[test]
fn archives_have_sorted_files_of_root_and_one_time() {
    let archive = pages().tar("./", 42).unwrap();
    let mut archive = tar::Archive::new(&archive[..]);
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 42));
        paths.push(String::from_utf8(entry.path_bytes().into_owned()).unwrap());
    }
    assert_eq!(
        paths[..4],
        ["./", "./share/", "./share/bash-completion/", "./share/bash-completion/completions/"]
    );
    assert!(paths.is_sorted());
    let mut long = Files::default();
    long.add(&"x".repeat(101), "");
    assert!(long.tar("", 0).unwrap_err().contains("has over 100 bytes"));
}

#[test]
fn images_are_found_by_the_digests_of_their_contents() {
    let image = super::image::image(&stand_in(), "sphinxd").unwrap();
    let mut blobs = std::collections::BTreeMap::new();
    let mut archive = tar::Archive::new(&image.archive[..]);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut contents = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut contents).unwrap();
        if let Some(digest) = path.strip_prefix("blobs/sha256/").filter(|digest| !digest.is_empty()) {
            assert_eq!(sha256_of(&contents), digest);
        }
        blobs.insert(path, contents);
    }
    let follow = |descriptor: &Value| -> Value {
        let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
        let contents = &blobs[&format!("blobs/{digest}")];
        assert_eq!(descriptor["size"], contents.len());
        serde_json::from_slice(contents).unwrap_or_default()
    };
    let entry: Value = serde_json::from_slice(&blobs["index.json"]).unwrap();
    let name = &entry["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"];
    assert_eq!(name, "registry.example/lab/sphinxd:1.2.3-alpha.4");
    assert_eq!(entry["manifests"][0]["digest"], image.digest);
    let manifest = follow(&follow(&entry["manifests"][0])["manifests"][0]);
    let config = follow(&manifest["config"]);
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], json!(["/sphinxd"]));
    follow(&manifest["layers"][0]);
}

#[test]
fn the_chart_and_the_formula_name_what_belongs_to_them() {
    let release = stand_in();
    let files = release.files().unwrap();
    let digest = super::image::image(&release, "taillight").unwrap().digest;
    let chart = flate2::read::GzDecoder::new(&files["taillight-1.2.3-alpha.4-chart.tgz"][..]);
    let mut values = String::new();
    for entry in tar::Archive::new(chart).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().ends_with("values.yaml") {
            std::io::Read::read_to_string(&mut entry, &mut values).unwrap();
        }
    }
    let expect =
        format!("image:\n  repository: registry.example/lab/taillight\n  digest: {digest}\nother:\n");
    assert_eq!(values, expect + "  digest: \"\"\n");
    let formula = String::from_utf8(files["taillight.rb"].clone()).unwrap();
    let archive = format!("taillight-1.2.3-alpha.4-{}-linux.tar.gz", env::consts::ARCH);
    let sum = sha256_of(&files[&archive]);
    assert!(
        formula.contains(&format!("url \"https://downloads.example/v1/{archive}\"\n    sha256 \"{sum}\""))
    );
    assert!(!formula.contains('@') || !formula.contains("@VERSION@"), "{formula}");
    if find("ruby").is_some() {
        let folder = written(&release);
        run("ruby", &["-c", "taillight.rb"], folder.path());
    }
}

/// The values of the chart in this repository have the places that a release fills.
#[test]
fn the_own_chart_has_the_places_of_the_image() {
    let values =
        fs::read_to_string(Path::new(super::ROOT).join("deploy/kubernetes/taillight/values.yaml")).unwrap();
    let image = &values[values.find("image:\n").unwrap()..];
    let (repository, digest) = (image.find("repository: localhost/taillight"), image.find("digest: \"\""));
    assert!(repository.unwrap() < digest.unwrap() && digest.unwrap() < image.find("agents:").unwrap());
}

#[test]
fn licences_and_bill_name_the_libraries_of_the_programs_only() {
    let libraries = super::Libraries::read(Path::new(super::ROOT), &["x86_64-unknown-linux-gnu"]).unwrap();
    let bill = libraries.bill("1.2.3", "2025-11-24T16:00:00Z");
    let components = bill["components"].as_array().unwrap();
    let find = |name: &str| components.iter().find(|component| component["name"] == name);
    let rustls = find("rustls").unwrap();
    assert_eq!(rustls["hashes"][0]["content"].as_str().unwrap().len(), 64);
    assert_eq!(find("sphinx").unwrap()["type"], "application");
    // Optional formats are in; macros, dependencies of tests and of this program are not.
    assert!(find("parquet").is_some());
    assert!(["proptest", "insta", "serde_derive", "xtask"].iter().all(|name| find(name).is_none()));
    let references: Vec<&str> = components.iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
    for dependency in bill["dependencies"].as_array().unwrap() {
        for used in dependency["dependsOn"].as_array().unwrap() {
            assert!(references.contains(&used.as_str().unwrap()), "{used}");
        }
    }
    let licenses = libraries.licenses().unwrap();
    assert!(licenses.contains("rustls 0.") && !licenses.contains("sphinx 0."));
}

#[test]
fn debians_tools_read_the_packages() {
    if find("dpkg-deb").is_none() {
        return println!("skipped: no dpkg-deb here");
    }
    let release = stand_in();
    let folder = written(&release);
    let debian = release.programs[0].target.debian;
    let package = format!("sphinxd_1.2.3~alpha.4-1_{debian}.deb");
    let fields = run("dpkg-deb", &["--field", &package], folder.path());
    assert!(
        fields.contains("Package: sphinxd\n") && fields.contains("Version: 1.2.3~alpha.4-1\n"),
        "{fields}"
    );
    assert!(!fields.contains('@') || fields.matches('@').count() == 1, "a name was not filled in: {fields}");
    run("dpkg-deb", &["--raw-extract", &package, "raw"], folder.path());
    run("md5sum", &["--check", "--quiet", "DEBIAN/md5sums"], &folder.path().join("raw"));
    let listing = run("dpkg-deb", &["--contents", &package], folder.path());
    for line in [
        "-rwxr-xr-x 0/0",
        "./usr/bin/sphinxd\n",
        "./lib/systemd/system/sphinxd.service\n",
        "./etc/default/sphinxd\n",
        "./usr/share/man/man1/sphinxd.1.gz\n",
        "./usr/share/zsh/vendor-completions/_sphinxd\n",
        "./usr/share/doc/sphinxd/changelog.Debian.gz\n",
    ] {
        assert!(listing.contains(line), "'{line}' is missing in {listing}");
    }
    assert!(!listing.contains("taillight"), "{listing}");
}

#[test]
fn the_unit_is_one_that_systemd_reads() {
    if find("systemd-analyze").is_none() {
        return println!("skipped: no systemd-analyze here");
    }
    let unit = Path::new(super::ROOT).join("deploy/packages/sphinxd/sphinxd.service");
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output().unwrap();
    let problems = String::from_utf8_lossy(&verify.stderr).into_owned();
    let own: Vec<&str> = problems
        .lines()
        .filter(|line| line.contains("sphinxd.service") && !line.contains("is not executable"))
        .collect();
    assert!(own.is_empty(), "{own:?}");
    let words = ["security", "--offline=yes", "--no-pager"];
    let security = run("systemd-analyze", &[&words[..], &[unit.to_str().unwrap()]].concat(), Path::new("/"));
    let level = security.lines().last().unwrap().split(": ").last().unwrap().split(' ').next().unwrap();
    // Debian's memcached has 4.8, of 10.
    assert!(level.parse::<f64>().unwrap() < 2.0, "{security}");
}

/// Runs a script of a shell in a copy of the root `$1` that is gone afterwards, without changing the root.
const IN_A_COPY: &str = "set -e
mount --make-rprivate /
mount -t tmpfs tmpfs \"$2\"
mkdir \"$2/upper\" \"$2/work\" \"$2/root\"
mount -t overlay overlay -o \"lowerdir=$1,upperdir=$2/upper,workdir=$2/work\" \"$2/root\"
cp \"$3\"/*.deb \"$2/root/\"
mount --rbind /dev \"$2/root/dev\"
mount -t proc proc \"$2/root/proc\"
mount --bind \"$2/upper\" \"$2/root/mnt\"
ip link set lo up
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot \"$2/root\" sh -e";

/// Installs, uses and purges the packages. A line of `=` for each fact.
const INSTALL: &str = r#"
left() {
    cd /mnt
    find . ! -type d ! -type c ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/cache/*' \
        ! -path './run/*' ! -path './etc/*-' ! -name .pwd.lock ! -name '*.deb' \
        ! -regex './etc/\(passwd\|group\|shadow\|gshadow\|subuid\|subgid\)'
    cd /
}
rm -f /etc/memcached.conf
install='dpkg --force-unsafe-io -i'
$install /*.deb >/dev/null
echo "= version $(taillight --version)"
echo "= cache $(sphinxd -V)"
echo "= account $(getent passwd sphinxd | cut -d: -f1,6,7)"
echo "= enabled $(ls /etc/systemd/system/multi-user.target.wants/sphinxd.service)"
test -s /usr/share/man/man1/taillight-load.1.gz
printf '# c\n-d\nlogfile /x\n-m 128 # mib\n-p 11311\n-u memcache\n-l 127.0.0.1\n-P /run/x.pid\n' >/tmp/m.conf
echo "= printed $(/usr/libexec/sphinxd/from-memcached /tmp/m.conf 2>/dev/null)"
grep -q 'm 64' /etc/default/sphinxd
/usr/libexec/sphinxd/from-memcached --apply /tmp/m.conf >/dev/null 2>&1
. /etc/default/sphinxd
echo "= applied $OPTIONS"
echo '-m -5' >/tmp/wrong.conf
! /usr/libexec/sphinxd/from-memcached --apply /tmp/wrong.conf >/dev/null 2>&1
. /etc/default/sphinxd
echo "= kept $OPTIONS"
dpkg --remove sphinxd taillight >/dev/null
test -e /etc/default/sphinxd
dpkg --purge sphinxd taillight >/dev/null
rm /tmp/m.conf /tmp/wrong.conf
echo "= accounts $(cat /etc/passwd /etc/group | grep -c sphinxd)"
echo "= left $(left)"
echo '-m 64' >/etc/memcached.conf
$install /sphinxd*.deb | grep -q 'sphinxd is not started'
echo "= beside $(ls /etc/systemd/system/multi-user.target.wants/sphinxd.service 2>/dev/null)"
dpkg --purge sphinxd >/dev/null
"#;

/// Installs the packages into a copy of `root`, and checks the facts that the script prints.
fn install(packages: &Path, root: &Path) {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--pid", "--fork", "sh", "-c", IN_A_COPY, "sh"]);
    command.args([root, place.path(), packages]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(INSTALL.as_bytes()).unwrap();
    let printed = said(child.wait_with_output().unwrap());
    let fact = |name: &str| {
        let line = printed.lines().find_map(|line| line.strip_prefix(&format!("= {name}")));
        line.unwrap_or_else(|| panic!("no fact '{name}': {printed}")).trim().to_owned()
    };
    assert!(fact("version").starts_with("taillight "), "{printed}");
    assert!(fact("cache").starts_with("memcached 1."), "{printed}");
    assert_eq!(fact("account"), "sphinxd:/nonexistent:/usr/sbin/nologin");
    assert!(fact("enabled").ends_with("sphinxd.service"));
    assert_eq!(fact("printed"), "OPTIONS=\"-m 128 -p 11311 -l 127.0.0.1\"");
    assert_eq!(fact("applied"), "-m 128 -p 11311 -l 127.0.0.1");
    assert_eq!(fact("kept"), fact("applied"));
    assert_eq!(fact("accounts"), "0");
    assert_eq!(fact("left"), "", "{printed}");
    assert_eq!(fact("beside"), "");
}

/// The packages of the programs that the workspace's tests were built with, or the reason to skip the test. A `taillight` of
/// a debug build has 100 MB, so that only the slow test has it.
fn packages(with_taillight: bool) -> Result<tempfile::TempDir, String> {
    if !is_root() {
        return Err("only root can install packages".into());
    }
    if ["dpkg", "unshare", "ip"].iter().any(|tool| find(tool).is_none()) {
        return Err("no dpkg, unshare or ip here".into());
    }
    let place = tempfile::tempdir().unwrap();
    let tried = Command::new("unshare")
        .args([
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "sh",
            "-c",
            &IN_A_COPY.replace("cp \"$3\"/*.deb", ": #"),
            "sh",
            "/",
        ])
        .args([place.path(), place.path()])
        .stdin(Stdio::null())
        .output();
    if !tried.as_ref().is_ok_and(|output| output.status.success()) {
        return Err(format!("no copy of the root can be mounted here: {tried:?}"));
    }
    let own = env::current_exe().unwrap();
    let built: PathBuf = own.ancestors().nth(2).unwrap().into();
    let read = |name: &str| {
        let path = built.join(name);
        fs::read(&path)
            .map_err(|error| format!("{}: {error}; `cargo test --workspace` builds it", path.display()))
    };
    let small = format!("#!/bin/sh\necho taillight {}\n", env!("CARGO_PKG_VERSION")).into_bytes();
    let taillight = if with_taillight { read("taillight")? } else { small };
    let release = release(&taillight, &read("sphinxd")?, shared(&built)?);
    let folder = tempfile::tempdir().unwrap();
    for name in ["taillight", "sphinxd"] {
        let (file, contents) = super::deb::package(&release, &release.programs[0], name)?;
        fs::write(folder.path().join(file), contents).unwrap();
    }
    Ok(folder)
}

#[test]
fn packages_are_installed_used_and_purged_without_a_trace() {
    match packages(false) {
        Ok(packages) => install(packages.path(), Path::new("/")),
        Err(why) => println!("skipped: {why}"),
    }
}

#[test]
#[ignore = "makes a Debian root, a minute"]
fn packages_are_installed_into_a_bare_debian() {
    if find("mmdebstrap").is_none() {
        return println!("skipped: no mmdebstrap here; apt-get install mmdebstrap");
    }
    match packages(true) {
        Ok(packages) => {
            let root = tempfile::tempdir().unwrap();
            let at = root.path().to_str().unwrap();
            let system = fs::read_to_string("/etc/os-release").unwrap();
            let suite = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap();
            // With the dependencies of the packages, as dpkg installs none.
            let words = ["--variant=minbase", "--include=adduser,init-system-helpers", "--quiet", suite, at];
            run("mmdebstrap", &words, Path::new("/"));
            install(packages.path(), root.path());
        }
        Err(why) => println!("skipped: {why}"),
    }
}

#[test]
#[ignore = "lintian takes half a minute"]
fn lintian_finds_no_errors() {
    if find("lintian").is_none() {
        return println!("skipped: no lintian here; apt-get install lintian");
    }
    let folder = written(&stand_in());
    let packages = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let packages: Vec<PathBuf> =
        packages.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect();
    let output =
        Command::new("lintian").args(["--allow-root", "--fail-on", "error"]).args(packages).output().unwrap();
    said(output);
}

/// Prints its user, and whether it could write to its root.
const WRITER: &str = "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n\
                      int main(void) { printf(\"%d %d\\n\", (int)getuid(), open(\"/x\", O_CREAT | O_WRONLY, 0600)); }\n";
/// As `crates/launch/src/engine.rs` has it, with reasons.
const PODMAN: &str = "[containers]\ndefault_ulimits = [\"nofile=16384:16384\", \"nproc=32768:32768\"]\n\n[engine]\nruntime = \"runc\"\n\
                      cgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\n";

#[test]
#[ignore = "podman takes some seconds"]
fn podman_runs_the_image_without_root_and_with_a_root_of_its_own_that_is_read_only() {
    if !is_root() || ["podman", "runc", "cc"].iter().any(|tool| find(tool).is_none()) {
        return println!("skipped: needs root, podman, runc and cc");
    }
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("writer.c"), WRITER).unwrap();
    run("cc", &["-static", "-o", "writer", "writer.c"], place.path());
    let folder = written(&release(b"", &fs::read(at("writer")).unwrap(), pages()));
    let settings = format!("{PODMAN}tmp_dir = {:?}\nvolume_path = {:?}\n", at("tmp"), at("volumes"));
    fs::write(at("containers.conf"), settings).unwrap();
    let storage =
        format!("[storage]\ndriver = \"overlay\"\ngraphroot = {:?}\nrunroot = {:?}\n", at("g"), at("r"));
    fs::write(at("storage.conf"), storage).unwrap();
    let podman = |words: &[&str]| {
        let mut podman = Command::new("podman");
        podman
            .env("CONTAINERS_CONF", at("containers.conf"))
            .env("CONTAINERS_STORAGE_CONF", at("storage.conf"));
        podman.args(words).current_dir(folder.path()).output().unwrap()
    };
    let name = "registry.example/lab/sphinxd:1.2.3-alpha.4";
    said(podman(&["load", "-i", "sphinxd-1.2.3-alpha.4-image.tar"]));
    let printed = podman(&["run", "--rm", "--read-only", "--network", "none", "--cap-drop", "all", name]);
    said(podman(&["rmi", "--all", "--force"]));
    // The mount of the storage would keep the folder from being removed.
    let _ = Command::new("umount").arg(at("g").join("overlay")).output();
    assert_eq!(said(printed), "65532 -1\n");
}
