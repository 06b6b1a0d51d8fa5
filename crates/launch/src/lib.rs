//! Starts, awaits and stops the processes under test, and leaves none behind.
//!
//! Servers and generators are separate processes, met through sockets and files only, so that Sphinx,
//! memcached and NGINX are treated alike. A [`Spec`] says what to start; a [`Process`] is the handle:
//! it is ready when it says so ([`Process::await_line`]) or when it listens ([`Process::await_port`]), it is
//! stopped by SIGTERM and then SIGKILL, and dropping it kills it.
//!
//! Two ways of dying are covered beside the planned one. *Ctrl-C*: each child leads a process group of its
//! own, so the terminal's SIGINT reaches only the program that started it, which stops its children in the
//! order it chooses. *SIGKILL or a crash of the parent*: the kernel kills the children (see `spawner`).
//!
//! Try it: `cargo test -p launch`.

mod capture;
mod error;
mod listeners;
pub mod memcached;
mod port;
mod process;
mod program;
mod ready;
mod spawner;
mod spec;
pub mod sphinx;
mod user;

pub use error::Error;
pub use port::free_port;
pub use process::{Ended, Process};
pub use program::find_program;
pub use spawner::spawn_bound;
pub use spec::Spec;
pub use user::User;
