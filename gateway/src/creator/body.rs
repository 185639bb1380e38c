//! Takes in the bytes of an answer. A creator decides how many there are and how slowly they come, so only a
//! small part of them waits in memory: what is longer goes to a file without a name, which no slow creator can
//! hold against the others. Only a bounded number of such files exists at once; further ones wait.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{
    io::AsyncWriteExt,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use super::{CreatorError, MAX_ANSWER_BYTES};

/// What an answer takes of the memory until it is read.
const MAX_IN_MEMORY_BYTES: usize = 64 * 1024;
/// Longer answers under way, each with a file of up to [`MAX_ANSWER_BYTES`].
const MAX_FILES: usize = 256;

/// Where long answers wait.
#[derive(Clone, Debug)]
pub(super) struct Intake {
    folder: PathBuf,
    files: Arc<Semaphore>,
}

/// A whole answer, not read yet.
#[derive(Debug)]
pub(super) enum Body {
    Short(Vec<u8>),
    Long { file: File, bytes: usize, _place: OwnedSemaphorePermit },
}

impl Intake {
    /// The folder should be on a disk: where it is memory, long answers are in memory.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, files: Arc::new(Semaphore::new(MAX_FILES)) }
    }

    /// The whole body, or what went wrong on the way. The inner error is the connection's.
    pub async fn read(&self, mut response: reqwest::Response) -> Result<reqwest::Result<Body>, CreatorError> {
        let mut start = Vec::new();
        while start.len() <= MAX_IN_MEMORY_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => start.extend_from_slice(&chunk),
                Ok(None) => return Ok(Ok(Body::Short(start))),
                Err(error) => return Ok(Err(error)),
            }
        }
        let place = Arc::clone(&self.files).acquire_owned().await.map_err(not_kept)?;
        let folder = self.folder.clone();
        let file = tokio::task::spawn_blocking(move || in_a_file(&folder)).await;
        let mut file = tokio::fs::File::from_std(file.map_err(not_kept)?.map_err(not_kept)?);
        let mut bytes = start.len();
        file.write_all(&start).await.map_err(not_kept)?;
        drop(start);
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    bytes = bytes.saturating_add(chunk.len());
                    if bytes > MAX_ANSWER_BYTES {
                        return Err(CreatorError::AnswerTooLarge);
                    }
                    file.write_all(&chunk).await.map_err(not_kept)?;
                }
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            }
        }
        file.flush().await.map_err(not_kept)?;
        Ok(Ok(Body::Long { file: file.into_std().await, bytes, _place: place }))
    }
}

impl Body {
    /// All bytes. Reads a file: not for a thread of the runtime.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Short(bytes) => Ok(bytes),
            Self::Long { mut file, bytes, .. } => {
                let mut all = Vec::with_capacity(bytes);
                file.rewind()?;
                file.read_to_end(&mut all)?;
                Ok(all)
            }
        }
    }
}

/// A file without a name. A folder that cannot be written must not cost creators their work.
fn in_a_file(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder).or_else(|error| {
        tracing::warn!(%error, folder = %folder.display(), "long answers wait in the system's folder");
        tempfile::tempfile()
    })
}

fn not_kept(cause: impl std::fmt::Display) -> CreatorError {
    tracing::error!(%cause, "an answer could not be kept until it is read");
    CreatorError::NotKept
}
