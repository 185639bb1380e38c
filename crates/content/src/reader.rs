//! Reads content where an operator allows it: in a store, and at a URL.

use crtx_download::DownloadError;
use crtx_protocol::{content::content_url, result_hash::ResultHash};
use reqwest::Client;

use crate::{
    error::ContentError,
    store::{ContentLocation, ContentStore},
};

/// Where content is found.
#[derive(Clone, Debug, Default)]
pub struct ContentSources {
    pub store: Option<ContentLocation>,
    /// A URL that a CID is appended to, chosen by the operator.
    pub base_url: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Store(#[from] ContentError),
    #[error(transparent)]
    Download(#[from] DownloadError),
}

/// Reads from the store first.
#[derive(Clone, Debug)]
pub struct ContentReader {
    store: Option<ContentStore>,
    base_url: Option<String>,
    client: Client,
}

impl ContentReader {
    /// `client` reaches the base URL.
    pub fn new(sources: ContentSources, client: Client) -> Self {
        Self { store: sources.store.as_ref().map(ContentStore::open), base_url: sources.base_url, client }
    }

    /// Content of at most `max_bytes`. What a URL answers is not checked against the hash.
    pub async fn get(&self, hash: &ResultHash, max_bytes: usize) -> Result<Option<Vec<u8>>, ReadError> {
        if let Some(content) = self.get_stored(hash, max_bytes).await? {
            return Ok(Some(content));
        }
        match self.url_of(hash) {
            Some(url) => Ok(Some(crtx_download::get(&self.client, &url, max_bytes).await?)),
            None => Ok(None),
        }
    }

    /// What the store has, of at most `max_bytes`.
    pub async fn get_stored(&self, hash: &ResultHash, max_bytes: usize) -> Result<Option<Vec<u8>>, ReadError> {
        match &self.store {
            Some(store) => Ok(store.get_up_to(hash, max_bytes).await?.map(Into::into)),
            None => Ok(None),
        }
    }

    /// Where content is that the store does not have.
    pub fn url_of(&self, hash: &ResultHash) -> Option<String> {
        self.base_url.as_ref().map(|base| content_url(base, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_of_a_folder_creates_nothing_and_finds_what_is_written_later() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("content");
        let sources = ContentSources { store: Some(ContentLocation::Folder(path.clone())), base_url: None };
        let reader = ContentReader::new(sources, Client::new());
        let hash = ResultHash::of(b"hello");
        assert_eq!(reader.get(&hash, 5).await.expect("read"), None);
        assert!(!path.exists());
        ContentStore::create(&ContentLocation::Folder(path)).expect("store").put("hello").await.expect("put");
        assert_eq!(reader.get(&hash, 5).await.expect("read").as_deref(), Some(b"hello".as_slice()));
        let error = reader.get(&hash, 4).await.expect_err("too long");
        assert!(matches!(error, ReadError::Store(ContentError::TooLarge { max_bytes: 4 })), "{error}");
    }
}
