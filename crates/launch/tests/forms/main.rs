//! Servers in every form that can be had here, and nothing left of them whichever way they end.

mod end;
mod place;
mod traces;
