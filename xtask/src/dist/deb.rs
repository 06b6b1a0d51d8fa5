//! Debian packages of both programs, written without Debian's tools.

use md5::{Digest, Md5};

use super::files::{Files, gzip};
use super::release::{Program, Release};

/// The text of a file in `deploy/packages`, with places such as `@VERSION@` to fill in.
macro_rules! template {
    ($file:literal) => {
        include_str!(concat!("../../../deploy/packages/", $file))
    };
}

/// The package of one of the two programs; its file name, and its bytes.
///
/// Errors: a path is too long for the archive.
pub(super) fn package(
    release: &Release,
    program: &Program,
    name: &'static str,
) -> Result<(String, Vec<u8>), String> {
    let version = format!("{}-1", release.version.replace('-', "~"));
    let fill = |text: &str| {
        let text = text.replace("@PACKAGE@", name).replace("@MAINTAINER@", &release.maintainer);
        text.replace("@VERSION@", &version).replace("@ARCHITECTURE@", program.target.debian)
    };
    let mut files = Files::default();
    files.add_program(&format!("usr/bin/{name}"), program.binary(name));
    for (path, contents) in release.shared.iter().filter(|(path, _)| belongs(path, name)) {
        match path {
            // Debian's zsh looks for completions of packages here.
            _ if path.contains("/site-functions/") => {
                files.add(&format!("usr/{}", path.replace("site-functions", "vendor-completions")), contents);
            }
            _ if path.contains("/man/") => files.add_gzip(&format!("usr/{path}"), contents),
            _ => files.add(&format!("usr/{path}"), contents),
        }
    }
    let doc = format!("usr/share/doc/{name}");
    files.add(&format!("{doc}/copyright"), fill(template!("copyright")));
    files.add_gzip(&format!("{doc}/THIRD-PARTY.txt"), release.third_party.as_bytes());
    files.add_gzip(&format!("{doc}/changelog"), release.changelog.as_bytes());
    let entry = format!(
        "{name} ({version}) unstable; urgency=medium\n\n  * Release {}; the file changelog.gz lists its changes.\n\n -- {}  {}\n",
        release.version, release.maintainer, release.date
    );
    files.add_gzip(&format!("{doc}/changelog.Debian"), entry.as_bytes());
    files.add(&format!("usr/share/lintian/overrides/{name}"), fill(template!("lintian-overrides")));
    let mut control = Files::default();
    if name == "sphinxd" {
        files.add("lib/systemd/system/sphinxd.service", template!("sphinxd/sphinxd.service"));
        files.add("etc/default/sphinxd", template!("sphinxd/default"));
        files.add_program("usr/libexec/sphinxd/from-memcached", template!("sphinxd/from-memcached"));
        control.add("conffiles", "/etc/default/sphinxd\n");
        control.add_program("postinst", template!("sphinxd/postinst"));
        control.add_program("prerm", template!("sphinxd/prerm"));
        control.add_program("postrm", template!("sphinxd/postrm"));
    }
    let kibibytes: usize = files.iter().map(|(_, contents)| contents.len().div_ceil(1024)).sum();
    let fields =
        if name == "sphinxd" { template!("sphinxd/control") } else { template!("taillight/control") };
    control.add("control", fill(fields).replace("@SIZE@", &kibibytes.to_string()));
    let sums = files.iter().filter(|(path, _)| !path.starts_with("etc/"));
    let sums = sums.map(|(path, contents)| format!("{:x}  {path}\n", Md5::digest(contents)));
    control.add("md5sums", sums.collect::<String>());
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control.tar("./", release.epoch)?)),
        ("data.tar.gz", gzip(&files.tar("./", release.epoch)?)),
    ];
    Ok((format!("{name}_{version}_{}.deb", program.target.debian), ar(&members, release.epoch)))
}

fn belongs(path: &str, package: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().trim_start_matches('_');
    name.split(['.', '-']).next() == Some(package)
}

/// An archive of `ar`. Source: `deb(5)` and `ar(5)`: a line of 60 bytes before each member, which begin at even offsets.
fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, contents) in members {
        let head = format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", contents.len());
        archive.extend(head.into_bytes());
        archive.extend(contents);
        if contents.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}
