//! `taillight app`: the files it writes, and the input it refuses. Crate `app` tests the contents of the files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Returns the exit code and the output of both streams.
fn taillight(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_taillight")).args(words).output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), out + &error)
}

#[test]
fn a_pod_is_written_and_its_secret_stays() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("pods").display().to_string();
    let write = |port: &str| taillight(&["app", "pods", "memcached", "--port", port, "--out", &out]);
    let (code, said) = write("9000");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("podman play kube --configmap") && said.contains("entrance: 127.0.0.1:9000"),
        "{said}"
    );
    let secret = Path::new(&out).join("secret.yaml");
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
    let (drawn, pod) =
        (fs::read_to_string(&secret).unwrap(), fs::read_to_string(format!("{out}/pod.yaml")).unwrap());
    assert!(pod.contains("hostPort: 9000\n"), "{pod}");
    assert_eq!(write("0").0, Some(0));
    assert_eq!(fs::read_to_string(&secret).unwrap(), drawn);
    assert!(!fs::read_to_string(format!("{out}/pod.yaml")).unwrap().contains("ort:"));
}

#[test]
fn a_chart_is_written_in_place_of_an_older_one_and_of_no_other() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("chart").display().to_string();
    let write = |instances: &str| {
        let set = format!("memcached.instances={instances}");
        taillight(&["app", "chart", "memcached", "--set", &set, "--out", &out])
    };
    assert_eq!(write("2").0, Some(0));
    let templates = || fs::read_dir(format!("{out}/templates")).unwrap().count();
    let two = templates();
    assert_eq!(write("1").0, Some(0));
    assert_eq!(templates(), two - 1);
    fs::write(format!("{out}/Chart.yaml"), "name: mine\n").unwrap();
    let (code, said) = write("1");
    assert!(code == Some(1) && said.contains("it holds a chart of another's"), "{said}");
}

#[test]
fn folders_of_images_hold_the_programs() {
    if launch::find_program("memcached").is_none() {
        println!("skipped: no memcached here; apt-get install memcached");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let out = root.path().display().to_string();
    let (code, said) = taillight(&["app", "images", "memcached", "--no-build", "--out", &out]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("localhost/taillight-memcached-prepare:"), "{said}");
    let text = fs::read_to_string(root.path().join("memcached/Containerfile")).unwrap();
    assert!(text.contains("FROM scratch\nCOPY root/ /\nUSER 65534:65534\n"), "{text}");
    let link = fs::read_link(root.path().join("memcached/root/app/bin/memcached")).unwrap();
    assert!(root.path().join("memcached/root").join(link.strip_prefix("/").unwrap()).is_file());
    assert!(root.path().join("prepare/root/app/bin/bash").symlink_metadata().is_ok());
    let (code, said) =
        taillight(&["app", "images", "memcached", "--only", "java", "--no-build", "--out", &out]);
    assert!(code == Some(1) && said.contains("no image 'java'; there are prepare, memcached"), "{said}");
}

#[test]
fn what_is_not_there_is_named() {
    let (code, said) = taillight(&["app", "pods", "memcache"]);
    assert!(code == Some(1) && said.contains("did you mean 'memcached'?"), "{said}");
    let (code, said) = taillight(&["app", "pods", "nginx", "--files", "/no/such/folder"]);
    assert!(code == Some(1) && said.contains("--files /no/such/folder"), "{said}");
    let (code, said) = taillight(&["app"]);
    assert!(code == Some(2) && ["pods", "chart", "images"].iter().all(|what| said.contains(what)), "{said}");
}
