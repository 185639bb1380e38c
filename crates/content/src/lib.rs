//! Content by its hash: results of calls and metadata documents. [`ContentStore`] stores and reads them,
//! [`ContentReader`] reads them where an operator allows it.
#![forbid(unsafe_code)]

mod bucket;
mod error;
mod folder;
mod reader;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use bucket::{Bucket, BucketSettings};
pub use error::ContentError;
pub use reader::{ContentReader, ContentSources, ReadError};
pub use store::{ContentLocation, ContentStore};
