//! DESC
