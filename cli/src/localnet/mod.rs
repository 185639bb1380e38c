//! Everything that `crtx up` starts, each part behind its own module.

pub mod chain;
pub mod data_dir;
pub mod demo;
pub mod keys;
