//! Commands written, replies read in any pieces.
