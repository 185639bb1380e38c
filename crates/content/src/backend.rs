//! What every kind of store can do: keep bytes under a key, which ends with a CID.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use crtx_protocol::result_hash::ResultHash;

#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("the content store is unavailable: {0}")]
    Store(#[from] object_store::Error),
    #[error("the content folder is unavailable: {0}")]
    Folder(#[from] std::io::Error),
    #[error("the content is longer than {max_bytes} bytes")]
    TooLarge { max_bytes: usize },
}

#[async_trait]
pub(crate) trait Backend: Debug + Send + Sync {
    /// Stores bytes durably. Readers see all of them or none; bytes that are stored already are replaced.
    async fn put(&self, key: &str, content: Bytes) -> Result<(), ContentError>;

    /// The bytes under a key, as they are stored. Nothing longer than `max_bytes` is read.
    async fn get(&self, key: &str, max_bytes: usize) -> Result<Option<Bytes>, ContentError>;

    /// The bytes under the first of these keys that has the bytes of that hash.
    async fn get_checked(
        &self,
        keys: Vec<String>,
        hash: ResultHash,
        max_bytes: usize,
    ) -> Result<Option<Bytes>, ContentError>;

    /// Deletes the bytes under a key, if there are any.
    async fn delete(&self, key: &str) -> Result<(), ContentError>;
}

/// Whether stored bytes are those of the hash that names them.
pub(crate) fn is_content_of(hash: &ResultHash, content: &[u8]) -> bool {
    let is_intact = ResultHash::of(content) == *hash;
    if !is_intact {
        tracing::error!(%hash, "stored content does not match its name");
    }
    is_intact
}
