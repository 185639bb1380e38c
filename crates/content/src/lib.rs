//! Content by its hash: results of calls and metadata documents. [`ContentStore`] stores and reads them,
//! [`ContentReader`] reads them where an operator allows it.
#![forbid(unsafe_code)]

mod folder;
mod reader;
mod store;

pub use folder::ContentError;
pub use reader::{ContentReader, ContentSources, ReadError};
pub use store::ContentStore;
