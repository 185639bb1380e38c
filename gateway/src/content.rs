//! The content store: bytes under the CID of their hash. What is read is checked against its name, so a
//! damaged disk can lose content but never change it.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use object_store::{ObjectStore, ObjectStoreExt, PutPayload, local::LocalFileSystem, path::Path as Key};

#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("the content store cannot be used: {0}")]
    Store(#[from] object_store::Error),
    #[error("the content folder cannot be created: {0}")]
    Folder(#[from] std::io::Error),
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct ContentStore {
    store: Arc<dyn ObjectStore>,
}

impl ContentStore {
    /// Content in a folder of this machine, one file per CID. Creates the folder.
    pub fn local(folder: &Path) -> Result<Self, ContentError> {
        std::fs::create_dir_all(folder)?;
        Ok(Self { store: Arc::new(LocalFileSystem::new_with_prefix(folder)?.with_fsync(true)) })
    }

    /// Content in any other object store.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    /// Stores bytes and returns the hash that names them. Readers see all of them or none; storing the
    /// same bytes again repairs what may have been damaged.
    pub async fn put(&self, content: impl Into<Bytes>) -> Result<ResultHash, ContentError> {
        let content = content.into();
        let hash = ResultHash::of(&content);
        self.store.put(&key(&hash), PutPayload::from_bytes(content)).await?;
        Ok(hash)
    }

    /// The content with that hash. Bytes that do not match their name are as good as none.
    pub async fn get(&self, hash: &ResultHash) -> Result<Option<Bytes>, ContentError> {
        let content = match self.store.get(&key(hash)).await {
            Ok(object) => object.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if ResultHash::of(&content) != *hash {
            tracing::error!(%hash, "stored content does not match its name");
            return Ok(None);
        }
        Ok(Some(content))
    }
}

fn key(hash: &ResultHash) -> Key {
    Key::from(cid_of(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn content_is_found_under_its_hash_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::local(&folder.path().join("content")).expect("store");
        let hash = store.put("hello").await.expect("put");
        assert_eq!(hash, ResultHash::of(b"hello"));
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
        assert_eq!(store.get(&ResultHash::of(b"other")).await.expect("get"), None);
        assert_eq!(store.put("hello").await.expect("again"), hash);
    }

    #[tokio::test]
    async fn damaged_content_is_not_served_and_can_be_stored_again() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::local(folder.path()).expect("store");
        let hash = store.put("hello").await.expect("put");
        std::fs::write(folder.path().join(cid_of(&hash)), "hellp").expect("damage");
        assert_eq!(store.get(&hash).await.expect("get"), None);
        store.put("hello").await.expect("repaired");
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
    }

    #[tokio::test]
    async fn empty_content_is_content() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::local(folder.path()).expect("store");
        let hash = store.put("").await.expect("put");
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "");
    }
}
