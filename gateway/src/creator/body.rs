//! Receives the bytes of an answer. A creator decides how many bytes it sends and how slowly, so memory holds only a
//! small part: longer answers go to an unnamed temporary file. The number of such files is limited, and further
//! answers wait.

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

/// Bytes of an answer that are kept in memory before the rest goes to a file.
const MAX_IN_MEMORY_BYTES: usize = 64 * 1024;
/// Longer answers in progress. Each has a file of up to [`MAX_ANSWER_BYTES`].
const MAX_FILES: usize = 256;

/// Receives answers; long ones go to files in a folder.
#[derive(Clone, Debug)]
pub(super) struct Intake {
    folder: PathBuf,
    files: Arc<Semaphore>,
}

/// A complete answer that is not parsed yet.
#[derive(Debug)]
pub(super) enum AnswerBody {
    Short(Vec<u8>),
    Long { file: File, bytes: usize, _place: OwnedSemaphorePermit },
}

impl Intake {
    /// `folder` should be on a disk; in a memory file system, long answers take memory.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, files: Arc::new(Semaphore::new(MAX_FILES)) }
    }

    /// Returns the whole body or the reason why it cannot be accepted. The inner error comes from the connection.
    pub async fn read(&self, mut response: reqwest::Response) -> Result<reqwest::Result<AnswerBody>, CreatorError> {
        let mut start = Vec::new();
        while start.len() <= MAX_IN_MEMORY_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => start.extend_from_slice(&chunk),
                Ok(None) => return Ok(Ok(AnswerBody::Short(start))),
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
        Ok(Ok(AnswerBody::Long { file: file.into_std().await, bytes, _place: place }))
    }
}

impl AnswerBody {
    /// Returns all bytes. It may read a file, so it must not run on a thread of the runtime.
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

/// Opens an unnamed file: in the system's folder if this one is not writable, so that no creator's work is lost.
fn in_a_file(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder).or_else(|error| {
        tracing::warn!(%error, folder = %folder.display(), "long answers are stored in the system's temporary folder");
        tempfile::tempfile()
    })
}

fn not_kept(cause: impl std::fmt::Display) -> CreatorError {
    tracing::error!(%cause, "an answer could not be kept until it is read");
    CreatorError::NotKept
}
