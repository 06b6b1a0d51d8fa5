//! One thread's event loop: sockets, time and wake-ups, behind one seam.
//!
//! The server, the load generator and the null server are written against the [`Reactor`] trait, in the style of
//! completions: the reactor reads, and hands the bytes to a [`Handler`]; output is appended to the connection's
//! buffer and flushed. That shape fits `epoll` ([`Epoll`], readiness hidden), `io_uring` ([`Uring`]) and a simulated
//! clock and network ([`sim`]) alike, so that the ruler's tests run the same code that measures, on exact time.
//!
//! A reactor belongs to its thread and is never shared. Threads talk through bounded single-producer
//! single-consumer queues ([`queue`]) and wake only a peer that sleeps ([`Doorbell`]).
//!
//! Try it: `cargo test -p reactor`.

mod address;
mod clock;
mod cpu_mask;
mod datagrams;
mod doorbell;
mod epoll;
mod io;
mod listener;
mod loans;
mod peers;
mod pin;
pub mod queue;
mod receive_stamps;
mod room;
mod seam;
pub mod sim;
mod slots;
mod sockets;
mod steering;
mod sync;
#[cfg(feature = "tls")]
pub mod tls;
mod udp;
mod unix;
mod uring;
mod via;

pub use address::Address;
pub use clock::{WallClock, monotonic_now};
pub use cpu_mask::CpuMask;
pub use datagrams::Datagrams;
pub use doorbell::Doorbell;
pub use epoll::{Epoll, Exchange};
pub use io::{Backend, Choice, choose};
pub use loans::Loan;
pub use pin::{allowed_cpus, may_pin, permitted_cpus, pin_to, sharpen_timers};
pub use receive_stamps::ReceiveClock;
pub use seam::{Conn, Event, Handler, Reactor, Wait, Waker};
pub use spec::Io;
pub use steering::Steering;
#[cfg(feature = "tls")]
pub use tls::Tls;
pub use uring::{Submit, Uring};
pub use via::Via;
