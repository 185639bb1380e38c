//! The content store: bytes under the CID of their hash. What is read is checked against its name, so a
//! damaged disk can lose content but never change it.
//!
//! Stored content is kept forever. Content that clients hand in before anything refers to it is held in a
//! place of its own until it is kept or released: releasing it never takes away what somebody else stored. Readers
//! see both.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use parking_lot::Mutex;

use crate::{bucket::Bucket, error::ContentError, folder::Folder};

/// How long a call waits for its result to be written.
const PUT_PATIENCE: Duration = Duration::from_secs(2);
/// How long the start of a process waits for the store.
const READ_PATIENCE: Duration = Duration::from_secs(3);
/// How long a store that did not answer in time is left alone.
const PAUSE_AFTER_TIME_OUT: Duration = Duration::from_secs(5);

/// Content that is held, below the kept content.
const HELD: &str = "held/";

/// Where a store keeps its content.
#[derive(Clone, Debug)]
pub enum ContentLocation {
    Folder(PathBuf),
    Bucket(Bucket),
}

/// Where an operator lets content be read.
#[derive(Clone, Debug, Default)]
pub struct ContentSources {
    pub store: Option<ContentLocation>,
    /// A URL that a CID is appended to, chosen by the operator.
    pub base_url: Option<String>,
}

#[derive(Clone, Debug)]
enum Place {
    Folder(Arc<Folder>),
    Bucket(Bucket),
}

impl Place {
    async fn put(&self, key: &str, content: Bytes) -> Result<(), ContentError> {
        match self {
            Self::Folder(folder) => folder.put(key, content).await,
            Self::Bucket(bucket) => bucket.put(key, content).await,
        }
    }

    async fn get(&self, key: &str, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
        match self {
            Self::Folder(folder) => folder.get(key, max_bytes).await,
            Self::Bucket(bucket) => bucket.get(key, max_bytes).await,
        }
    }

    /// The bytes under the first of these keys that has the bytes of that hash.
    async fn get_checked(
        &self,
        keys: Vec<String>,
        hash: ResultHash,
        max_bytes: usize,
    ) -> Result<Option<Bytes>, ContentError> {
        match self {
            Self::Folder(folder) => folder.get_checked(keys, hash, max_bytes).await,
            Self::Bucket(bucket) => {
                for key in keys {
                    if let Some(content) = bucket.get(&key, max_bytes).await? {
                        if ResultHash::of(&content) == hash {
                            return Ok(Some(content));
                        }
                        tracing::error!(%hash, "stored content does not match its name");
                    }
                }
                Ok(None)
            }
        }
    }

    async fn delete(&self, key: &str) -> Result<(), ContentError> {
        match self {
            Self::Folder(folder) => folder.delete(key).await,
            Self::Bucket(bucket) => bucket.delete(key).await,
        }
    }
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct ContentStore {
    place: Place,
    /// Until then nothing is written: each write to a store that hangs would hold a thread.
    paused_until: Arc<Mutex<Option<Instant>>>,
}

impl ContentStore {
    /// A store for reading and writing. Creates a folder that is missing; a bucket has to be there.
    pub fn create(location: &ContentLocation) -> Result<Self, ContentError> {
        Ok(Self::at(match location {
            ContentLocation::Folder(path) => Place::Folder(Arc::new(Folder::create(path)?)),
            ContentLocation::Bucket(bucket) => Place::Bucket(bucket.clone()),
        }))
    }

    /// A store that is only read, and whose folder may not exist yet.
    pub fn open(location: &ContentLocation) -> Self {
        Self::at(match location {
            ContentLocation::Folder(path) => Place::Folder(Arc::new(Folder::new(path))),
            ContentLocation::Bucket(bucket) => Place::Bucket(bucket.clone()),
        })
    }

    fn at(place: Place) -> Self {
        Self { place, paused_until: Arc::default() }
    }

    /// Logs whether the store can be read, so that an operator sees wrong settings before the first call does.
    pub async fn report(&self) {
        let nothing = ResultHash::of(b"");
        match tokio::time::timeout(READ_PATIENCE, self.get(&nothing)).await {
            Ok(Ok(_)) => tracing::info!("the content store can be read"),
            Ok(Err(error)) => tracing::error!(%error, "the content store cannot be read"),
            Err(_) => tracing::error!("the content store does not answer"),
        }
    }

    /// Stores bytes that are safe elsewhere, if the store takes them within a short time. False: they have to be
    /// stored later.
    pub async fn try_put(&self, content: impl Into<Bytes>) -> bool {
        if self.paused_until.lock().is_some_and(|until| Instant::now() < until) {
            return false;
        }
        match tokio::time::timeout(PUT_PATIENCE, self.put(content)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                tracing::error!(%error, "content could not be stored and is kept in the database");
                false
            }
            Err(_) => {
                tracing::error!("the content store does not answer; content is kept in the database");
                *self.paused_until.lock() = Instant::now().checked_add(PAUSE_AFTER_TIME_OUT);
                false
            }
        }
    }

    /// Stores bytes and returns the hash that names them. Readers see all of them or none; storing the
    /// same bytes again repairs what may have been damaged.
    pub async fn put(&self, content: impl Into<Bytes>) -> Result<ResultHash, ContentError> {
        let content = content.into();
        let hash = ResultHash::of(&content);
        self.place.put(&cid_of(&hash), content).await?;
        Ok(hash)
    }

    /// The content with that hash. Bytes that do not match their name count as missing.
    pub async fn get(&self, hash: &ResultHash) -> Result<Option<Bytes>, ContentError> {
        self.get_up_to(hash, usize::MAX).await
    }

    /// The same, if it is not longer than `max_bytes`.
    pub async fn get_up_to(&self, hash: &ResultHash, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
        self.place.get_checked(vec![cid_of(hash), held(hash)], *hash, max_bytes).await
    }

    /// Whether the content is kept, intact.
    pub async fn is_kept(&self, hash: &ResultHash) -> Result<bool, ContentError> {
        Ok(self.place.get_checked(vec![cid_of(hash)], *hash, usize::MAX).await?.is_some())
    }

    /// Whether bytes are kept under the name of that hash that do not match it. Readers never see them.
    pub async fn is_damaged(&self, hash: &ResultHash) -> Result<bool, ContentError> {
        let content = self.place.get(&cid_of(hash), usize::MAX).await?;
        Ok(content.is_some_and(|content| ResultHash::of(&content) != *hash))
    }

    /// Holds bytes until [`Self::keep`] or [`Self::release`], and returns the hash that names them.
    pub async fn hold(&self, content: impl Into<Bytes>) -> Result<ResultHash, ContentError> {
        let content = content.into();
        let hash = ResultHash::of(&content);
        self.place.put(&held(&hash), content).await?;
        Ok(hash)
    }

    /// Keeps content that is held. False if neither is there.
    pub async fn keep(&self, hash: &ResultHash) -> Result<bool, ContentError> {
        if self.is_kept(hash).await? {
            return Ok(true);
        }
        let held = self.place.get_checked(vec![held(hash)], *hash, usize::MAX).await?;
        let Some(content) = held else { return Ok(false) };
        self.put(content).await?;
        Ok(true)
    }

    /// Deletes what is held under that hash. What is kept stays.
    pub async fn release(&self, hash: &ResultHash) -> Result<(), ContentError> {
        self.place.delete(&held(hash)).await
    }
}

fn held(hash: &ResultHash) -> String {
    format!("{HELD}{}", cid_of(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn content_is_found_under_its_hash_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::create(&ContentLocation::Folder(folder.path().join("content"))).expect("store");
        let hash = store.put("hello").await.expect("put");
        assert_eq!(hash, ResultHash::of(b"hello"));
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
        assert_eq!(store.get(&ResultHash::of(b"other")).await.expect("get"), None);
        assert_eq!(store.put("hello").await.expect("again"), hash);
    }

    #[tokio::test]
    async fn a_folder_that_is_opened_is_not_created_and_what_is_written_later_is_found() {
        let folder = tempfile::tempdir().expect("folder");
        let location = ContentLocation::Folder(folder.path().join("content"));
        let opened = ContentStore::open(&location);
        let hash = ResultHash::of(b"hello");
        assert_eq!(opened.get_up_to(&hash, 5).await.expect("read"), None);
        assert!(!folder.path().join("content").exists());
        ContentStore::create(&location).expect("store").put("hello").await.expect("put");
        assert_eq!(opened.get_up_to(&hash, 5).await.expect("read").expect("there"), "hello");
        let error = opened.get_up_to(&hash, 4).await.expect_err("too long");
        assert!(matches!(error, ContentError::TooLarge { max_bytes: 4 }), "{error}");
    }

    #[tokio::test]
    async fn content_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("content");
        let store = ContentStore::create(&ContentLocation::Folder(path.clone())).expect("store");
        let (kept, held) = (store.put("kept").await.expect("put"), store.hold("held").await.expect("held"));
        let mode = |name: &str| std::fs::metadata(path.join(name)).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(""), 0o700);
        assert_eq!((mode(&cid_of(&kept)), mode(&format!("held/{}", cid_of(&held)))), (0o600, 0o600));
    }

    #[tokio::test]
    async fn damaged_content_is_not_served_and_can_be_stored_again() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::create(&ContentLocation::Folder(folder.path().to_owned())).expect("store");
        let hash = store.put("hello").await.expect("put");
        std::fs::write(folder.path().join(cid_of(&hash)), "hellp").expect("damage");
        assert_eq!(store.get(&hash).await.expect("get"), None);
        assert!(store.is_damaged(&hash).await.expect("read"));
        store.put("hello").await.expect("repaired");
        assert!(!store.is_damaged(&hash).await.expect("read"));
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
    }

    #[tokio::test]
    async fn a_store_that_is_broken_says_so_and_takes_content_again_once_it_works() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("content");
        let store = ContentStore::create(&ContentLocation::Folder(path.clone())).expect("store");
        std::fs::remove_dir(&path).expect("removed");
        std::fs::write(&path, "a file in the place of the folder").expect("broken");
        assert!(!store.try_put("hello").await);
        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("mended");
        assert!(store.try_put("hello").await);
        assert_eq!(store.get(&ResultHash::of(b"hello")).await.expect("get").expect("there"), "hello");
    }

    #[tokio::test]
    async fn held_content_is_read_like_kept_content_and_is_gone_after_its_release() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::create(&ContentLocation::Folder(folder.path().to_owned())).expect("store");
        let hash = store.hold("hello").await.expect("held");
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
        assert!(!store.is_kept(&hash).await.expect("read"));
        store.release(&hash).await.expect("released");
        assert_eq!(store.get(&hash).await.expect("get"), None);
        store.release(&hash).await.expect("nothing to release");
        assert!(!store.keep(&hash).await.expect("nothing to keep"));
    }

    #[tokio::test]
    async fn a_release_never_takes_away_what_is_kept() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::create(&ContentLocation::Folder(folder.path().to_owned())).expect("store");
        let hash = store.hold("hello").await.expect("held");
        store.put("hello").await.expect("somebody else stores the same");
        store.release(&hash).await.expect("released");
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
        let other = store.hold("other").await.expect("held");
        assert!(store.keep(&other).await.expect("kept"));
        store.release(&other).await.expect("released");
        assert!(store.is_kept(&other).await.expect("read"));
    }

    #[tokio::test]
    async fn empty_content_is_content() {
        let folder = tempfile::tempdir().expect("folder");
        let store = ContentStore::create(&ContentLocation::Folder(folder.path().to_owned())).expect("store");
        let hash = store.put("").await.expect("put");
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), "");
    }
}
