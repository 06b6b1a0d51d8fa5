//! Dependencies of the tests of `deploy/`: Ansible and the schemas of Kubernetes from PyPI, Helm and kubeconform
//! by Go.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{find, run};

/// Packages of Python, in an environment of their own. The second is used for the JSON schemas that it carries.
const PYTHON: [&str; 2] = ["ansible-core==2.19.14", "kubernetes-validate==1.37.0"];
/// Programs in Go: name, package, and the version of its module.
const GO: [(&str, &str); 2] =
    [("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"), ("helm", "helm.sh/helm/v3/cmd/helm")];
/// A module that asks for both: `go install PACKAGE@VERSION` would look up more than a proxy of modules may know.
const MODULE: &str = "\
module taillight.test/tools

go 1.24.0

require (
	github.com/yannh/kubeconform v0.6.7
	helm.sh/helm/v3 v3.17.4
)
";

/// Whether Helm and kubeconform are in `tools` or installed.
pub(super) fn chart(tools: &Path) -> bool {
    GO.iter().all(|(name, _)| tools.join("bin").join(name).is_file() || find(name).is_some())
}

/// Installs missing tools into `tools`; tests name the tools that they lack. Only the slow tier needs them.
pub(super) fn prepare(tools: &Path) {
    let python = tools.join("python");
    let schemas = python.join("bin/kubernetes-validate");
    if !schemas.is_file() && find("python3").is_some() {
        // Replaces a partial environment of an interrupted run.
        let made = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&python));
        if made {
            run(Command::new(python.join("bin/pip")).args(["install", "--quiet"]).args(PYTHON));
        }
    }
    let missing: Vec<_> = GO.iter().filter(|(name, _)| !tools.join("bin").join(name).is_file()).collect();
    if missing.is_empty() || find("go").is_none() {
        return;
    }
    println!("building helm and kubeconform takes some minutes, once");
    let module = tools.join("go");
    let bin = tools.join("bin");
    if fs::create_dir_all(&module).is_err() || fs::create_dir_all(&bin).is_err() {
        return;
    }
    let imports: String = GO.iter().map(|(_, package)| format!("import _ \"{package}\"\n")).collect();
    // Programs cannot be imported, but `go mod tidy` keeps the imports of a file for another build.
    let source = format!("//go:build tools\n\npackage tools\n\n{imports}");
    if fs::write(module.join("go.mod"), MODULE).is_err()
        || fs::write(module.join("tools.go"), source).is_err()
    {
        return;
    }
    let go = || {
        let mut go = Command::new("go");
        go.current_dir(&module).env("GOFLAGS", "-buildvcs=false -mod=mod").env("CGO_ENABLED", "0");
        go
    };
    if run(go().args(["mod", "tidy"])) {
        for (_, package) in missing {
            run(go().args(["build", "-o"]).arg(&bin).arg(package));
        }
    }
}
