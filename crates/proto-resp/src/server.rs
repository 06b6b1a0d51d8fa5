//! Commands read in any pieces, replies written.
