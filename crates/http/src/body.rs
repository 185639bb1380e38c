//! Reading a whole body into memory, with an error for each way in which that can fail.

use std::error::Error;

use axum::body::{Body, Bytes, to_bytes};

use crate::error::{ApiError, ErrorCode};

/// Why a body could not be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body did not arrive in time")]
    TooSlow,
    /// All requests together hold as much as the server allows.
    #[error("too many bodies are under way")]
    NoRoom,
    #[error("the body broke off: {0}")]
    Broken(String),
}

impl BodyError {
    /// Reads the cause out of an error of the HTTP engine.
    pub(crate) fn from_engine(error: &(dyn Error + 'static)) -> Self {
        let is_late = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
        if causes(error).any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(is_late)) {
            Self::TooSlow
        } else {
            Self::Broken(error.to_string())
        }
    }
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
    let too_large = || ApiError::new(ErrorCode::PayloadTooLarge, format!("the body is larger than {limit} bytes"));
    let announced = http_body::Body::size_hint(&body).lower();
    if announced > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    to_bytes(body, limit).await.map_err(|error| {
        let error: &(dyn Error + 'static) = &error;
        if causes(error).any(|cause| cause.is::<http_body_util::LengthLimitError>()) {
            return too_large();
        }
        let cause = causes(error).find_map(|cause| cause.downcast_ref::<BodyError>().cloned());
        cause.unwrap_or_else(|| BodyError::Broken(error.to_string())).into()
    })
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
