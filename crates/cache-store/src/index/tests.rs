#[cfg(not(loom))]
mod one_thread;
#[cfg(loom)]
mod orders;
