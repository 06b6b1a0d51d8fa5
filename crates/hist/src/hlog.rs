//! The file format of the HdrHistogram tools: interval logs (`.hlog`).
