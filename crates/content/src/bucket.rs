//! Content in a bucket of an S3-compatible service: one object for each key.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use educe::Educe;
use futures::TryStreamExt;
use object_store::{
    ClientOptions, ObjectStoreExt, PutPayload, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, Checksum},
    limit::LimitStore,
    path::Path as Key,
    prefix::PrefixStore,
};
use tokio::sync::Semaphore;

use crate::error::ContentError;

/// Longest time for one request, its whole answer included.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// A connection that was idle for longer is not used again: what is between here and the service may have forgotten it.
const KEEP_IDLE: Duration = Duration::from_secs(4);
/// Requests are repeated while the service fails, for so long and so often.
const RETRY_LIMIT: Duration = Duration::from_secs(10);
const MOST_RETRIES: usize = 3;
const MOST_REQUESTS: usize = 64;
/// Callers that wait at the same time. More are refused.
const MOST_WAITING: usize = 4_096;

/// Where a bucket is, and who reads and writes it.
#[derive(Clone, Educe)]
#[educe(Debug)]
pub struct BucketSettings {
    pub name: String,
    /// Put before each key; empty for none.
    pub prefix: String,
    /// URL of the service. Default: that of AWS in the region.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Access key and its secret. Default: what the environment variables of AWS name, or the machine's role.
    #[educe(Debug(ignore))]
    pub credentials: Option<(String, String)>,
}

/// A bucket. Cheap to clone.
#[derive(Clone, Educe)]
#[educe(Debug)]
pub struct Bucket {
    /// It would print the access key.
    #[educe(Debug(ignore))]
    objects: Arc<PrefixStore<LimitStore<AmazonS3>>>,
    places: Arc<Semaphore>,
}

impl Bucket {
    /// Asks nothing of the service yet.
    pub fn new(settings: &BucketSettings) -> Result<Self, ContentError> {
        let client = ClientOptions::new().with_timeout(REQUEST_LIMIT).with_connect_timeout(CONNECT_LIMIT);
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(&settings.name)
            .with_checksum_algorithm(Checksum::SHA256)
            .with_client_options(client.with_pool_idle_timeout(KEEP_IDLE))
            .with_retry(RetryConfig {
                max_retries: MOST_RETRIES,
                retry_timeout: RETRY_LIMIT,
                ..RetryConfig::default()
            });
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        }
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        if let Some((id, secret)) = &settings.credentials {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        }
        let objects = PrefixStore::new(LimitStore::new(builder.build()?, MOST_REQUESTS), settings.prefix.as_str());
        Ok(Self { objects: Arc::new(objects), places: Arc::new(Semaphore::new(MOST_WAITING)) })
    }

    /// Stores bytes durably. The service checks their hash. Bytes that are stored already are replaced.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<(), ContentError> {
        let _place = self.places.try_acquire().map_err(|_| ContentError::Busy)?;
        self.objects.put(&Key::from(key), PutPayload::from_bytes(content)).await?;
        Ok(())
    }

    /// The bytes under a key, as they are stored. Nothing longer than `max_bytes` is read.
    pub async fn get(&self, key: &str, max_bytes: usize) -> Result<Option<Bytes>, ContentError> {
        let _place = self.places.try_acquire().map_err(|_| ContentError::Busy)?;
        let found = match self.objects.get(&Key::from(key)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let too_large = || ContentError::TooLarge { max_bytes };
        if usize::try_from(found.meta.size).map_or(true, |size| size > max_bytes) {
            return Err(too_large());
        }
        let mut content = BytesMut::new();
        let mut parts = found.into_stream();
        while let Some(part) = parts.try_next().await? {
            if part.len() > max_bytes.saturating_sub(content.len()) {
                return Err(too_large());
            }
            content.extend_from_slice(&part);
        }
        Ok(Some(content.freeze()))
    }

    /// Deletes the bytes under a key, if there are any.
    pub async fn delete(&self, key: &str) -> Result<(), ContentError> {
        let _place = self.places.try_acquire().map_err(|_| ContentError::Busy)?;
        match self.objects.delete(&Key::from(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
