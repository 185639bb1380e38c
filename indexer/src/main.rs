//! The `crtx-indexer` service: configured by flags and environment.
fn main() {}
