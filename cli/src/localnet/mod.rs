//! Everything that `crtx up` starts, each part behind its own module.

pub mod align;
pub mod chain;
pub mod data_dir;
pub mod demo;
pub mod keys;
pub mod progress;
pub mod ready;
pub mod server_config;
pub mod setup;
pub mod up;
