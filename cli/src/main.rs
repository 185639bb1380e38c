//! The `crtx` command.
fn main() {}
