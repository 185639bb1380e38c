//! Content by its hash: results of calls and metadata documents. [`ContentStore`] stores and reads them,
//! [`ContentReader`] reads them where an operator allows it.
//!
//! Another kind of store is a file like `folder.rs` and a variant of [`ContentLocation`].
#![forbid(unsafe_code)]

mod backend;
mod folder;
mod location;
mod reader;
mod store;

pub use backend::ContentError;
pub use location::ContentLocation;
pub use reader::{ContentReader, ContentSources, ReadError};
pub use store::ContentStore;
