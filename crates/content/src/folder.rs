//! Content in a folder of this machine: one file for each key.

use std::{
    fs::{self, Permissions},
    io::{ErrorKind, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use async_trait::async_trait;
use bytes::Bytes;
use crtx_protocol::result_hash::ResultHash;
use object_store::{ObjectStoreExt, PutPayload, local::LocalFileSystem, path::Path as Key};

use crate::{
    backend::{Backend, ContentError, is_content_of},
    few_threads::FewThreads,
};

const FOLDER_OF_OWNER: u32 = 0o700;
const FILE_OF_OWNER: u32 = 0o600;

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Opened at the first use: a reader may start before the folder exists.
    files: OnceLock<LocalFileSystem>,
    readers: FewThreads,
}

impl Folder {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), files: OnceLock::new(), readers: FewThreads::default() }
    }

    /// Creates the folder if it does not exist, and checks that it can be used.
    pub fn create(path: &Path) -> Result<Self, ContentError> {
        fs::create_dir_all(path)?;
        // Also one of an earlier version: what only a session may read is nobody else's on this machine.
        fs::set_permissions(path, Permissions::from_mode(FOLDER_OF_OWNER))?;
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
        let path = self.path.join(key);
        let restricted = move || match fs::set_permissions(&path, Permissions::from_mode(FILE_OF_OWNER)) {
            // Somebody dropped it at the same time.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        };
        Ok(self.readers.run(restricted).await??)
    }

    async fn get(&self, key: &str, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
        let path = self.path.join(key);
        self.readers.run(move || read(&path, max_bytes)).await?
    }

    /// All keys at once: a read that finds nothing would otherwise wait for one after the other.
    async fn get_checked(
        &self,
        keys: Vec<String>,
        hash: ResultHash,
        max_bytes: usize,
    ) -> Result<Option<Bytes>, ContentError> {
        let folder = self.path.clone();
        let reading = self.readers.run(move || {
            for key in keys {
                if let Some(content) = read(&folder.join(key), max_bytes)?
                    && is_content_of(&hash, &content)
                {
                    return Ok(Some(content));
                }
            }
            Ok(None)
        });
        reading.await?
    }

    async fn delete(&self, key: &str) -> Result<(), ContentError> {
        match self.files()?.delete(&Key::from(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The bytes of a file. `None` if there is none, as long as there is no folder as well.
fn read(path: &Path, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let too_large = || ContentError::TooLarge { max_bytes };
    let bytes = usize::try_from(file.metadata()?.len()).map_err(|_| too_large())?;
    if bytes > max_bytes {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(bytes);
    // A file is replaced as a whole and never grows.
    file.take(u64::try_from(bytes).unwrap_or(u64::MAX)).read_to_end(&mut content)?;
    Ok(Some(content.into()))
}
