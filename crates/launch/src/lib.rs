//! Starts, awaits and stops the processes under test, and leaves none behind.
//!
//! Servers and generators are separate processes, met through sockets and files only, so that Sphinx,
//! memcached and NGINX are treated alike. A [`Spec`] says what to start; a [`Process`] is the handle:
//! it is ready when it says so ([`Process::await_line`]) or when it listens ([`Process::await_port`]), it is
//! stopped by SIGTERM and then SIGKILL, and dropping it kills it.
//!
//! Two ways of dying are covered beside the planned one. *Ctrl-C*: each child leads a process group of its
//! own, so the terminal's SIGINT reaches only the program that started it, which stops its children in the
//! order it chooses. *SIGKILL or a crash of the parent*: the kernel kills the children (see `spawner`), and what is no
//! child, such as a bridge or a container, a guardian undoes (see `guardian`).
//!
//! A server can also run behind a bridge or in a container: a [`Form`] says which, and [`Places`] make it.
//!
//! Try it: `cargo test -p launch`.

mod capture;
mod clean;
mod engine;
mod error;
mod guardian;
mod image_root;
mod interrupt;
mod libraries;
mod listeners;
mod lxc;
mod netspace;
mod network;
mod own_folder;
mod owner;
mod place;
mod port;
mod process;
mod program;
mod ready;
mod restart;
pub mod share;
mod spawner;
mod spec;
mod subnet;
pub mod testing;
mod tool;
mod user;

pub use ::spec::Form;
pub use clean::clean_up;
pub use error::Error;
pub use image_root::ImageRoot;
pub use interrupt::{Interrupt, Interrupted};
pub use netspace::network_note;
pub use network::DEVICE;
pub use own_folder::OwnFolder;
pub use place::{Image, Instance, PlaceRequest, Places};
pub use port::free_port_at;
pub use process::{Process, ProcessEnd};
pub use program::find_program;
pub use restart::Restart;
pub use spawner::spawn_bound;
pub use spec::{Mount, Spec};
pub use subnet::{Subnet, asked_from};
pub use testing::{free_port, memcached, sphinx};
pub use user::User;
