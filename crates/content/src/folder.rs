//! Content in a folder of this machine: one file for each key.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::{ObjectStoreExt, PutPayload, local::LocalFileSystem, path::Path as Key};

use crate::backend::{Backend, ContentError};

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Opened at the first use: a reader may start before the folder exists.
    files: OnceLock<LocalFileSystem>,
}

impl Folder {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), files: OnceLock::new() }
    }

    /// Creates the folder if it does not exist, and checks that it can be used.
    pub fn create(path: &Path) -> Result<Self, ContentError> {
        fs::create_dir_all(path)?;
        let folder = Self::new(path);
        folder.files()?;
        Ok(folder)
    }

    fn files(&self) -> Result<&LocalFileSystem, ContentError> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let files = LocalFileSystem::new_with_prefix(&self.path)?.with_fsync(true);
        Ok(self.files.get_or_init(|| files))
    }
}

#[async_trait]
impl Backend for Folder {
    async fn put(&self, key: &str, content: Bytes) -> Result<(), ContentError> {
        self.files()?.put(&Key::from(key), PutPayload::from_bytes(content)).await?;
        Ok(())
    }

    async fn get(&self, key: &str, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
        if !tokio::fs::try_exists(&self.path).await? {
            return Ok(None);
        }
        match self.files()?.get(&Key::from(key)).await {
            Ok(object) if usize::try_from(object.meta.size).is_ok_and(|bytes| bytes <= max_bytes) => {
                Ok(Some(object.bytes().await?))
            }
            Ok(_) => Err(ContentError::TooLarge { max_bytes }),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(&self, key: &str) -> Result<(), ContentError> {
        match self.files()?.delete(&Key::from(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
