//! Content by its hash: results of calls and metadata documents. [`ContentStore`] stores and reads them.
#![forbid(unsafe_code)]

mod bucket;
mod error;
mod folder;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use bucket::{Bucket, BucketSettings};
pub use error::ContentError;
pub use store::{ContentLocation, ContentSources, ContentStore};
