//! Reading a whole body into memory, with an error for each way in which that can fail.

use std::{error::Error, io, sync::LazyLock, time::Duration};

use axum::body::{Body, Bytes};
use bytes::BytesMut;
use http_body_util::BodyExt;

use crate::{
    error::{ApiError, ErrorCode},
    offload::{Offload, OffloadConfig, OffloadError},
};

/// Longest body that never waits for longer ones.
pub const SMALL_BODY_BYTES: usize = 64 * 1024;
/// Documents that are read at the same time, and those that wait.
const PARSING: OffloadConfig = OffloadConfig { threads: 2, places: 64, stack_bytes: 4 * 1024 * 1024 };
/// Longest wait for a document to be read.
const PARSING_PATIENCE: Duration = Duration::from_secs(10);

static PARSERS: LazyLock<io::Result<Offload>> = LazyLock::new(|| Offload::start("bodies", PARSING));

/// Why a body could not be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body did not arrive in time")]
    TooSlow,
    /// The bodies under way hold as much as they may, and this one was the slowest of them.
    #[error("too many bodies are under way, and this one was the slowest of them")]
    NoRoom,
    #[error("the body broke off: {0}")]
    Broken(String),
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooSlow => Self::new(ErrorCode::RequestTimeout, "the body did not arrive in time"),
            BodyError::NoRoom => Self::unavailable(error),
            BodyError::Broken(_) => Self::invalid_request("the body must arrive whole"),
        }
    }
}

/// An error and what caused it, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// Reads a body of at most `limit` bytes: 413 beyond it.
pub async fn read(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    BodyReader::new(body, limit)?.rest().await
}

/// A body of bounded length that is being read.
pub struct BodyReader {
    body: Body,
    limit: usize,
    /// What has come. Nothing is kept for bytes that were announced alone.
    bytes: BytesMut,
}

impl BodyReader {
    /// 413 if the announced length is beyond `limit`.
    pub fn new(body: Body, limit: usize) -> Result<Self, ApiError> {
        let announced = http_body::Body::size_hint(&body).lower();
        if announced > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(too_large(limit));
        }
        Ok(Self { body, limit, bytes: BytesMut::new() })
    }

    /// Whether the body is longer than `bytes`. Reads no more than it takes to know.
    pub async fn is_longer_than(&mut self, bytes: usize) -> Result<bool, ApiError> {
        let announced = http_body::Body::size_hint(&self.body).lower();
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if self.bytes.len().saturating_add(announced) > bytes {
            return Ok(true);
        }
        while self.bytes.len() <= bytes {
            if !self.read_on().await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The whole body.
    pub async fn rest(mut self) -> Result<Bytes, ApiError> {
        while self.read_on().await? {}
        Ok(self.bytes.freeze())
    }

    /// False at the end.
    async fn read_on(&mut self) -> Result<bool, ApiError> {
        let Some(frame) = self.body.frame().await else { return Ok(false) };
        let frame = frame.map_err(|error| {
            let error: &(dyn Error + 'static) = &error;
            let cause = causes(error).find_map(|cause| cause.downcast_ref::<BodyError>().cloned());
            ApiError::from(cause.unwrap_or_else(|| BodyError::Broken(error.to_string())))
        })?;
        if let Some(bytes) = frame.data_ref() {
            if self.bytes.len().saturating_add(bytes.len()) > self.limit {
                return Err(too_large(self.limit));
            }
            self.bytes.extend_from_slice(bytes);
        }
        Ok(true)
    }
}

/// Reads a document out of a whole body: a short one at once, a long one on threads that do nothing else.
pub async fn parsed<T: Send + 'static>(
    bytes: Bytes,
    parse: impl FnOnce(&Bytes) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if bytes.len() <= SMALL_BODY_BYTES {
        return parse(&bytes);
    }
    let parsers = PARSERS.as_ref().map_err(ApiError::internal)?;
    let parsed = parsers.try_run(PARSING_PATIENCE, move || parse(&bytes)).await;
    parsed.map_err(|error| match error {
        OffloadError::Failed => ApiError::internal("reading a body failed"),
        busy => ApiError::unavailable(format!("the body could not be read: {busy}")),
    })?
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body is larger than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_beyond_the_limit_is_413_whether_it_was_announced_or_not() {
        assert_eq!(read(Body::from("12345"), 5).await.expect("fits"), "12345");
        assert_eq!(read(Body::from("123456"), 5).await.expect_err("large").code, ErrorCode::PayloadTooLarge);
        let parts = futures::stream::iter(["123", "456"].map(Ok::<_, std::io::Error>));
        let error = read(Body::from_stream(parts), 5).await.expect_err("large");
        assert_eq!(error.code, ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_is_read_no_further_than_it_takes_to_know_whether_it_is_long() {
        let endless = || Body::from_stream(futures::stream::repeat_with(|| Ok::<_, std::io::Error>("123")));
        let mut reader = BodyReader::new(endless(), 10).expect("nothing is announced");
        assert_eq!(reader.is_longer_than(4).await, Ok(true));
        assert_eq!(reader.bytes, "123123");
        assert_eq!(reader.rest().await.expect_err("endless").code, ErrorCode::PayloadTooLarge);
        let mut announced = BodyReader::new(Body::from("12345"), 10).expect("fits");
        assert_eq!(announced.is_longer_than(4).await, Ok(true));
        assert!(announced.bytes.is_empty(), "it is known before");
        assert_eq!(announced.rest().await.expect("fits"), "12345");
        let mut short = BodyReader::new(Body::from("12345"), 10).expect("fits");
        assert_eq!(short.is_longer_than(5).await, Ok(false));
        assert_eq!(short.rest().await.expect("it is kept"), "12345");
    }

    #[tokio::test]
    async fn a_long_document_is_read_on_other_threads_and_a_short_one_at_once() {
        let here = std::thread::current().id();
        let thread = |length: usize| parsed(vec![b'x'; length].into(), |_| Ok(std::thread::current().id()));
        assert_eq!(thread(SMALL_BODY_BYTES).await, Ok(here));
        assert_ne!(thread(SMALL_BODY_BYTES + 1).await, Ok(here));
        let refused = || Err::<(), _>(ApiError::invalid_request("no"));
        let long = Bytes::from(vec![b'x'; SMALL_BODY_BYTES + 1]);
        assert_eq!(parsed(long, move |_| refused()).await, refused());
    }

    #[tokio::test]
    async fn a_body_that_fails_says_why() {
        for (error, code) in [
            (BodyError::TooSlow, ErrorCode::RequestTimeout),
            (BodyError::NoRoom, ErrorCode::Unavailable),
            (BodyError::Broken("x".to_owned()), ErrorCode::InvalidRequest),
        ] {
            let parts = futures::stream::iter([Err::<Bytes, _>(error)]);
            assert_eq!(read(Body::from_stream(parts), 5).await.expect_err("fails").code, code);
        }
    }
}
