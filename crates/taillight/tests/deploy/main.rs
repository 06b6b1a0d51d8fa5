//! What lies in `deploy/`: read, compared with its documents, and run as far as this machine can.
//!
//! The playbook runs against a private sshd; the chart is rendered by Helm and validated by kubeconform
//! against the schemas of Kubernetes. `cargo xtask ci` fetches these tools; where they are missing, a test says so.

mod ansible;
mod chart;
mod documents;
mod sshd;
mod tools;
