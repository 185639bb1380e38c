//! Content in a folder of this machine: one file for each key. A key ends with a CID.

use std::{
    fs::{self, Permissions},
    io::{self, ErrorKind, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use crtx_protocol::result_hash::ResultHash;
use object_store::{ObjectStoreExt, PutPayload, local::LocalFileSystem, path::Path as Key};
use tokio::sync::Semaphore;

use crate::error::ContentError;

const FOLDER_OF_OWNER: u32 = 0o700;
const FILE_OF_OWNER: u32 = 0o600;
/// Threads that read at the same time.
const MOST_RUNNING: usize = 16;
/// Callers that wait at the same time. More are refused.
const MOST_WAITING: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Opened at the first use: a reader may start before the folder exists.
    files: OnceLock<LocalFileSystem>,
    readers: Readers,
}

impl Folder {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), files: OnceLock::new(), readers: Readers::default() }
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

    /// Stores bytes durably. Readers see all of them or none; bytes that are stored already are replaced.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<(), ContentError> {
        self.files()?.put(&Key::from(key), PutPayload::from_bytes(content)).await?;
        let path = self.path.join(key);
        let restricted = move || match fs::set_permissions(&path, Permissions::from_mode(FILE_OF_OWNER)) {
            // Somebody dropped it at the same time.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        };
        Ok(self.readers.run(restricted).await??)
    }

    /// The bytes under a key, as they are stored. Nothing longer than `max_bytes` is read.
    pub async fn get(&self, key: &str, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
        let path = self.path.join(key);
        self.readers.run(move || read(&path, max_bytes)).await?
    }

    /// The bytes under the first of these keys that has the bytes of that hash. One thread reads all keys: a read that finds
    /// nothing would otherwise wait for one after the other.
    pub async fn get_checked(
        &self,
        keys: Vec<String>,
        hash: ResultHash,
        max_bytes: usize,
    ) -> Result<Option<Bytes>, ContentError> {
        let folder = self.path.clone();
        let reading = self.readers.run(move || {
            for key in keys {
                if let Some(content) = read(&folder.join(key), max_bytes)? {
                    if ResultHash::of(&content) == hash {
                        return Ok(Some(content));
                    }
                    tracing::error!(%hash, "stored content does not match its name");
                }
            }
            Ok(None)
        });
        reading.await?
    }

    /// Deletes the bytes under a key, if there are any.
    pub async fn delete(&self, key: &str) -> Result<(), ContentError> {
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

/// Runs short blocking work on a few threads of the runtime.
#[derive(Debug)]
struct Readers {
    threads: Arc<Semaphore>,
    /// One for each caller that waits.
    places: Semaphore,
}

impl Default for Readers {
    fn default() -> Self {
        Self { threads: Arc::new(Semaphore::new(MOST_RUNNING)), places: Semaphore::new(MOST_WAITING) }
    }
}

impl Readers {
    /// Runs `work`, unless the caller has gone before it begins.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, ContentError> {
        let _place = self.places.try_acquire().map_err(|_| ContentError::Busy)?;
        let thread = Arc::clone(&self.threads).acquire_owned().await.map_err(io::Error::other)?;
        let working = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        Ok(working.await.map_err(io::Error::other)?)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_work_is_done_once_and_few_threads_do_it() {
        let (readers, done) = (Arc::new(Readers::default()), Arc::new(AtomicUsize::new(0)));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut all = tokio::task::JoinSet::new();
        for number in 0..500 {
            let (readers, done) = (Arc::clone(&readers), Arc::clone(&done));
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            all.spawn(async move {
                let answer = readers.run(move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_micros(200));
                    running.fetch_sub(1, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                    number
                });
                assert_eq!(answer.await.expect("an answer"), number);
            });
        }
        while let Some(ended) = all.join_next().await {
            ended.expect("no panic");
        }
        assert_eq!(done.load(Ordering::SeqCst), 500);
        assert!(most.load(Ordering::SeqCst) <= MOST_RUNNING);
    }

    #[tokio::test]
    async fn work_that_panics_takes_nothing_with_it() {
        let readers = Readers::default();
        for _ in 0..40 {
            let (bad, good) = tokio::join!(readers.run(|| panic!("on purpose")), readers.run(|| 1));
            let bad: Result<(), ContentError> = bad;
            assert!(bad.is_err());
            assert_eq!(good.expect("an answer"), 1);
        }
    }

    #[test]
    fn the_end_of_a_runtime_ends_what_waits() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        assert!(handle.block_on(Readers::default().run(|| 1)).is_err());
    }

    #[tokio::test]
    async fn work_whose_caller_has_gone_is_not_begun_and_makes_room() {
        let (readers, begun) = (Arc::new(Readers::default()), Arc::new(AtomicUsize::new(0)));
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let mut slow = tokio::task::JoinSet::new();
        // All threads are busy without end, and the queue is full.
        for _ in 0..MOST_WAITING + 100 {
            let (readers, held, begun) = (Arc::clone(&readers), Arc::clone(&held), Arc::clone(&begun));
            slow.spawn(async move {
                let work = move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    let _ = held.lock().expect("not poisoned").recv();
                };
                let ended = tokio::time::timeout(Duration::from_millis(200), readers.run(work)).await;
                ended.is_ok_and(|answer| answer.is_err())
            });
        }
        let refused = slow.join_all().await.into_iter().filter(|refused| *refused).count();
        assert_eq!(refused, 100, "the queue is bounded");
        let wanted = tokio::spawn(async move { readers.run(|| 7).await });
        tokio::task::yield_now().await;
        drop(hold);
        assert_eq!(wanted.await.expect("no panic").expect("room for it"), 7);
        assert!(begun.load(Ordering::SeqCst) <= MOST_RUNNING, "{}", begun.load(Ordering::SeqCst));
    }
}
