//! The files in `deploy/`: read, compared with their documentation, and run as far as this machine permits.
//!
//! The playbook runs against a private sshd. Helm renders the chart, and kubeconform validates it against the schemas of Kubernetes; the
//! same holds for the charts of applications, whose pods podman plays. `cargo xtask ci` fetches these tools; if one is missing, a test
//! reports it.

mod ansible;
mod application;
mod chart;
mod command;
mod documents;
mod gate;
mod pod_that_runs;
mod sshd;
mod tools;
