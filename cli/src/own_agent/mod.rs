//! `crtx agent init`, `test` and `publish`: from an empty folder to a listed agent, and its later updates.

mod change;
pub mod init;
pub mod listing;
mod lock;
mod manifest;
pub mod test;

pub use self::manifest::ManifestError;
