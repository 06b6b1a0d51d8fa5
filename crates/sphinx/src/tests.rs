//! Tests of the whole server.

mod simulation;
