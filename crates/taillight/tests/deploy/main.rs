//! What lies in `deploy/`: read, compared with its documents, and run as far as this machine can.
//!
//! The playbook runs against a private sshd; the chart is rendered by Helm and validated by kubeconform
//! against the schemas of Kubernetes; so are the charts of applications, whose pods podman plays. `cargo xtask ci` fetches these tools; where they are missing, a test says so.

mod ansible;
mod application;
mod chart;
mod command;
mod documents;
mod pod_that_runs;
mod sshd;
mod tools;
